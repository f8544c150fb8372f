"""`manage.py items`: what came in and was stored."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import records
from core.admin import reasons
from core.management.listing import ListingCommand, labels, shown, when
from core.models import Decision, InboundItem


class Command(ListingCommand[InboundItem]):
    help = str(_("List what people said and did, oldest first."))
    headers = (
        _("RECEIVED (UTC)"),
        _("CHAT"),
        _("KIND"),
        _("SENDER"),
        _("NAME"),
        _("TEXT"),
        _("DECISION"),
        _("TURN"),
    )

    words: ClassVar = {"kind": labels(InboundItem.Kind)}

    def queryset(self) -> QuerySet[InboundItem]:
        return InboundItem.objects.all()

    def read(self, rows: QuerySet[InboundItem]) -> Iterator[records.Record]:
        return records.items(rows)

    def cells(self, record: records.Record) -> Iterable[str]:
        keys = ("chat", "kind", "sender_id", "sender_name")
        said = record["text"] or shown(record["emoji"] or record["stickers"])
        told = (self.shown(record, key) for key in keys)
        return when(record["received_at"]), *told, said, _decided(record), shown(record["turn"])


def _decided(record: records.Record) -> str:
    verdict, reason = record["decision"], record["decision_reason"]
    if not verdict:
        return ""
    told = Decision.Verdict(verdict).label
    if not reason:
        return str(told)
    why = reasons.told(reason).said
    return gettext("%(verdict)s: %(reason)s") % {"verdict": told, "reason": why}
