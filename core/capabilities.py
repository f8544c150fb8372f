"""What may be done in a chat: what its platform can, and what its operator says.

The platform's side comes from the host's probe; with none registered nothing can be done, so no
tool or tag is offered. The operator's side is CapabilitySetting: no row inherits. An operator can
switch off whatever there is, and on what nobody knows; never what the platform can't.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from core.models import CapabilitySetting, Chat

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
OFF_UNTIL_SET = ("tag.all",)
"""What calls a whole group together waits for an operator."""

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
class Holding:
    """Whether one capability or tag holds in a chat, and why not (or why, where it was in doubt)."""

    holds: bool
    reason: str = ""


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


def effective(chat: Chat, settings: Iterable[CapabilitySetting]) -> Effective:
    """What holds in `chat`, given its settings rows; queries nothing itself."""
    platform = _probe(chat) if _probe else Platform()
    said = {(row.name if row.target == CAP else f"tag.{row.name}"): row.allowed for row in settings}
    holdings: dict[str, Holding] = {}
    for name in (*CAPABILITIES, *(f"tag.{tag}" for tag in TAGS)):
        ability = platform.abilities.get(name, Ability(False, "the platform has no such thing"))
        if name == "edit" and ability.can is not True:
            # What can't be edited in place is recalled and sent anew.
            ability = Ability(holdings["recall"].holds, holdings["recall"].reason)
        holdings[name] = _holding(name, ability, said.get(name))
    return Effective(holdings, platform)


def _holding(name: str, ability: Ability, said: bool | None) -> Holding:
    if ability.can is False:
        return Holding(False, ability.reason)
    if said is False:
        return Holding(False, "the operator switched it off")
    if said is True:
        return Holding(True, "the operator switched it on")
    if ability.can is None:
        return Holding(False, ability.reason)
    if name in OFF_UNTIL_SET:
        return Holding(False, "off until the operator switches it on")
    return Holding(True, ability.reason)
