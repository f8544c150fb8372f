"""How operators name bots and chats on a command line, `10000` and `group:20001`: one place."""

import re
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.models import Bot, Chat

# What an `X-Self-ID` header can carry and a shell takes without surprises.
_ID = re.compile(r"[!-~]{1,64}")


class BadAddress(ValueError):
    """What was typed names no bot or chat; the text is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class ChatKey:
    """A chat as it is typed."""

    kind: Chat.Kind
    external_id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.external_id}"

    def filter(self, prefix: str = "") -> Q:
        """The condition for chats of this name; `prefix` is the way to them, as in `chat__`."""
        return Q(**{f"{prefix}kind": self.kind, f"{prefix}external_id": self.external_id})

    def new(self, bot: Bot) -> Chat:
        """A chat of this name that is not stored yet, as enabled as the bot has new ones."""
        return Chat(
            bot=bot,
            kind=self.kind,
            external_id=self.external_id,
            external_id_is_number=self.external_id.isdecimal(),
            enabled=bot.enables_new(self.kind),
        )


def parse_self_id(text: str) -> str:
    """Check what is to be an account's id."""
    if not _ID.fullmatch(text):
        raise BadAddress(_("%(text)r is not an account id.") % {"text": text})
    return text


def parse_chat(text: str) -> ChatKey:
    """Read `group:20001` or `private:10001`."""
    kind, colon, external_id = text.partition(":")
    if not colon or kind not in Chat.Kind.values or not _ID.fullmatch(external_id):
        raise BadAddress(
            _("%(text)r is not a chat; write group:20001 or private:10001.") % {"text": text}
        )
    return ChatKey(Chat.Kind(kind), external_id)


def find_bot(self_id: str) -> Bot:
    """The bot of that account, or BadAddress."""
    bot = Bot.objects.filter(self_id=self_id).first()
    if bot is None:
        raise BadAddress(_("There is no bot %(self_id)r.") % {"self_id": self_id})
    return bot


def find_chats(key: ChatKey, bot: Bot | None = None) -> QuerySet[Chat]:
    """The chats of that name, of one bot or of all (several bots may sit in one group); at least one."""
    chats = Chat.objects.filter(key.filter())
    if bot is not None:
        chats = chats.filter(bot=bot)
    if not chats.exists():
        raise BadAddress(_("No bot knows the chat %(chat)s.") % {"chat": key})
    return chats
