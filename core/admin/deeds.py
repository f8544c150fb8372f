"""What people did by hand to entries of the Outbox: changed, approved, discarded, asked for; who and when.
From the entries and the audit of changes, which keeps no words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from auditlog.models import LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.utils.translation import gettext as _

from core import outbox
from core.admin import display
from core.models import OutboxEntry


def of(entries: Sequence[OutboxEntry]) -> Iterable[str]:
    """A sentence for each deed, in the order of the entries (with who decided about them); one query."""
    changes = _changes(entries)
    return [sentence for entry in entries for sentence in _of(entry, changes.get(entry.pk))]


def _of(entry: OutboxEntry, change: LogEntry | None) -> Iterator[str]:
    by = entry.decided_by
    if entry.by_hand:
        yield _asked(entry) % _told(by, entry.created_at)
    if change is not None:
        told = _told(change.actor, change.timestamp)
        yield _("Changed before it was sent, by %(who)s at %(time)s.") % told
    if entry.approved_at is not None and not entry.by_hand:
        yield _("Approved by %(who)s at %(time)s.") % _told(by, entry.approved_at)
    if entry.state == OutboxEntry.State.DISCARDED and entry.reason == outbox.BY_OPERATOR:
        yield _("Discarded by %(who)s at %(time)s.") % _told(by, entry.settled_at)


def _asked(entry: OutboxEntry) -> str:
    if entry.action == OutboxEntry.Action.RECALL:
        return _("Recall asked for by %(who)s at %(time)s.")
    return _("Other words given by %(who)s at %(time)s.")


def _changes(entries: Sequence[OutboxEntry]) -> Mapping[int, LogEntry]:
    """The latest change by hand of what each entry says."""
    kept = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(OutboxEntry),
        object_id__in=[entry.pk for entry in entries],
        changes__has_key="content",
    )
    return {change.object_id or 0: change for change in kept.select_related("actor").order_by("pk")}


def _told(who: AbstractBaseUser | None, at: datetime | None) -> dict[str, str]:
    name = who.get_username() if who else _("somebody")
    return {"who": name, "time": display.clock(at) if at else "–"}
