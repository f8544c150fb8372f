"""An overlong skill goes to its chat as a file, through the Outbox like every message."""

import json
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from core import context, judging, outcomes
from core.models import CapabilitySetting, Chat, OutboxEntry, SentMessage, Turn
from core.toolcalls import ToolContext
from core.tools import execution
from tests.factories import make_bot, make_chat, make_item, make_skill, make_turn

pytestmark = pytest.mark.django_db

BODY = "# Rules\n\n" + "Deal the cards. " * 20 + "\n\n## Hands\n\nA pair."
NAPCAT = {"app_name": "NapCat.Onebot", "app_version": "4.8.100"}


@pytest.fixture
def chat(settings: Settings) -> Chat:
    settings.ARISE_SKILL_FULL_TEXT_MAX_CHARS = 100
    make_skill("poker", BODY)
    return make_chat(make_bot(platform=NAPCAT))


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state=Turn.State.RUNNING)


def read(turn: Turn, *names: str, step: int = 0) -> list[dict[str, Any]]:
    """What `inject_skills` gives of these skills in full."""
    chat = Chat.objects.select_related("bot").get(pk=turn.chat_id)
    place = ToolContext(chat, turn, step, 0, timezone.now())
    offered = {tool.name: tool for tool in judging.offered(chat)}
    arguments = json.dumps({"names": names or ["poker"], "level": "full"})
    result = execution.execute(offered, place, name="inject_skills", arguments=arguments)
    chat.save(update_fields=["next_handle"])
    assert result.values["ok"], result.values
    return list(result.values["skills"])


def test_an_overlong_text_becomes_a_file_with_a_handle_and_the_model_gets_its_headings(
    turn: Turn,
) -> None:
    (told,) = read(turn)
    assert told["handle"] == "m1"
    assert "# Rules" in told["content"]
    assert "## Hands" in told["content"]
    assert "Deal the cards" not in told["content"]
    message = SentMessage.objects.get()
    entry = OutboxEntry.objects.get()
    assert (message.kind, message.handle, message.entry) == ("file", "m1", entry)
    assert bytes(entry.payload or b"").decode() == BODY
    assert entry.parts[0]["data"]["name"] == "poker.md"
    assert entry.content == f"The file poker.md, {len(BODY)} characters."
    assert turn.sends == 1


def test_what_is_in_the_file_never_comes_back_in_a_later_context(turn: Turn, chat: Chat) -> None:
    read(turn)
    item = make_item(chat, "and now?", trigger="mention")
    told = outcomes.lines(outcomes.untold(chat))
    request = context.assemble(chat, [item], now=timezone.now(), outcomes=told)
    assert "Deal the cards" not in json.dumps(request)
    assert "The file poker.md" in json.dumps(request)


def is_cut(told: dict[str, Any]) -> bool:
    return "handle" not in told and "The text is cut here" in told["content"]


def test_with_the_send_budget_spent_the_text_is_cut(turn: Turn, settings: Settings) -> None:
    settings.ARISE_MAX_SENDS_PER_TURN = 2
    turn.sends = 2
    (told,) = read(turn)
    assert is_cut(told)
    assert (turn.sends, OutboxEntry.objects.count()) == (2, 0)


@pytest.mark.parametrize("why", ["operator", "platform"])
def test_where_the_chat_takes_no_files_the_text_is_cut(turn: Turn, chat: Chat, why: str) -> None:
    if why == "operator":
        CapabilitySetting.objects.create(chat=chat, target="cap", name="file", allowed=False)
    else:
        chat.bot.platform = {"app_name": "Lagrange.OneBot"}
        chat.bot.save()
    (told,) = read(turn)
    assert is_cut(told)
    assert (turn.sends, OutboxEntry.objects.count()) == (0, 0)


def test_the_same_file_is_not_sent_twice_within_a_few_minutes(turn: Turn) -> None:
    read(turn)
    (again,) = read(turn, step=1)
    assert again["handle"] == "m1"
    assert "already" in again["content"]
    assert (turn.sends, SentMessage.objects.count()) == (1, 1)


@pytest.mark.parametrize("state", ["failed", "discarded", "recalled"])
def test_a_file_that_is_not_there_is_sent_again(turn: Turn, state: str) -> None:
    read(turn)
    OutboxEntry.objects.update(state=state)
    (again,) = read(turn, step=1)
    assert again["handle"] == "m2"


def test_a_changed_text_is_another_file(turn: Turn) -> None:
    read(turn)
    OutboxEntry.objects.update(parts=[{"type": "file", "data": {"name": "poker.md", "sha256": ""}}])
    (again,) = read(turn, step=1)
    assert again["handle"] == "m2"


def test_one_call_sends_one_file_and_the_next_text_is_cut(turn: Turn) -> None:
    make_skill("chess", BODY.replace("cards", "pieces"))
    poker, chess = read(turn, "poker", "chess")
    assert poker["handle"] == "m1"
    assert is_cut(chess)
    assert SentMessage.objects.count() == 1


def test_a_file_is_not_edited(turn: Turn, chat: Chat) -> None:
    read(turn)
    chat.refresh_from_db()
    place = ToolContext(chat, turn, 1, 0, timezone.now())
    offered = {tool.name: tool for tool in judging.offered(chat)}
    result = execution.execute(
        offered, place, name="edit", arguments='{"handle": "m1", "new_content": "x"}'
    )
    assert result.values["error"] == "not_editable"
