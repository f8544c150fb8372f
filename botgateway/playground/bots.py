"""The playground's bots: one for each person who opens it, with an invented account."""

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from core import reach
from core.models import Bot

RIGHT = "core.change_chat"
"""Who may change chats may make a bot speak; it costs what any turn costs."""

_BOTS = 900_000_000_000_000
_GROUPS = 910_000_000_000_000
_PEOPLE = 920_000_000_000_000
"""No account or group of QQ has a number as long; each of these is exact in a browser (below 2**53)."""


class Taken(Exception):
    """A bot that is no playground has the account already."""


def self_id_of(person: User) -> str:
    """The invented account of a person's bot."""
    return str(_BOTS + person.pk)


def group_id_of(person: User) -> int:
    """The invented group in which it is."""
    return _GROUPS + person.pk


def first_member_of(person: User) -> int:
    """The account of the first of the invented members; the others count on from it. No two
    playgrounds share them, so that forgetting somebody of one leaves the others alone."""
    return _PEOPLE + 1000 * person.pk


def may_use(person: User) -> bool:
    """Whether a person may open the playground at all."""
    return person.is_active and person.is_staff and person.has_perm(RIGHT)


def bot_of(person: User) -> Bot | None:
    """The person's own playground bot; None where there is none yet."""
    return Bot.objects.filter(self_id=self_id_of(person), is_playground=True).first()


def provide(person: User) -> Bot:
    """The person's own playground bot, made at first use; raises Taken. It has no token: nothing but
    the page connects as it."""
    bot, _made = Bot.objects.get_or_create(
        self_id=self_id_of(person),
        defaults={
            "name": (_("Playground of %(user)s") % {"user": person.get_username()})[:100],
            "is_playground": True,
        },
    )
    if not bot.is_playground:
        raise Taken
    return bot


def is_reached(person: User, bot: Bot) -> bool:
    """Whether the bot is within the person's reach: being his own does not widen a limit, since its
    turns cost money and may read what is shared by all chats."""
    return reach.narrowed(Bot.objects.filter(pk=bot.pk), reach.to_bot("pk"), person).exists()
