"""What became of the bot's own words and gestures, as far as its model was not told yet."""

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from django.db.models import F, Q

from core.models import Chat, OutboxEntry

State = OutboxEntry.State
Action = OutboxEntry.Action
TROUBLES = (State.FAILED, State.UNKNOWN, State.DISCARDED, State.RECALLED)
MOST = 20

UNTOLD = (
    ~Q(told_state=F("state"))
    & (
        Q(state__in=TROUBLES)
        | Q(state=State.SENT, told_state=State.UNKNOWN)
        | Q(state=State.SENT, reason=OutboxEntry.SENT_AS_TEXT)
    )
    # What an operator wanted to change is told once it did; how he fared he sees himself.
    & ~Q(by_hand=True, action__in=(Action.RECALL, Action.EDIT))
)


def untold(chat: Chat) -> list[OutboxEntry]:
    """Entries whose outcome the chat's next model request has to tell, oldest first."""
    entries = OutboxEntry.objects.filter(UNTOLD, chat=chat)
    latest = entries.select_related("message").order_by("-pk")[:MOST]
    return list(latest)[::-1]


def lines(entries: Sequence[OutboxEntry]) -> str:
    """The outcomes as the model reads them, a line each."""
    return "\n".join(map(_line, entries))


def _line(entry: OutboxEntry) -> str:
    # Taken back after all, but too late for the new version: no edit, though it was meant as one.
    is_edit = entry.action == Action.RECALL and entry.state != State.SENT and _was_edit(entry)
    action = Action.EDIT if is_edit else entry.action
    pairs = [
        ("handle", entry.message.handle if entry.message else ""),
        ("action", "" if action == Action.SEND else action),
        ("target", entry.subject),
        ("state", entry.state),
        ("reason", entry.reason),
    ]
    return f"<outcome{''.join(f' {name}={quoteattr(value)}' for name, value in pairs if value)}/>"


def _was_edit(recall: OutboxEntry) -> bool:
    """Whether a recall was to make room for another version that the model did not give up."""
    return recall.waiting.exclude(reason="recalled").exists()


def mark_told(entries: Sequence[OutboxEntry]) -> None:
    """The model was told these, each in the state in which it was read."""
    for state in {entry.state for entry in entries}:
        ids = [entry.pk for entry in entries if entry.state == state]
        OutboxEntry.objects.filter(pk__in=ids).update(told_state=state)
