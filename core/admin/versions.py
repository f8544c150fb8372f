"""The versions of one of the bot's own messages, laid out for its page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.admin import holding
from core.models import OutboxEntry, SentMessage

_WORDS = (OutboxEntry.Action.SEND, OutboxEntry.Action.EDIT)
# Only of these it is known that they were there to be read, or were done.
_ARRIVED = (OutboxEntry.State.SENT, OutboxEntry.State.RECALLED)


@dataclass(frozen=True, slots=True)
class Version:
    """One entry of a message. `number` counts what it says from 1; a recall has the number of the
    version that it takes back (None where that entry is gone)."""

    number: int | None
    entry: OutboxEntry
    is_current: bool
    sent_at: datetime | None


def of(message: SentMessage) -> Sequence[Version]:
    """All entries of a message, oldest first; one query, and two more where any is pending."""
    entries = list(message.entries.order_by("pk"))
    holding.give(entries)
    words = [entry.pk for entry in entries if entry.action in _WORDS]
    numbers = {pk: number for number, pk in enumerate(words, 1)}
    return [
        Version(
            number=numbers.get(entry.pk if entry.action in _WORDS else entry.target_id or 0),
            entry=entry,
            is_current=entry.pk == message.entry_id,
            sent_at=entry.settled_at if entry.state in _ARRIVED else None,
        )
        for entry in entries
    ]
