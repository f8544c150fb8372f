"""What holds in a chat: what its platform can, and what its operator says."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import capabilities
from core.capabilities import Ability, Platform
from core.models import Bot, CapabilitySetting, Chat
from tests.factories import make_bot, make_chat

CAN, UNKNOWN = Ability(True), Ability(None, "not known")
ABILITIES = {"poke_send": CAN, "quote": UNKNOWN, "tag.user": CAN, "tag.all": CAN}


def host(monkeypatch: pytest.MonkeyPatch, **abilities: Ability) -> None:
    """A host that can what is given, besides a little."""
    platform = Platform({**ABILITIES, **abilities}, 120)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: platform)


def setting(name: str, *, allowed: bool, **owner: Bot | Chat) -> CapabilitySetting:
    target, _, tag = name.partition(".")
    known = (target, tag) if tag else ("cap", name)
    day = datetime(2026, 11, 30, tzinfo=UTC)
    return CapabilitySetting(
        target=known[0],
        name=known[1],
        allowed=allowed,
        set_at=day,
        **(owner or {"chat": Chat(pk=1)}),
    )


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
    row = setting("tag.poke_send", allowed=False)
    assert capabilities.effective(Chat(), [row]).capabilities["poke_send"]


def test_a_chat_that_no_host_speaks_for_can_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probe", None)
    holds = capabilities.effective(Chat(), [setting("quote", allowed=True)])
    assert set(holds.capabilities) == set(capabilities.CAPABILITIES)
    assert not any(holds.capabilities.values())
    assert not any(holds.tags.values())


@pytest.mark.parametrize(
    ("name", "of_bot", "of_chat", "holds", "reason"),
    [
        ("poke_send", None, None, True, ""),
        ("poke_send", False, None, False, "operator for all chats of the bot, 2026-11-30"),
        ("poke_send", True, None, True, "operator for all chats of the bot, 2026-11-30"),
        ("poke_send", False, True, True, "operator, 2026-11-30"),
        ("poke_send", True, False, False, "operator, 2026-11-30"),
        ("poke_send", None, False, False, "operator, 2026-11-30"),
        ("quote", None, None, False, "not known: off until seen to work or set on"),
        ("quote", True, None, True, "operator for all chats of the bot, 2026-11-30"),
        ("quote", True, False, False, "operator, 2026-11-30"),
        ("file", None, None, False, "has no files"),
        ("file", True, None, False, "has no files; the operator's “on” is kept"),
        ("file", None, True, False, "has no files; the operator's “on” is kept"),
        ("file", True, False, False, "has no files"),
        ("tag.all", None, None, False, "off until the operator switches it on"),
        ("tag.all", True, None, True, "operator for all chats of the bot, 2026-11-30"),
        ("tag.all", True, False, False, "operator, 2026-11-30"),
        ("edit", None, None, True, "by a recall and a new message"),
        ("recall", False, None, False, "operator for all chats of the bot, 2026-11-30"),
    ],
)
def test_the_chats_setting_wins_over_the_bots_and_the_platform_over_both(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    of_bot: bool | None,
    of_chat: bool | None,
    holds: bool,
    reason: str,
) -> None:
    host(monkeypatch, recall=CAN, file=Ability(False, "has no files"))
    rows = []
    if of_chat is not None:
        rows.append(setting(name, allowed=of_chat, chat=Chat(pk=1)))
    if of_bot is not None:
        rows.append(setting(name, allowed=of_bot, bot=Bot(pk=1)))
    holding = capabilities.effective(Chat(), rows).holdings[name]
    assert (holding.holds, holding.reason) == (holds, reason)
    layers = holding.layers
    assert [row and row.allowed for row in (layers.bot, layers.chat)] == [of_bot, of_chat]


def test_an_edit_by_resending_tells_why_recalls_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, recall=CAN)
    rows = [setting("recall", allowed=False)]
    holding = capabilities.effective(Chat(), rows).holdings["edit"]
    assert holding.reason == "needs recall: operator, 2026-11-30"


@pytest.mark.django_db
def test_a_setting_tells_who_made_it() -> None:
    chat = make_chat()
    operator = User.objects.create_user("ann")
    row = chat.capability_settings.create(
        target="cap", name="recall", allowed=False, set_by=operator
    )
    (row,) = capabilities.settings_of(chat)
    assert capabilities.said_by(row).startswith("operator ann, 2")


@pytest.mark.django_db
def test_a_chat_has_its_own_settings_and_its_bots_and_nobody_elses() -> None:
    bot = make_bot()
    chat, other = make_chat(bot), make_chat(bot)
    for owner, name in ((bot, "quote"), (chat, "voice"), (other, "file"), (make_bot(), "recall")):
        owner.capability_settings.create(target="cap", name=name, allowed=False)
    assert {row.name for row in capabilities.settings_of(chat)} == {"quote", "voice"}
    with CaptureQueriesContext(connection) as queries:
        loaded = capabilities.with_settings(Chat.objects.filter(bot=bot)).order_by("pk")
        given = [{row.name for row in capabilities.settings_of(chat)} for chat in loaded]
    assert given == [{"quote", "voice"}, {"quote", "file"}]
    assert len(queries) == 3
