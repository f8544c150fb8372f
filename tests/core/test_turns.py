"""Turns below the process: what is committed, what is told, and who may go on."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone
from pytest_django import Settings

from core import journal, leases, tasks, turns
from core.database import give_back
from core.leases import Lease
from core.llm.types import Answer, ToolCallRequest
from core.models import (
    Chat,
    Decision,
    ModelCallCount,
    OutboxEntry,
    SentMessage,
    ToolCall,
    Turn,
    TurnStep,
)
from core.tools import registry
from tests.factories import make_chat, make_effective, make_item, make_sent, make_turn
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model

__all__ = ["script", "scripted_model"]

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
    turn = make_turn(
        chat,
        state="running",
        tools=registry.schemas(registry.offered(Chat(), make_effective())),
    )
    call = ("send_message", '{"%s": 1}' % ("k" * 1_000_000))
    commit(claimed(chat), turn, call)
    result = ToolCall.objects.get(step__turn=turn).result
    assert result["error"] == "bad_arguments"
    assert len(result["message"]) < 1000


def test_a_due_chat_with_nothing_to_judge_is_not_due_again(chat: Chat) -> None:
    Chat.objects.filter(pk=chat.pk).update(addressed_at=timezone.now(), addressed_by=["1"])
    assert turns.run(chat.pk, "worker:1") is False
    chat.refresh_from_db()
    assert (chat.turn_due_at, chat.addressed_at, chat.lease_until) == (None, None, None)


def test_a_worker_that_stops_in_good_order_is_not_counted_as_a_crash(
    chat: Chat, request: pytest.FixtureRequest
) -> None:
    make_item(chat, trigger="mention")
    for _ in range(turns.MOST_RUNS + 2):
        lease = claimed(chat)
        opened = turns._open(lease)
        assert opened is not None
        turns.stopping.set()
        request.addfinalizer(turns.stopping.clear)
        turns._drive(lease, opened)
    turn = Turn.objects.get(chat=chat)
    assert (turn.state, turn.runs) == ("running", 0)
    chat.refresh_from_db()
    assert chat.lease_until is None


@pytest.mark.usefixtures("stopping")
def test_a_worker_that_stops_takes_nothing_new(chat: Chat) -> None:
    make_item(chat, trigger="mention")
    assert turns.run(chat.pk, "worker:1") is False
    assert not Turn.objects.filter(chat=chat).exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_due_is_run_without_the_broker() -> None:
    chat = make_chat(turn_due_at=timezone.now())
    make_item(chat)
    tasks.start_due()
    end = time.monotonic() + 10
    while not Decision.objects.filter(chat=chat).exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_waits_for_a_row_without_holding_another() -> None:
    """The door in locks chats in the order of their ids; the other order would be a deadlock."""
    first, second = (make_chat(turn_due_at=timezone.now()) for _ in range(2))
    with leases.kept(claimed(second)), leases.kept(claimed(first)), transaction.atomic():
        Chat.objects.select_for_update().get(pk=first.pk)
        heartbeat = threading.Thread(target=_extend)
        heartbeat.start()
        heartbeat.join(0.5)
        assert heartbeat.is_alive()
        Chat.objects.select_for_update(nowait=True).get(pk=second.pk)
    heartbeat.join(10)
    assert not heartbeat.is_alive()


def _extend() -> None:
    try:
        leases.extend_held()
    finally:
        give_back()


def running(chat: Chat, **fields: Any) -> Turn:
    """A turn under way with the tools that every chat has."""
    tools = registry.schemas(registry.offered(Chat(), make_effective()))
    return make_turn(chat, state="running", tools=tools, **fields)


def commit(lease: Lease, turn: Turn, *calls: tuple[str, str]) -> bool:
    """Commit a step; whether the turn has ended with it."""
    tools = {tool.name: tool for tool in registry.offered(Chat(), make_effective("edit"))}
    answered = journal.Answered(answer(*calls), tools, timezone.now())
    with transaction.atomic():
        held = leases.hold(lease)
        journal.commit_step(held, turn, answered)
    return turn.ended_at is not None


SAY = ("send_message", '{"content": "hi"}')


def test_the_next_step_lets_the_messages_of_the_last_one_go(chat: Chat) -> None:
    lease, turn = claimed(chat), running(chat)
    commit(lease, turn, SAY)
    assert OutboxEntry.objects.get().draft_until is not None
    commit(lease, turn, ("unknown", "{}"))
    assert OutboxEntry.objects.get().draft_until is None


def test_what_an_earlier_turn_left_and_this_one_rewrote_goes_when_this_one_ends(
    chat: Chat,
) -> None:
    make_sent(chat, "hi", "pending", handle="m1", turn=make_turn(chat))
    lease, turn = claimed(chat), running(chat)
    commit(lease, turn, ("edit", '{"handle": "m1", "new_content": "hello"}'))
    entry = OutboxEntry.objects.get()
    assert (entry.content, entry.turn, entry.draft_until is None) == ("hello", turn, False)
    assert commit(lease, turn)
    assert OutboxEntry.objects.get().draft_until is None


@pytest.mark.django_db(transaction=True)
def test_a_step_that_could_not_be_committed_leaves_nothing() -> None:
    chat = make_chat(turn_due_at=timezone.now())
    lease, turn = claimed(chat), running(chat, prompt_tokens=2**31 - 1)
    with pytest.raises(DatabaseError):  # what the turn adds up no longer fits, after all the rest
        commit(lease, turn, SAY)
    assert not OutboxEntry.objects.exists()
    assert not TurnStep.objects.exists()
    Turn.objects.update(prompt_tokens=0)
    turn = Turn.objects.get()  # as whoever resumes it reads it
    commit(lease, turn, SAY)
    turn.refresh_from_db()
    assert (turn.steps, turn.sends, turn.prompt_tokens) == (1, 1, 1)
    assert [message.handle for message in SentMessage.objects.all()] == ["m1"]


@pytest.mark.parametrize(
    ("change", "error"),
    [({"daily_model_calls": 0}, "budget_spent"), ({"enabled": False}, "chat_disabled")],
)
def test_no_call_is_paid_once_it_is_no_longer_allowed(
    chat: Chat, change: dict[str, Any], error: str
) -> None:
    lease, turn = claimed(chat), running(chat)
    Chat.objects.filter(pk=chat.pk).update(**change)
    with transaction.atomic():
        journal.reserve_next(leases.hold(lease), turn)
    turn.refresh_from_db()
    assert (turn.state, turn.error) == ("failed", error)
    assert not ModelCallCount.objects.exists()


def test_a_turn_in_which_its_worker_died_three_times_is_given_up(chat: Chat) -> None:
    turn = running(chat)
    for _ in range(turns.MOST_RUNS):
        assert turns._open(claimed(chat)) is not None
        Chat.objects.filter(pk=chat.pk).update(lease_until=None)
    assert turns._open(claimed(chat)) is None
    turn.refresh_from_db()
    assert (turn.state, turn.error) == ("abandoned", "crashed")
    chat.refresh_from_db()
    assert (chat.turn_due_at, chat.lease_until) == (None, None)


def test_who_addressed_the_bot_during_a_turn_keeps_the_chat_due(chat: Chat) -> None:
    make_item(chat, trigger="mention")
    lease = claimed(chat)
    opened = turns._open(lease)
    assert opened is not None
    due = timezone.now() + timedelta(seconds=1)
    make_item(chat, trigger="mention")
    Chat.objects.filter(pk=chat.pk).update(addressed_at=timezone.now(), turn_due_at=due)
    assert commit(lease, opened) is True
    chat.refresh_from_db()
    assert (chat.turn_due_at, chat.lease_until) == (due, None)


def test_words_that_came_during_a_turn_are_judged_later(chat: Chat) -> None:
    make_item(chat, trigger="mention")
    lease = claimed(chat)
    opened = turns._open(lease)
    assert opened is not None
    make_item(chat)
    assert commit(lease, opened) is True
    chat.refresh_from_db()
    assert chat.turn_due_at is not None
    assert chat.turn_due_at > timezone.now()


@pytest.mark.django_db(transaction=True)
def test_a_turn_whose_step_breaks_while_it_is_written_keeps_nothing_of_it(
    chat: Chat, script: Script, scripted_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:  # fmt: skip
    settings.ARISE_DEMO_MODEL = False
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    chat.bot.chat_model = script.model
    chat.bot.save()
    make_item(chat, trigger="mention")
    script.reply(tool_calls=[("send_message", {"content": "hi"})])

    def breaks(held: leases.Held, turn: Turn) -> None:
        raise DatabaseError("the disk is full")

    monkeypatch.setattr(journal, "reserve_next", breaks)
    with pytest.raises(DatabaseError):
        turns.run(chat.pk, "worker:1")
    assert Turn.objects.get().steps == 0
    assert not TurnStep.objects.exists()
    assert not ToolCall.objects.exists()
    assert not SentMessage.objects.exists()
    assert not OutboxEntry.objects.exists()
