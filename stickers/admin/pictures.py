"""A sticker's picture, for who may see the sticker."""

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse

from core.admin import pictures
from core.models import StoredMedia
from stickers.acts import HOLDING
from stickers.models import Sticker

IS_MOVING = "is_moving"


def mark_moving(stickers: Iterable[Sticker]) -> None:
    """Tell each whether its picture moves, for the templates, as the gallery's own rows have it."""
    rows = list(stickers)
    digests = {sticker.picture.sha256 for sticker in rows}
    moving = StoredMedia.objects.filter(sha256__in=digests, frames__gt=1)
    known = set(moving.values_list("sha256", flat=True))
    for sticker in rows:
        setattr(sticker, IS_MOVING, sticker.picture.sha256 in known)


def serve(request: HttpRequest, sticker: Sticker, *, still: bool) -> HttpResponse:
    """Answer with the sticker's picture, or its first frame; Http404 where there is none."""
    sha256 = sticker.picture.sha256 if sticker.state in HOLDING else ""
    return pictures.serve(request, sha256, still=still)
