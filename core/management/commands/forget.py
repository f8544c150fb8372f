"""`manage.py forget`: remove what is stored of a chat, or of a person."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import addresses
from core.errors import LeaseLost
from core.forgetting import chats, people, registry
from core.management.listing import json_line
from core.management.tables import table
from core.models import Bot, Chat


class Command(BaseCommand):
    help = str(
        gettext_lazy(
            "Remove what is stored of a chat, or of a person, learned stickers included, and say "
            "what went. It can't be undone; where it breaks off, run it again."
        )
    )

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "chat", metavar="KIND:ID", nargs="?", help=_("the chat, as in group:20001")
        )
        which.add_argument(
            "--user", metavar="ID", help=_("the person with this account, in all chats")
        )
        parser.add_argument(
            "--bot", metavar="SELF_ID", help=_("only what belongs to this bot's account")
        )
        parser.add_argument(
            "--yes", action="store_true", help=_("do not ask first; only a terminal is asked")
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help=_("what went as one JSON line; nothing is asked first"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        is_person = options["user"] is not None
        name = options["user"] if is_person else options["chat"]
        try:
            bot = addresses.find_bot(options["bot"]) if options["bot"] else None
            forget = _person(name, bot) if is_person else _chats(name, bot)
            if not options["yes"] and not options["json"]:
                _ask(name)
            went = forget()
        except addresses.BadAddress as error:
            raise CommandError(str(error)) from None
        except LeaseLost:
            raise CommandError(_("The same is being forgotten already; run it again.")) from None
        self._tell(name, registry.told(went), as_json=options["json"])

    def _tell(self, name: str, went: Mapping[str, int], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json_line({"forgotten": name, **went}))
            return
        self.stdout.write(_("Forgotten: %(name)s") % {"name": name})
        labels = registry.labels()
        rows = [[str(labels[kind]), str(count)] for kind, count in went.items() if count]
        for line in table([_("KIND"), _("ROWS")], rows):
            self.stdout.write(line)


def _chats(typed: str, bot: Bot | None) -> Callable[[], registry.Counts]:
    found = list(addresses.find_chats(addresses.parse_chat(typed), bot).order_by("pk"))
    return partial(chats.forget_all, found)


def _person(typed: str, bot: Bot | None) -> Callable[[], registry.Counts]:
    user_id = addresses.parse_self_id(typed)
    within = Chat.objects.all() if bot is None else Chat.objects.filter(bot=bot)
    people.find(user_id, within)
    return partial(people.forget, user_id, within=within)


def _ask(name: str) -> None:
    if not sys.stdin.isatty():
        return
    question = _("Forget %(name)s? It can't be undone. Type yes:") % {"name": name}
    if input(f"{question} ").strip().lower() not in ("yes", "y", _("yes")):
        raise CommandError(_("Nothing was changed."))
