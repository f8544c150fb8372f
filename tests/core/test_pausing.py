"""A paused bot or chat: nothing leaves, nothing is paid, what people say is stored, and it goes on."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from core import budgets, journal, judging, leases, pausing, sending, standing
from core.database import database_now
from core.models import Bot, Chat, Decision, ModelCallCount, OutboxEntry
from tests.factories import make_bot, make_chat, make_entry, make_item, make_sent, make_turn

pytestmark = pytest.mark.django_db
CONNECTION = 7
Owner = Callable[[Chat], Bot | Chat]
OWNERS: list[Owner] = [lambda chat: chat, lambda chat: chat.bot]
of_either = pytest.mark.parametrize("owner", OWNERS, ids=["chat", "bot"])


@pytest.fixture
def chat() -> Chat:
    bot = make_bot(connection_number=CONNECTION)
    return make_chat(bot, turn_due_at=timezone.now())


def leaves(chat: Chat) -> list[int]:
    return [entry.entry_id for entry in sending.claim(chat.bot_id, CONNECTION)]


def again(entry: OutboxEntry | None) -> OutboxEntry:
    assert entry is not None
    return OutboxEntry.objects.get(pk=entry.pk)


def fresh(chat: Chat) -> Chat:
    return Chat.objects.select_related("bot").get(pk=chat.pk)


@of_either
def test_what_waits_is_held_at_once_and_goes_when_it_may_with_its_patience_anew(
    chat: Chat, owner: Owner
) -> None:
    entry = make_sent(chat, state="pending").entry
    assert pausing.pause(owner(chat))
    assert (again(entry).state, again(entry).held) == ("pending", "paused")
    assert leaves(chat) == []
    OutboxEntry.objects.update(expires_at=timezone.now() - timedelta(days=1))
    sending.sweep()
    assert again(entry).state == "pending"
    assert again(entry).released_at is None
    resumed = database_now()
    assert pausing.resume(owner(chat))
    released = again(entry).released_at
    assert released is not None
    assert resumed <= released <= database_now()
    left = (again(entry).expires_at - timezone.now()).total_seconds()
    assert left == pytest.approx(chat.patience_seconds, abs=30)
    assert leaves(chat) == [again(entry).pk]


@of_either
def test_the_claim_itself_asks_whether_it_is_paused(chat: Chat, owner: Owner) -> None:
    entry = make_sent(chat, state="pending").entry
    row = owner(chat)
    row.paused_at = timezone.now()
    row.save()
    assert again(entry).held == ""
    assert leaves(chat) == []


def test_a_pause_holds_the_models_recalls_and_gestures_too(chat: Chat) -> None:
    message = make_sent(chat)
    make_entry(message, action="recall", target=message.entry, content="")
    make_entry(chat=chat, action="poke", subject="30001")
    pausing.pause(chat)
    assert leaves(chat) == []


def test_other_chats_of_the_bot_go_on(chat: Chat) -> None:
    make_sent(chat, state="pending")
    other = make_sent(make_chat(chat.bot), state="pending").entry
    pausing.pause(chat)
    assert leaves(chat) == [again(other).pk]


def test_who_is_paused_and_muted_waits_for_the_end_of_both(chat: Chat) -> None:
    entry = make_sent(chat, state="pending").entry
    pausing.pause(chat)
    Chat.objects.update(silence_reason="muted")
    pausing.resume(chat)
    assert again(entry).held == "muted"
    Chat.objects.update(silence_reason="")
    standing.hold()
    assert leaves(chat) == [again(entry).pk]


@of_either
def test_what_is_asked_meanwhile_is_stored_costs_nothing_and_its_decision_says_why(
    chat: Chat, owner: Owner
) -> None:
    pausing.pause(owner(chat))
    make_item(chat, trigger="mention")
    assert judging.judge(fresh(chat), now=timezone.now()) is None
    decision = Decision.objects.get()
    assert (decision.verdict, decision.reason) == ("skip", "paused")
    assert not ModelCallCount.objects.exists()


def test_a_running_turn_pays_no_further_call(chat: Chat) -> None:
    lease = leases.claim(chat.pk, "worker:1")
    assert lease is not None
    turn = make_turn(chat, state="running")
    pausing.pause(chat)
    with transaction.atomic():
        journal.reserve_next(leases.hold(lease), turn)
    turn.refresh_from_db()
    assert (turn.state, turn.error) == ("failed", "paused")


def test_nothing_is_learned_either(chat: Chat) -> None:
    Chat.objects.update(sticker_learning=True)
    now = timezone.now()
    assert budgets.reserve(fresh(chat), now=now, purpose=budgets.Purpose.LEARNING) == ""
    pausing.pause(chat)
    assert budgets.reserve(fresh(chat), now=now, purpose=budgets.Purpose.LEARNING) == "paused"


def test_the_first_who_pauses_is_kept_and_a_second_is_told(chat: Chat) -> None:
    ann = User.objects.create(username="ann")
    assert pausing.pause(chat, by=ann, reason="  too loud ")
    assert not pausing.pause(chat, by=User.objects.create(username="ben"), reason="me too")
    kept = fresh(chat)
    assert (kept.paused_by, kept.pause_reason) == (ann, "too loud")
    assert pausing.resume(chat)
    assert not pausing.resume(chat)
    assert (fresh(chat).paused_at, fresh(chat).paused_by) == (None, None)
