"""One turn at a time per chat, and nothing committed by a worker whose lease was taken over."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from core import leases
from core.errors import LeaseLost
from core.leases import Lease
from core.models import Chat
from tests.factories import make_chat

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return make_chat(turn_due_at=timezone.now() - timedelta(seconds=1))


def claim(chat: Chat) -> Lease:
    lease = leases.claim(chat.pk, "a worker")
    assert lease is not None
    return lease


def lapse(chat: Chat) -> None:
    Chat.objects.filter(pk=chat.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_due_chat_is_claimed_once(chat: Chat) -> None:
    claim(chat)
    assert leases.claim(chat.pk, "another worker") is None


@pytest.mark.parametrize("due_at", [None, timezone.now() + timedelta(hours=1)])
def test_a_chat_that_is_not_due_is_not_claimed(due_at: object) -> None:
    assert leases.claim(make_chat(turn_due_at=due_at).pk, "a worker") is None


def test_a_lapsed_lease_is_taken_over_and_its_token_rises(chat: Chat) -> None:
    first = claim(chat)
    lapse(chat)
    assert claim(chat).token == first.token + 1


def test_whoever_was_taken_over_can_hold_nothing_any_more(chat: Chat) -> None:
    stale = claim(chat)
    lapse(chat)
    fresh = claim(chat)
    with pytest.raises(LeaseLost), transaction.atomic():
        leases.hold(stale)
    with transaction.atomic():
        assert leases.hold(fresh).chat == chat


def test_a_lapsed_lease_that_nobody_took_still_holds(chat: Chat) -> None:
    lease = claim(chat)
    lapse(chat)
    with transaction.atomic():
        assert leases.hold(lease).chat == chat


def test_a_released_lease_is_free_at_once(chat: Chat) -> None:
    leases.release(claim(chat))
    claim(chat)


def test_a_stale_release_frees_nothing(chat: Chat) -> None:
    stale = claim(chat)
    lapse(chat)
    claim(chat)
    leases.release(stale)
    assert leases.claim(chat.pk, "a third worker") is None


def test_only_leases_that_are_still_ours_are_extended(chat: Chat) -> None:
    other = make_chat(turn_due_at=timezone.now() - timedelta(seconds=1))
    ours, stale = claim(chat), claim(other)
    lapse(other)
    claim(other)
    lapse(chat)
    lapse(other)
    with leases.kept(ours), leases.kept(stale):
        leases.extend_held()
    chat.refresh_from_db()
    other.refresh_from_db()
    now = timezone.now()
    assert chat.lease_until is not None
    assert other.lease_until is not None
    assert chat.lease_until > now > other.lease_until
    assert leases.held() == []


def test_what_failed_is_given_back_with_the_next_heartbeat(chat: Chat) -> None:
    with pytest.raises(ZeroDivisionError), leases.kept(claim(chat)):
        raise ZeroDivisionError
    assert leases.claim(chat.pk, "another worker") is None
    leases.extend_held()
    claim(chat)
