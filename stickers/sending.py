"""Sending: which sticker a ref names in a chat, and the count of those that were sent."""

from django.db import connection
from django.db.models import F
from django.utils import timezone

from core import stickers
from core.models import Chat, OutboxEntry
from core.stickers import Sendable
from stickers import funnel, search
from stickers.models import Sticker


def find(chat: Chat, ref: str) -> Sendable | None:
    """The sticker of that ref that may be sent in this chat; runs in the transaction that writes its
    message, and keeps the sticker there until that ends, so that a takedown finds the message."""
    found = Sticker.objects.select_related("picture").filter(search.usable(chat), ref=ref.strip())
    sticker = found.exclude(picture__sha256="").first()
    if sticker is None or not _held(sticker):
        return None
    picture = sticker.picture
    return Sendable(sticker.ref, picture.sha256, sticker.market_face)


def _held(sticker: Sticker) -> bool:
    # Many may send one at the same time: the lock keeps it from being deleted, and nobody else out.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM stickers_sticker WHERE id = %s AND state = %s FOR KEY SHARE",
            [sticker.pk, sticker.state],
        )
        return cursor.fetchone() is not None


def count(entry: OutboxEntry, ref: str) -> None:
    """One more time sent."""
    at = entry.settled_at or timezone.now()
    Sticker.objects.filter(ref=ref).update(times_sent=F("times_sent") + 1, last_sent_at=at)
    funnel.count(entry.chat_id, funnel.SENT)


def load() -> None:
    """Tell core where stickers are; called once, when the app is ready."""
    stickers.register_source(find)
    stickers.register_sent(count)
