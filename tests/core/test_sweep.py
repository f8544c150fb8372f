"""A look at Postgres once a second finds what is due, whatever the broker lost."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from core import sweep
from core.models import Chat
from tests.factories import make_chat

pytestmark = pytest.mark.django_db


def ago(seconds: float) -> datetime:
    return timezone.now() - timedelta(seconds=seconds)


def test_a_due_chat_is_found_and_not_again_for_five_seconds() -> None:
    chat = make_chat(turn_due_at=ago(1))
    assert sweep.due_chats() == [chat.pk]
    assert sweep.due_chats() == []
    Chat.objects.update(hinted_at=ago(6))
    assert sweep.due_chats() == [chat.pk]


def test_chats_that_are_not_due_or_have_a_worker_are_left_alone() -> None:
    make_chat(turn_due_at=None)
    make_chat(turn_due_at=ago(-60))
    make_chat(turn_due_at=ago(1), lease_until=ago(-10))
    lapsed = make_chat(turn_due_at=ago(1), lease_until=ago(1))
    assert sweep.due_chats() == [lapsed.pk]


def test_the_longest_due_come_first_where_there_are_many() -> None:
    chats = [make_chat(turn_due_at=ago(seconds)) for seconds in (1, 3, 2)]
    assert sweep.due_chats(limit=1) == [chats[1].pk]
