"""A chat in shadow: whole turns, of which nothing leaves, and which count as said there."""

import json
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from core import capabilities, chatsettings, context, outcomes, sending
from core.capabilities import Ability, Platform
from core.models import Chat, OutboxEntry, SentMessage, Turn
from core.toolcalls import ToolContext
from core.tools import execution, registry
from tests.factories import make_bot, make_chat, make_entry, make_item, make_sent, make_turn

pytestmark = pytest.mark.django_db
CONNECTION = 7
CAN = {name: Ability(True) for name in ("recall", "poke_send", "quote", "reaction_send")}


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform(CAN, recall_seconds=120))


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot(connection_number=CONNECTION), delivery_mode="shadow")


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


def call(turn: Turn, name: str, **arguments: str) -> dict[str, Any]:
    chat = Chat.objects.select_related("bot").get(pk=turn.chat_id)
    place = ToolContext(chat, turn, turn.steps, 0, timezone.now())
    turn.steps += 1
    tools = {tool.name: tool for tool in registry.offered(chat, capabilities.in_chat(chat))}
    with transaction.atomic():
        result = execution.execute(tools, place, name=name, arguments=json.dumps(arguments))
        chat.save(update_fields=["next_handle"])
    return dict(result.values)


def read(chat: Chat) -> str:
    """What the model would read of the chat now."""
    item = make_item(chat, "and now?")
    chat = Chat.objects.select_related("bot").get(pk=chat.pk)
    told = str(context.assemble(chat, [item], now=timezone.now())[1]["content"])
    item.delete()
    return told


def own_line(chat: Chat, handle: str) -> tuple[str, str]:
    """State and words of one of the bot's own messages as the model reads them."""
    (line,) = [line for line in read(chat).splitlines() if f'handle="{handle}"' in line]
    return line.split('state="')[1].split('"')[0], line.split(">")[1].split("<")[0]


def switch(chat: Chat, mode: str) -> None:
    row = Chat.objects.get(pk=chat.pk)
    chatsettings.apply(row, chatsettings.parse([f"delivery_mode={mode}"]))


def leaves(chat: Chat) -> int:
    sending.sweep()
    return len(sending.claim(chat.bot_id, CONNECTION))


def entries() -> list[str]:
    found = OutboxEntry.objects.order_by("pk")
    return [f"{one.action} {one.state} {one.reason} {one.content}".strip() for one in found]


def test_what_is_said_ends_at_once_and_counts_as_said(chat: Chat, turn: Turn) -> None:
    assert call(turn, "send_message", content="hello")["ok"]
    assert entries() == ["send discarded shadow hello"]
    assert own_line(chat, "m1") == ("sent", "hello")
    assert outcomes.untold(chat) == []
    assert leaves(chat) == 0
    assert turn.sends == 1


def test_messages_of_one_step_are_read_in_the_order_written(chat: Chat, turn: Turn) -> None:
    now = timezone.now()
    for number in range(3):
        call(turn, "send_message", content=f"words {number}")
    OutboxEntry.objects.update(settled_at=now)
    told = read(chat)
    assert told.index("words 0") < told.index("words 1") < told.index("words 2")


def test_the_send_budget_counts(chat: Chat, turn: Turn, settings: Settings) -> None:
    settings.ARISE_MAX_SENDS_PER_TURN = 1
    call(turn, "send_message", content="one")
    assert call(turn, "send_message", content="two")["error"] == "send_budget_spent"
    assert call(turn, "edit", handle="m1", new_content="1")["error"] == "send_budget_spent"


def test_an_edit_changes_what_stands_there(chat: Chat, turn: Turn) -> None:
    call(turn, "send_message", content="old")
    assert call(turn, "edit", handle="m1", new_content="new")["ok"]
    assert own_line(chat, "m1") == ("sent", "new")
    assert (turn.sends, SentMessage.objects.get().edits) == (2, 1)
    call(turn, "edit", handle="m1", new_content="newer")
    assert own_line(chat, "m1") == ("sent", "newer")
    assert call(turn, "edit", handle="m1", new_content="x")["error"] == "too_many_edits"


