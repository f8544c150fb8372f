"""Turns below the process: what is committed, what is told, and who may go on."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from core import leases, turns
from core.leases import Lease
from core.llm.types import Answer, ToolCallRequest
from core.models import Chat, ToolCall, Turn
from core.tools import registry
from tests.factories import make_bot, make_chat, make_item, make_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return make_chat(turn_due_at=timezone.now())


@pytest.fixture
def stopping() -> Iterator[None]:
    turns.stopping.set()
    yield
    turns.stopping.clear()


def claimed(chat: Chat) -> Lease:
    lease = leases.claim(chat.pk, "worker:1")
    assert lease is not None
    return lease


def answer(*calls: tuple[str, str], **counts: int) -> Answer:
    requests = tuple(
        ToolCallRequest(str(index), name, arguments)
        for index, (name, arguments) in enumerate(calls)
    )
    given: dict[str, Any] = {"prompt_tokens": 1, "completion_tokens": 1, **counts}
    return Answer({"role": "assistant"}, None, requests, "tool_calls", **given)


def test_a_long_name_of_an_argument_is_not_told_back_whole(chat: Chat) -> None:
    turn = make_turn(chat, state="running", tools=registry.schemas(registry.offered({})))
    call = ("send_message", '{"%s": 1}' % ("k" * 1_000_000))
    turns._commit_step(claimed(chat), turn, turns._tools_of(turn), answer(call), timezone.now())
    result = ToolCall.objects.get(step__turn=turn).result
    assert result["error"] == "bad_arguments"
    assert len(result["message"]) < 1000


def test_a_due_chat_with_nothing_to_judge_is_not_due_again(chat: Chat) -> None:
    Chat.objects.filter(pk=chat.pk).update(addressed_at=timezone.now(), addressed_by=["1"])
    assert turns.run(chat.pk, "worker:1") is False
    chat.refresh_from_db()
    assert (chat.turn_due_at, chat.addressed_at, chat.lease_until) == (None, None, None)


@pytest.mark.usefixtures("stopping")
def test_a_worker_that_stops_in_good_order_is_not_counted_as_a_crash(settings: Settings) -> None:
    chat = make_chat(make_bot(), turn_due_at=timezone.now())
    make_item(chat, trigger="mention")
    for _ in range(turns.MOST_RUNS + 2):
        turns.run(chat.pk, "worker:1")
    turn = Turn.objects.get(chat=chat)
    assert (turn.state, turn.runs) == ("running", 0)
    chat.refresh_from_db()
    assert chat.lease_until is None
