"""`manage.py sentlog`: the bot's own messages and where they stand."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from core import records
from core.admin import reasons
from core.management.listing import ListingCommand, labels, when
from core.models import OutboxEntry, SentMessage


class Command(ListingCommand[SentMessage]):
    help = str(_("List what the bots wrote, oldest first."))
    headers = (
        _("WRITTEN (UTC)"),
        _("CHAT"),
        _("HANDLE"),
        _("KIND"),
        _("STATE"),
        _("REASON"),
        _("CONTENT"),
        _("MESSAGE ID"),
        _("TURN"),
    )

    words: ClassVar = {
        "kind": labels(SentMessage.Kind),
        "send_state": labels(OutboxEntry.State),
        "reason": reasons.told_of_entry,
    }

    def queryset(self) -> QuerySet[SentMessage]:
        return SentMessage.objects.all()

    def read(self, rows: QuerySet[SentMessage]) -> Iterator[records.Record]:
        return records.sentlog(rows)

    def cells(self, record: records.Record) -> Iterable[str]:
        kinds = ("chat", "handle", "kind", "send_state", "reason")
        keys = (*kinds, "content", "platform_message_id", "turn")
        return when(record["created_at"]), *(self.shown(record, key) for key in keys)
