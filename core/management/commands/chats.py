"""`manage.py chats`: the chats that the bots sit in."""

from collections.abc import Iterable, Iterator

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from core import records
from core.management.listing import ListingCommand, shown, when
from core.models import Chat


class Command(ListingCommand[Chat]):
    help = str(_("List the chats, oldest first."))
    chat_path = ""
    headers = (
        _("BOT"),
        _("CHAT"),
        _("TITLE"),
        _("ENABLED"),
        _("STICKERS"),
        _("ITEMS"),
        _("LAST ITEM (UTC)"),
    )

    def queryset(self) -> QuerySet[Chat]:
        return Chat.objects.all()

    def read(self, rows: QuerySet[Chat]) -> Iterator[records.Record]:
        return records.chats(rows)

    def cells(self, record: records.Record) -> Iterable[str]:
        keys = ("bot", "chat", "title", "enabled", "sticker_learning", "messages")
        return *(shown(record[key]) for key in keys), when(record["last_message_at"])
