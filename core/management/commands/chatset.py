"""`manage.py chatset`: flip what the console flips."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import addresses, chatsettings, records
from core.management.listing import json_line
from core.models import Bot, Chat


class Command(BaseCommand):
    help = str(
        gettext_lazy("Set what a chat may do; all of it or, where one pair is wrong, nothing.")
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("self_id", metavar="SELF_ID", help=_("the bot's account"))
        parser.add_argument(
            "chat",
            metavar="KIND:ID",
            help=_("the chat, as in group:20001; made when it is not known yet"),
        )
        parser.add_argument(
            "pairs",
            metavar="KEY=VALUE",
            nargs="+",
            help=_(
                "%(switches)s = on or off; cap.NAME, tag.NAME = on, off or inherit; "
                "%(numbers)s = a number; delivery_mode = live, review or shadow"
            )
            % {
                "switches": ", ".join(chatsettings.SWITCHES),
                "numbers": ", ".join(chatsettings.NUMBERS),
            },
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            change = chatsettings.parse(options["pairs"])
            key = addresses.parse_chat(options["chat"])
            bot = addresses.find_bot(options["self_id"])
        except (chatsettings.BadSetting, addresses.BadAddress) as error:
            raise CommandError(str(error)) from None
        chat = _set(bot, key, change)
        if change.fields.get("sticker_learning"):
            self._warn(chatsettings.why_nothing_is_learned())
        self.stdout.write(json_line(records.chat_record(chat)))

    def _warn(self, told: str) -> None:
        if told:
            self.stderr.write(told)


@transaction.atomic
def _set(bot: Bot, key: addresses.ChatKey, change: chatsettings.Change) -> Chat:
    chat = Chat.objects.filter(key.filter(), bot=bot).first() or key.new(bot)
    chatsettings.apply(chat, change)
    return chat
