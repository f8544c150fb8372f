"""`manage.py stickers`: what was learned and what is in the catalogue."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from django.core.management.base import CommandParser
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from core.management.listing import ListingCommand, labels, when
from core.records import Record
from stickers import records
from stickers.models import Sticker


class Command(ListingCommand[Sticker]):
    help = str(
        _(
            "List the stickers of chats and of the catalogue, which belongs to no chat, oldest first."
        )
    )
    headers = (
        _("LEARNED (UTC)"),
        _("CHAT"),
        _("REF"),
        _("STATE"),
        _("SENT"),
        _("MEANING"),
        _("STABLE ID"),
    )
    words: ClassVar = {"state": labels(Sticker.State)}
    state: str | None = None

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--state", choices=Sticker.State.values, help=str(_("only those in this state"))
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.state = options["state"]
        super().handle(*args, **options)

    def queryset(self) -> QuerySet[Sticker]:
        rows = Sticker.objects.all()
        return rows.filter(state=self.state) if self.state else rows

    def read(self, rows: QuerySet[Sticker]) -> Iterator[Record]:
        return records.stickers(rows)

    def cells(self, record: Record) -> Iterable[str]:
        keys = ("chat", "ref", "state", "times_sent", "meaning", "file_id")
        return when(record["learned_at"]), *(self.shown(record, key) for key in keys)
