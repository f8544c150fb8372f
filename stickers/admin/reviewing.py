"""A sticker that waits for review, as whoever reviews it sees it: its picture and what it means."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.admin import display, previews
from core.stickers import KIND
from stickers.models import Sticker


@previews.register(KIND)
def preview(parts: Sequence[Mapping[str, Any]]) -> Sequence[SafeString | str]:
    """The stickers of these parts, each a link to its page; one query."""
    refs = [str(part["data"].get("ref", "")) for part in parts]
    known = {sticker.ref: sticker for sticker in Sticker.objects.filter(ref__in=refs)}
    return [_shown(known[ref]) if ref in known else "" for ref in refs]


def _shown(sticker: Sticker) -> SafeString:
    return format_html(
        '<a class="arise-link" href="{}"><img src="{}" alt="{}"> <bdi>{}</bdi></a>',
        display.page_of(sticker),
        reverse("admin:stickers_sticker_picture", args=[sticker.pk]),
        sticker.meaning,
        sticker.meaning,
    )
