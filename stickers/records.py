"""Stickers as scripts read them: the shape of `manage.py stickers --json`."""

from collections.abc import Iterator

from django.db.models import QuerySet

from core.records import Record, time
from stickers.models import Sticker

_CHUNK = 2000


def stickers(queryset: QuerySet[Sticker]) -> Iterator[Record]:
    """Stickers of chats and of the catalogue, oldest first, in one query."""
    rows = queryset.select_related("chat").order_by("pk")
    return map(sticker_record, rows.iterator(chunk_size=_CHUNK))


def sticker_record(sticker: Sticker) -> Record:
    """One sticker; `chat` is None in the catalogue, `meaning` where it has none."""
    return {
        "ref": sticker.ref,
        "chat": sticker.chat.key if sticker.chat else None,
        "file_id": sticker.file_id,
        "meaning": sticker.meaning or None,
        "times_sent": sticker.times_sent,
        "learned_at": time(sticker.learned_at),
        "state": sticker.state,
    }
