"""What holds in a chat: what its platform can, and what its operator says."""

import pytest

from core import capabilities
from core.capabilities import Ability, Platform
from core.models import CapabilitySetting, Chat

CAN, UNKNOWN = Ability(True), Ability(None, "not known")
ABILITIES = {"poke_send": CAN, "quote": UNKNOWN, "tag.user": CAN, "tag.all": CAN}


def host(monkeypatch: pytest.MonkeyPatch, **abilities: Ability) -> None:
    """A host that can what is given, besides a little."""
    platform = Platform({**ABILITIES, **abilities}, 120)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: platform)


def setting(name: str, *, allowed: bool) -> CapabilitySetting:
    target, _, tag = name.partition(".")
    if tag:
        return CapabilitySetting(target=target, name=tag, allowed=allowed)
    return CapabilitySetting(target="cap", name=name, allowed=allowed)


@pytest.mark.parametrize(
    ("name", "said", "holds"),
    [
        ("poke_send", None, True),
        ("poke_send", False, False),
        ("quote", None, False),  # nobody knows
        ("quote", True, True),
        ("voice", None, False),  # the platform can't
        ("voice", True, False),
        ("tag.user", None, True),
        ("tag.user", False, False),
        ("tag.face", True, False),
        ("tag.all", None, False),  # off until it is set
        ("tag.all", True, True),
    ],
)
def test_what_holds_is_what_the_platform_can_as_far_as_the_operator_allows_it(
    monkeypatch: pytest.MonkeyPatch, name: str, said: bool | None, holds: bool
) -> None:
    host(monkeypatch)
    rows = [] if said is None else [setting(name, allowed=said)]
    effective = capabilities.effective(Chat(), rows)
    assert effective.holdings[name].holds is holds
    assert holds or effective.holdings[name].reason


@pytest.mark.parametrize(
    ("recall", "edit", "said", "holds", "in_place"),
    [
        (CAN, Ability(False), {}, True, False),
        (Ability(False), Ability(False), {}, False, False),
        (CAN, Ability(False), {"recall": False}, False, False),
        (CAN, Ability(False), {"edit": False}, False, False),
        (Ability(False), CAN, {}, True, True),
        (CAN, CAN, {"recall": False}, True, True),
        (CAN, CAN, {"edit": False}, False, True),
        (Ability(False), Ability(False), {"edit": True}, False, False),
    ],
)
def test_a_message_is_edited_in_place_or_else_where_it_can_be_recalled(
    monkeypatch: pytest.MonkeyPatch,
    recall: Ability,
    edit: Ability,
    said: dict[str, bool],
    holds: bool,
    in_place: bool,
) -> None:
    host(monkeypatch, recall=recall, edit=edit)
    rows = [setting(name, allowed=allowed) for name, allowed in said.items()]
    effective = capabilities.effective(Chat(), rows)
    assert (effective.capabilities["edit"], effective.edits_in_place) == (holds, in_place)


def test_a_tag_and_a_capability_of_one_name_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch)
    row = CapabilitySetting(target="tag", name="poke_send", allowed=False)
    assert capabilities.effective(Chat(), [row]).capabilities["poke_send"]


def test_a_chat_that_no_host_speaks_for_can_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probe", None)
    holds = capabilities.effective(Chat(), [setting("quote", allowed=True)])
    assert set(holds.capabilities) == set(capabilities.CAPABILITIES)
    assert not any(holds.capabilities.values())
    assert not any(holds.tags.values())
