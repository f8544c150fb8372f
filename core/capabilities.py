"""What may be done in a chat: what its platform can, and what its operator says.

The platform's side comes from probes that hosts register; with none registered nothing can be
done, so no tool or tag is offered. The operator's side is CapabilitySetting: no row inherits.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class CapabilitySet:
    """Names that hold, of each kind."""

    capabilities: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Effective:
    """Every name there is, with whether it holds in one chat."""

    capabilities: dict[str, bool]
    tags: dict[str, bool]


Probe = Callable[[Chat], CapabilitySet]
_probes: list[Probe] = []


def register_probe(probe: Probe) -> Probe:
    """Add a host's answer to "what can this chat's platform do?" (usable as a decorator)."""
    _probes.append(probe)
    return probe


def effective(chat: Chat, settings: Iterable[CapabilitySetting]) -> Effective:
    """What holds in `chat`, given its settings rows; queries nothing itself."""
    offers = [probe(chat) for probe in _probes]
    refused = {(row.target, row.name) for row in settings if not row.allowed}
    cap, tag = CapabilitySetting.Target.CAPABILITY, CapabilitySetting.Target.TAG
    return Effective(
        capabilities={
            name: any(name in offer.capabilities for offer in offers) and (cap, name) not in refused
            for name in CAPABILITIES
        },
        tags={
            name: any(name in offer.tags for offer in offers) and (tag, name) not in refused
            for name in TAGS
        },
    )
