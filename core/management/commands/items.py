"""`manage.py items`: what came in and was stored."""

from collections.abc import Iterable, Iterator

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from core import records
from core.management.listing import ListingCommand, shown, when
from core.models import InboundItem


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

    def queryset(self) -> QuerySet[InboundItem]:
        return InboundItem.objects.all()

    def read(self, rows: QuerySet[InboundItem]) -> Iterator[records.Record]:
        return records.items(rows)

    def cells(self, record: records.Record) -> Iterable[str]:
        keys = ("chat", "kind", "sender_id", "sender_name")
        decision = ": ".join(filter(None, (record["decision"], record["decision_reason"])))
        said = record["text"] or shown(record["emoji"] or record["stickers"])
        told = (shown(record[key]) for key in keys)
        return when(record["received_at"]), *told, said, decision, shown(record["turn"])
