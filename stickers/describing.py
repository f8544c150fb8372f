"""What stickers of a chat mean, for the contexts in which they stand."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from core import context
from core.models import Chat
from stickers import search
from stickers.models import Sticker


def describe(chat: Chat, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """The meanings that the chat or the catalogue knows, by the parts' stable ids, or by the refs of
    those that the bot sent. The chat's own goes before the catalogue's."""
    ids = {str(part["data"].get("id") or "") for part in parts} - {""}
    refs = {str(part["data"].get("ref") or "") for part in parts} - {""}
    counts_here = Q(picture__keys__chat=None) | Q(picture__keys__chat=chat)
    named = Q(picture__keys__key__in=ids) & counts_here
    known = Sticker.objects.filter(search.usable(chat), named | Q(ref__in=refs))
    rows = known.values_list("chat_id", "ref", "picture__keys__key", "meaning")
    told: dict[str, str] = {}
    for _chat_id, ref, key, meaning in sorted(rows, key=lambda row: row[0] is not None):
        told |= {name: meaning for name in (ref, key) if name in refs or name in ids}
    return told


def load() -> None:
    """Tell core who knows; called once, when the app is ready."""
    context.register_describer("sticker", describe)
