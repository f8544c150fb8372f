"""What may be done in a chat: what its platform can, and what its operator says.

Three layers. The platform's side comes from the host's probe; with none registered nothing can be
done, so no tool or tag is offered. The operator's side is CapabilitySetting, for all chats of a bot
and for one chat, which wins; no row inherits. An operator can switch off whatever there is, and on
what nobody knows; never what the platform can't.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings as site
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.models import CapabilitySetting, Chat, OutboxEntry

CAPABILITIES = (
    "recall",
    "edit",
    "poke_send",
    "poke_receive",
    "reaction_send",
    "reaction_receive",
    "profile_like",
    "quote",
    "sticker",
    "voice",
    "file",
)
TAGS = ("all", "user", "face")
NAMES = (*CAPABILITIES, *(f"tag.{tag}" for tag in TAGS))
"""All of them, tags as `tag.all`."""

OFF_UNTIL_SET = ("tag.all",)
"""What calls a whole group together waits for an operator."""

OF_ACTION = {
    OutboxEntry.Action.RECALL: "recall",
    OutboxEntry.Action.EDIT: "edit",
    OutboxEntry.Action.POKE: "poke_send",
    OutboxEntry.Action.REACTION: "reaction_send",
    OutboxEntry.Action.LIKE: "profile_like",
}
"""The capability without which an Outbox entry does not leave; a send's is its message's kind, and
text needs none."""

CAP, TAG = CapabilitySetting.Target.CAPABILITY, CapabilitySetting.Target.TAG


@dataclass(frozen=True, slots=True)
class Ability:
    """Whether a platform can do something; None: nobody knows. `reason` is for operators."""

    can: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Platform:
    """What one chat's platform can, by name (`recall`; tags as `tag.all`; a missing name can't be
    done). Its own messages may be recalled for `recall_seconds` after they were sent; None: always.
    """

    abilities: Mapping[str, Ability] = field(default_factory=dict)
    recall_seconds: float | None = 0


@dataclass(frozen=True, slots=True)
class Layers:
    """What each layer says of one name: the platform, the operator for all chats of the bot, and
    for this chat; None inherits."""

    platform: Ability
    bot: CapabilitySetting | None = None
    chat: CapabilitySetting | None = None

    @property
    def said(self) -> CapabilitySetting | None:
        """What the operator says, the chat's own setting before the bot's."""
        return self.bot if self.chat is None else self.chat


@dataclass(frozen=True, slots=True)
class Holding:
    """Whether one capability or tag holds in a chat, and why not (or why, where it was in doubt)."""

    holds: bool
    reason: str = ""
    layers: Layers = Layers(Ability(False))


@dataclass(frozen=True, slots=True)
class Effective:
    """Every name there is (tags as `tag.all`), with what holds of it in one chat."""

    holdings: Mapping[str, Holding]
    platform: Platform

    @property
    def capabilities(self) -> dict[str, bool]:
        return {name: self.holdings[name].holds for name in CAPABILITIES}

    @property
    def tags(self) -> dict[str, bool]:
        return {name: self.holdings[f"tag.{name}"].holds for name in TAGS}

    @property
    def edits_in_place(self) -> bool:
        """Whether the platform itself edits a message; else it is recalled and sent anew."""
        ability = self.platform.abilities.get("edit")
        return ability is not None and ability.can is True


Probe = Callable[[Chat], Platform]
_probe: Probe | None = None


def register_probe(probe: Probe) -> Probe:
    """Set the host's answer to "what can this chat's platform do?" (usable as a decorator)."""
    global _probe
    _probe = probe
    return probe


def settings_of(chat: Chat) -> Sequence[CapabilitySetting]:
    """What operators say of a chat and of its bot: one query, none for a chat of `with_settings`."""
    if hasattr(chat, _LOADED):
        return [*getattr(chat.bot, _LOADED), *getattr(chat, _LOADED)]
    rows = CapabilitySetting.objects.select_related("set_by")
    return list(rows.filter(Q(chat=chat.pk) | Q(bot=chat.bot_id)))


def with_settings(chats: QuerySet[Chat]) -> QuerySet[Chat]:
    """Chats loaded with their bots and what `settings_of` gives, in two more queries for them all."""
    rows = CapabilitySetting.objects.select_related("set_by")
    return chats.select_related("bot").prefetch_related(
        Prefetch("capability_settings", rows, to_attr=_LOADED),
        Prefetch("bot__capability_settings", rows, to_attr=_LOADED),
    )


_LOADED = "loaded_capability_settings"


def in_chat(chat: Chat) -> Effective:
    """What holds in `chat` now."""
    return effective(chat, settings_of(chat))


def effective(chat: Chat, settings: Iterable[CapabilitySetting]) -> Effective:
    """What holds in `chat`, given its settings rows and its bot's; queries nothing itself."""
    platform = _probe(chat) if _probe else Platform()
    of_bot: dict[str, CapabilitySetting] = {}
    of_chat: dict[str, CapabilitySetting] = {}
    for row in settings:
        layer = of_chat if row.bot_id is None else of_bot
        layer[row.name if row.target == CAP else f"tag.{row.name}"] = row
    holdings: dict[str, Holding] = {}
    for name in NAMES:
        ability = platform.abilities.get(name, Ability(False, _("the platform has no such thing")))
        layers = Layers(ability, of_bot.get(name), of_chat.get(name))
        if name == "edit" and ability.can is not True:
            ability = _by_resending(holdings["recall"])
        holdings[name] = _holding(name, ability, layers)
    return Effective(holdings, platform)


def _by_resending(recall: Holding) -> Ability:
    """What can't be edited in place is recalled and sent anew."""
    if recall.holds:
        return Ability(True, _("by a recall and a new message"))
    return Ability(False, _("needs recall: %(reason)s") % {"reason": recall.reason})


def _holding(name: str, ability: Ability, layers: Layers) -> Holding:
    said = layers.said
    if ability.can is False:
        return Holding(False, _refusal(ability, said), layers)
    if said is not None and not said.allowed:
        return Holding(False, said_by(said), layers)
    if lack := _lack(name):
        return Holding(False, lack, layers)
    if said is not None:
        return Holding(True, said_by(said), layers)
    if ability.can is None:
        doubt = _("%(reason)s: off until seen to work or set on") % {"reason": ability.reason}
        return Holding(False, doubt, layers)
    if name in OFF_UNTIL_SET:
        return Holding(False, _("off until the operator switches it on"), layers)
    return Holding(True, ability.reason, layers)


def _refusal(ability: Ability, said: CapabilitySetting | None) -> str:
    """Why it can't be done; an operator's “on” waits for a platform that can."""
    if said is None or not said.allowed:
        return ability.reason
    return _("%(reason)s; the operator's “on” is kept") % {"reason": ability.reason}


def _lack(name: str) -> str:
    """What the site itself lacks for a name; empty where it has all."""
    return _("no TTS model is set") if name == "voice" and not site.ARISE_TTS_MODEL else ""


def said_by(row: CapabilitySetting) -> str:
    """Who set it, where and when, for operators: `operator admin, 2026-11-30`."""
    told = {
        "who": row.set_by.get_username() if row.set_by else "",
        "day": timezone.localdate(row.set_at),
    }
    match row.set_by, row.bot_id:
        case None, None:
            return _("operator, %(day)s") % told
        case None, _:
            return _("operator for all chats of the bot, %(day)s") % told
        case _, None:
            return _("operator %(who)s, %(day)s") % told
        case _:
            return _("operator %(who)s for all chats of the bot, %(day)s") % told
