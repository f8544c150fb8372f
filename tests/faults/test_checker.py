"""The checker finds each fault where there is one, and none where there is none."""

from datetime import timedelta

import pytest
from django.utils import timezone

from core.models import Chat, Turn
from tests.factories import make_chat, make_decision, make_item, make_sent, make_step, make_turn
from tests.faults import checker
from tests.faults.checker import Findings, Record
from tests.faults.talker import Asked, digest

pytestmark = pytest.mark.django_db
ASKED = [{"role": "system", "content": "be"}, {"role": "user", "content": "<new>q1.1</new>"}]


@pytest.fixture
def chat() -> Chat:
    return make_chat()


def found(chat: Chat, *delivered: str, asked: list[Asked] | None = None) -> Findings:
    """What the checker says where the platform knows that this was delivered, in this order."""
    record = Record()
    record.delivered[chat.bot.self_id, chat.key] += delivered
    return checker.examine(record, asked or [])


def test_nothing_is_found_where_all_is_well(chat: Chat) -> None:
    items = [make_item(chat, "hi", trigger="mention", turn=make_turn(chat)), make_item(chat, "oh")]
    make_decision(items)
    make_sent(chat, "one")
    make_sent(chat, "two", "unknown")
    make_sent(chat, "three", "unknown")
    make_sent(chat, "four", "failed")
    findings = found(chat, "one", "two")
    assert findings.broken == {}
    assert (findings.told["entries unknown"], findings.told["unknown, delivered"]) == (2, 1)


def test_a_message_that_was_said_twice_is_found(chat: Chat) -> None:
    make_sent(chat, "one")
    make_sent(chat, "two")
    assert found(chat, "one", "two", "one").broken == {"messages said twice": 1}


def test_messages_that_changed_places_are_found(chat: Chat) -> None:
    make_sent(chat, "one")
    make_sent(chat, "two")
    assert found(chat, "two", "one").broken == {"chats out of order": 1}


def test_words_that_nobody_wrote_are_found(chat: Chat) -> None:
    assert found(chat, "of a step that was rolled back").broken == {"delivered, not written": 1}


@pytest.mark.parametrize("state", ["failed", "discarded"])
def test_a_message_that_arrived_although_its_entry_denies_it_is_found(
    chat: Chat, state: str
) -> None:
    make_sent(chat, "one", state)
    assert found(chat, "one").broken == {"not sent, yet delivered": 1}


def test_a_message_that_never_arrived_although_its_entry_says_so_is_found(chat: Chat) -> None:
    make_sent(chat, "one")
    assert found(chat).broken == {"sent, not delivered": 1}


def test_a_message_that_is_still_there_although_it_was_recalled_is_found(chat: Chat) -> None:
    make_sent(chat, "one", "recalled")
    assert found(chat, "one").broken == {"recalled, still there": 1}


@pytest.mark.parametrize("state", ["pending", "sending"])
def test_an_entry_that_nobody_settled_is_found(chat: Chat, state: str) -> None:
    make_sent(chat, "one", state)
    assert found(chat).broken == {"entries left open": 1}


def test_an_unknown_entry_that_the_sent_log_does_not_show_is_found(chat: Chat) -> None:
    message = make_sent(chat, "one", "unknown")
    message.entry = None
    message.save()
    assert found(chat).broken == {"unknown, not in the Sent Log": 1}


def test_a_chat_and_a_turn_that_nobody_takes_up_are_found(chat: Chat) -> None:
    make_turn(chat, state=Turn.State.RUNNING)
    Chat.objects.filter(pk=chat.pk).update(lease_until=timezone.now())
    assert found(chat).broken == {"turns left running": 1, "chats left due or leased": 1}


def test_an_item_with_no_decision_and_a_mention_with_no_turn_are_found(chat: Chat) -> None:
    make_decision([make_item(chat, "hi", trigger="mention")], "skip")
    make_item(chat, "and nobody looked")
    assert found(chat).broken == {"items with no decision": 1, "mentions with no turn": 1}


def test_an_echo_that_was_stored_as_something_said_is_found(chat: Chat) -> None:
    make_decision([make_item(chat, "one", from_self=True)], "skip")
    assert found(chat).broken == {"own messages taken for items": 1}


def test_words_that_the_history_has_and_nobody_stored_are_found(chat: Chat) -> None:
    stored = make_item(chat, "two")
    make_decision([stored])
    record = Record()
    heard = ["before anything was stored", stored.platform_message_id, "lost"]
    record.heard[chat.bot.self_id, chat.key] += heard
    assert checker.examine(record, []).broken == {"in the history, not stored": 1}


@pytest.mark.parametrize(("later_seconds", "twice"), [(-1, 0), (1, 1)])
def test_a_model_call_that_repeats_a_committed_step_is_found(
    chat: Chat, later_seconds: float, twice: int
) -> None:
    step = make_step(make_turn(chat, messages=ASKED))
    asked = Asked((step.committed_at + timedelta(seconds=later_seconds)).timestamp(), digest(ASKED))
    assert found(chat, asked=[asked]).faults["model calls paid twice"] == twice
