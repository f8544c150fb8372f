"""Imported by a process of the site before its program: breaks the rule that a send whose outcome is
not known is never repeated, to see whether `bench.kill_points` finds it."""

from core import sending
from core.models import OutboxEntry

State = OutboxEntry.State


def retry(entry_id: int, *, reason: str, error: str = "", evidence: bool = True) -> bool:
    """sending → pending, where the rule says unknown."""
    return bool(_again(pk=entry_id))


def retry_orphans(bot_id: int, connection_number: int, *, evidence: bool = True) -> int:
    """The same for what an earlier connection was sending."""
    return _again(bot_id=bot_id, connection_number__lt=connection_number)


def _again(**which: int) -> int:
    entries = OutboxEntry.objects.filter(state=State.SENDING, **which)
    return entries.update(state=State.PENDING, sending_at=None, connection_number=None)


vars(sending).update(mark_unknown=retry, connected=retry_orphans)