def test_a_recall_takes_back_what_stands_there_once(chat: Chat, turn: Turn) -> None:
    call(turn, "send_message", content="oops")
    assert call(turn, "self_recall", handle="m1")["ok"]
    assert own_line(chat, "m1")[0] == "recalled"
    assert call(turn, "self_recall", handle="m1")["error"] == "already_recalled"
    assert call(turn, "edit", handle="m1", new_content="x")["error"] == "already_recalled"
    assert entries()[1:] == ["recall discarded shadow"]
    assert outcomes.untold(chat) == []


def test_what_was_really_said_is_changed_in_the_shadow_alone(chat: Chat, turn: Turn) -> None:
    real = make_sent(chat, "really", handle="m1")
    assert call(turn, "edit", handle="m1", new_content="imagined")["ok"]
    assert own_line(chat, "m1") == ("sent", "imagined")
    assert call(turn, "self_recall", handle="m1")["ok"]
    assert own_line(chat, "m1")[0] == "recalled"
    assert call(turn, "self_recall", handle="m1")["error"] == "message_recalled"
    assert leaves(chat) == 0
    switch(chat, "live")
    assert own_line(chat, "m1") == ("sent", "really")
    real.refresh_from_db()
    assert (real.edits, real.recall_asked) == (0, False)
    assert call(turn, "self_recall", handle="m1")["ok"]


def test_edits_in_the_shadow_of_what_was_said_are_bounded_too(chat: Chat, turn: Turn) -> None:
    make_sent(chat, "really", handle="m1")
    for _ in range(2):
        assert call(turn, "edit", handle="m1", new_content="other")["ok"]
    assert call(turn, "edit", handle="m1", new_content="x")["error"] == "too_many_edits"


def test_gestures_and_quotes_of_shadow_words_end_there(chat: Chat, turn: Turn) -> None:
    chat.members.create(user_id="30001")
    call(turn, "send_message", content="one")
    assert call(turn, "send_message", content="two", quote="m1")["ok"]
    assert call(turn, "reaction_send", message_id="m1", emoji="👍")["ok"]
    assert call(turn, "poke_send", user_id="30001")["ok"]
    assert call(turn, "poke_send", user_id="30001")["error"] == "cooling_down"
    assert {line.split(" ", 1)[1][:16] for line in entries()} == {"discarded shadow"}
    assert (leaves(chat), outcomes.untold(chat)) == (0, [])


@pytest.mark.parametrize("action", ["send", "recall", "edit", "poke"])
def test_what_waits_when_the_chat_is_switched_ends_in_shadow(action: str) -> None:
    chat = make_chat(make_bot(connection_number=CONNECTION))
    message = make_sent(chat) if action in ("recall", "edit") else None
    if action == "send":
        make_sent(chat, state="pending")
    else:
        target = message.entry if message else None
        make_entry(message, chat=chat, action=action, target=target)
    switch(chat, "shadow")
    newest = OutboxEntry.objects.latest("pk")
    assert (newest.state, newest.reason) == ("discarded", "shadow")
    switch(chat, "live")
    assert leaves(chat) == 0
    assert outcomes.untold(chat) == []


@pytest.mark.parametrize("mode", ["live", "review"])
def test_nothing_of_before_leaves_after_the_switch_back(chat: Chat, turn: Turn, mode: str) -> None:
    call(turn, "send_message", content="one")
    call(turn, "edit", handle="m1", new_content="two")
    switch(chat, mode)
    assert leaves(chat) == 0
    assert own_line(chat, "m1")[0] == "discarded"
    assert call(turn, "edit", handle="m1", new_content="x")["error"] == "message_discarded"


def test_the_claim_itself_asks_whether_the_chat_is_in_shadow(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sent(chat, state="pending")
    monkeypatch.setattr("core.shadow.settle", lambda **_: 0)
    assert sending.claim(chat.bot_id, CONNECTION) == []


def test_what_was_written_before_a_switch_that_nobody_followed_up_ends_at_the_claim(
    chat: Chat,
) -> None:
    make_sent(chat, "late", state="pending")
    assert sending.claim(chat.bot_id, CONNECTION) == []
    assert entries() == ["send discarded shadow late"]
