"""`manage.py addbot`: make a bot, or give it a new token."""

import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import addresses, tokens
from core.models import Bot

# What fits a header and a URL as it is.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,256}")


class Command(BaseCommand):
    help = str(gettext_lazy("Make a bot and print its token once; only a hash of it is stored."))

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "self_id",
            metavar="SELF_ID",
            help=_("the account's id on the platform (its QQ number)"),
        )
        parser.add_argument("--name", metavar="N", help=_("how people call the bot"))
        parser.add_argument("--token", metavar="T", help=_("the token; without it one is made"))
        parser.add_argument(
            "--rotate", action="store_true", help=_("replace the token of a bot that is there")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self_id = addresses.parse_self_id(options["self_id"])
        except addresses.BadAddress as error:
            raise CommandError(str(error)) from None
        token = options["token"]
        if token is None:
            token = tokens.new_token()
        elif not _TOKEN.fullmatch(token):
            raise CommandError(_("A token is 1 to 256 letters, digits or signs of ._~+/=-"))
        name: str | None = options["name"]
        if name is not None and len(name) > 100:
            raise CommandError(_("A name has at most 100 characters."))
        if options["rotate"]:
            _rotate(self_id, token, name)
            done = _("The bot %(self_id)s has a new token, shown only now:")
        else:
            _add(self_id, token, name)
            done = _("The bot %(self_id)s is added. Its token, shown only now:")
        self.stdout.write(done % {"self_id": self_id})
        self.stdout.write(token)


def _add(self_id: str, token: str, name: str | None) -> None:
    try:
        with transaction.atomic():
            Bot.objects.create(
                self_id=self_id, name=name or "", token_hash=tokens.hash_token(token)
            )
    except IntegrityError:
        raise CommandError(
            _("The bot %(self_id)s is there already; --rotate gives it a new token.")
            % {"self_id": self_id}
        ) from None


def _rotate(self_id: str, token: str, name: str | None) -> None:
    try:
        bot = addresses.find_bot(self_id)
    except addresses.BadAddress as error:
        raise CommandError(str(error)) from None
    bot.token_hash = tokens.hash_token(token)
    bot.name = bot.name if name is None else name
    bot.save(update_fields=["token_hash", "name"])
