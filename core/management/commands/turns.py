"""`manage.py turns`: the runs of the model."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from core import records
from core.admin import reasons
from core.management.listing import ListingCommand, labels, when
from core.models import Turn
from core.models.turns import Trigger


class Command(ListingCommand[Turn]):
    help = str(_("List the turns, oldest first."))
    headers = (
        _("TURN"),
        _("STARTED (UTC)"),
        _("CHAT"),
        _("STATE"),
        _("TRIGGER"),
        _("MODEL"),
        _("STEPS"),
        _("SENDS"),
        _("TOKENS IN"),
        _("OUT"),
        _("ERROR"),
    )

    words: ClassVar = {
        "state": labels(Turn.State),
        "trigger": labels(Trigger),
        "error": lambda code: str(reasons.told(code).said),
    }

    def queryset(self) -> QuerySet[Turn]:
        return Turn.objects.all()

    def read(self, rows: QuerySet[Turn]) -> Iterator[records.Record]:
        return records.turns(rows)

    def cells(self, record: records.Record) -> Iterable[str]:
        keys = ("chat", "state", "trigger", "model", "steps", "sends")
        more = ("prompt_tokens", "completion_tokens", "error")
        told = (self.shown(record, key) for key in (*keys, *more))
        return record["id"], when(record["started_at"]), *told
