"""What `chats`, `items`, `turns` and `sentlog` share: the filters, and a table or JSON lines."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, Generic, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Model, QuerySet, TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core import addresses
from core.management.tables import table
from core.records import Record

Row = TypeVar("Row", bound=Model)

# A table is padded to its widest row, so it is held whole: blocks keep a long list from filling memory.
_BLOCK = 1000


def json_line(record: Record) -> str:
    """One record on one line, in ASCII: it survives every locale, and no terminal obeys it."""
    return json.dumps(record, separators=(", ", ": "))


class ListingCommand(BaseCommand, Generic[Row], ABC):
    """A list of one kind of row; subclasses say which and how a person reads it.

    `chat_path` is the way from a row to its chat in lookups, empty where the row is the chat.
    """

    chat_path: ClassVar[str] = "chat__"
    headers: ClassVar[tuple[str | Promise, ...]]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--bot", metavar="SELF_ID", help=_("only what belongs to this bot's account")
        )
        parser.add_argument(
            "--chat",
            metavar="KIND:ID",
            help=_("only this chat, as in group:20001 or private:10001"),
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help=_("JSON lines, and nothing else, on standard output"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rows = self._chosen(options["bot"], options["chat"])
        except addresses.BadAddress as error:
            raise CommandError(str(error)) from None
        records = self.read(rows)
        for line in map(json_line, records) if options["json"] else self._table(records):
            self.stdout.write(line)

    words: ClassVar[Mapping[str, Callable[[str], str]]] = {}
    """Keys of records whose value is a code, with what tells it in words; JSON lines keep the code."""

    def shown(self, record: Record, key: str) -> str:
        """A record's value for a person."""
        value = record[key]
        return self.words[key](value) if value and key in self.words else shown(value)

    @abstractmethod
    def queryset(self) -> QuerySet[Row]:
        """Every row there is."""

    @abstractmethod
    def read(self, rows: QuerySet[Row]) -> Iterator[Record]:
        """The records of those rows, oldest first."""

    @abstractmethod
    def cells(self, record: Record) -> Iterable[str]:
        """What stands under `headers` for one record."""

    def _chosen(self, self_id: str | None, chat: str | None) -> QuerySet[Row]:
        rows = self.queryset()
        bot = addresses.find_bot(self_id) if self_id else None
        if bot:
            rows = rows.filter(**{f"{self.chat_path}bot": bot})
        if chat:
            chats = addresses.find_chats(addresses.parse_chat(chat), bot)
            rows = rows.filter(
                **{f"{self.chat_path}pk__in": list(chats.values_list("pk", flat=True))}
            )
        return rows

    def _table(self, records: Iterator[Record]) -> Iterator[str]:
        block = list(islice(records, _BLOCK))
        if not block:
            self.stderr.write(_("Nothing yet."))
        while block:
            yield from table(
                [str(header) for header in self.headers],
                [list(self.cells(record)) for record in block],
            )
            block = list(islice(records, _BLOCK))


def labels(choices: type[TextChoices]) -> Callable[[str], str]:
    """Tells the codes of a column by its labels."""
    return lambda code: str(choices(code).label)


def shown(value: object) -> str:
    """A record's value for a person: nothing for what is missing, yes and no for switches."""
    match value:
        case None:
            return ""
        case bool():
            return _("yes") if value else _("no")
        case list():
            return " ".join(map(str, value))
        case _:
            return str(value)


def when(value: str | None) -> str:
    """A record's time to the second, still in UTC."""
    return f"{value[:10]} {value[11:19]}" if value else ""
