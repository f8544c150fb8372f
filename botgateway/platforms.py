"""What the platform of a chat can do, as core asks for it: the dialect of the bot's implementation,
what that implementation turned out not to have, and the bot's place in the chat."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from botgateway import shared_folder
from botgateway.dialects import Cell, Dialect, Place, recognise
from core.capabilities import Ability, Platform, register_probe
from core.models import Bot, Chat

RECALL_SECONDS = 120.0
"""QQ lets everybody take back words of his own for two minutes, the administrators of a group always."""

ADMINISTRATORS = ("owner", "admin")


def dialect_of(bot: Bot) -> Dialect:
    """The dialect of the implementation that the bot was last connected with."""
    told: Mapping[str, Any] = bot.platform
    actions = frozenset(str(action) for action in told.get("actions") or ())
    return recognise(told.get("app_name") or "", told.get("user_agent") or "", actions)


def trusts_recalls(bot_id: int) -> bool:
    """Whether an `ok` of the bot's implementation means that a message was recalled."""
    bot = Bot.objects.get(pk=bot_id)
    return not dialect_of(bot).recall_untrusted(bot.platform.get("app_version") or "")


def lacks(bot: Bot, action: str) -> bool:
    """Whether the bot's implementation said that it has no such action."""
    return action in (bot.platform.get("missing") or ())


def keep(bot_id: int, connection_number: int, **told: Any) -> None:
    """Keep what the bot's live connection told of its implementation: `app_name`, `app_version`,
    `user_agent`, `actions`. What it lacked before is asked anew: people upgrade. What it was seen
    to do stays, while it is the same implementation."""
    with transaction.atomic():
        live = Bot.objects.select_for_update().filter(connection_number=connection_number)
        bot = live.filter(pk=bot_id).first()
        if bot is None:
            return
        is_same = bot.platform.get("app_name") == told.get("app_name")
        seen = bot.platform.get("seen") or [] if is_same else []
        bot.platform = {**told, "missing": [], "seen": seen}
        bot.save(update_fields=["platform"])


def learn_missing(bot_id: int, action: str) -> None:
    """Keep that the bot's implementation has no such action, until it connects again."""
    with transaction.atomic():
        bot = Bot.objects.select_for_update().get(pk=bot_id)
        missing = sorted({*(bot.platform.get("missing") or ()), action})
        bot.platform = {**bot.platform, "missing": missing}
        bot.save(update_fields=["platform"])


def learn_seen(bot_id: int, names: Iterable[str]) -> None:
    """Keep that the bot's implementation was seen to do this (names of capabilities)."""
    wanted = set(names)
    platform = Bot.objects.filter(pk=bot_id).values_list("platform", flat=True).first()
    if platform is None or wanted <= set(platform.get("seen") or ()):
        return
    with transaction.atomic():
        bot = Bot.objects.select_for_update().get(pk=bot_id)
        bot.platform = {
            **bot.platform,
            "seen": sorted({*(bot.platform.get("seen") or ()), *wanted}),
        }
        bot.save(update_fields=["platform"])


def place_of(kind: str, address: Mapping[str, Any]) -> Place:
    """Which kind of chat a dialect's exceptions tell of."""
    if kind == Chat.Kind.GROUP:
        return "group"
    return "temporary" if address.get("group_id") else "private"


@register_probe
def platform(chat: Chat) -> Platform:
    """What can be done in a chat; queries nothing but the chat's bot."""
    dialect, place = dialect_of(chat.bot), place_of(chat.kind, chat.address)
    is_administrator = place == "group" and chat.bot_role in ADMINISTRATORS
    abilities = {}
    for name in dialect.capabilities:
        abilities[name] = _ability(dialect.capability(name, place), is_administrator)
        if name in (chat.bot.platform.get("seen") or ()):
            abilities[name] = Ability(
                True, _("%(name)s was seen to do it") % {"name": dialect.name}
            )
        action = dialect.action(name, place)
        if action and lacks(chat.bot, action):
            abilities[name] = Ability(
                False,
                _("%(name)s says that it has no %(action)s")
                % {"name": dialect.name, "action": action},
            )
    if dialect.uploads_own_files and shared_folder.is_named():
        abilities["file"] = Ability(True, _("by the folder that both see"))
    for name in dialect.tags:
        abilities[f"tag.{name}"] = _ability(dialect.tag(name, place), is_administrator)
    return Platform(abilities, None if is_administrator else RECALL_SECONDS)


def _ability(cell: Cell, is_administrator: bool) -> Ability:
    match cell.state:
        case "yes":
            return Ability(True, told(cell))
        case "no":
            return Ability(False, told(cell))
        case "admin":
            reason = told(cell) or _("administrators alone")
            return Ability(is_administrator, "" if is_administrator else reason)
        case "unknown":
            return Ability(None, told(cell))


def told(cell: Cell) -> str:
    """A cell's reason in the language of whoever reads it: the dialects themselves are plain."""
    return _(cell.reason) if cell.reason else ""
