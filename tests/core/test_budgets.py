"""The daily cap of model calls: never passed, whoever asks at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from core import budgets
from core.models import Chat, ModelCallCount
from tests.factories import make_bot, make_chat


@pytest.mark.django_db
def test_calls_are_granted_up_to_the_cap_and_counted() -> None:
    chat = make_chat(daily_model_calls=2)
    assert [budgets.reserve(chat, now=timezone.now()) for _ in range(4)] == [
        "",
        "",
        "budget_spent",
        "budget_spent",
    ]
    assert ModelCallCount.objects.get(chat=chat).calls == 2


@pytest.mark.django_db
def test_yesterdays_calls_do_not_count_today() -> None:
    chat = make_chat(daily_model_calls=1)
    ModelCallCount.objects.create(chat=chat, day="2020-01-01", calls=99)
    assert budgets.reserve(chat, now=timezone.now()) == ""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("bot", "chat", "reason"),
    [
        ({"enabled": False}, {}, "bot_disabled"),
        ({}, {"enabled": False}, "chat_disabled"),
        ({}, {"daily_model_calls": 0}, "budget_spent"),
        ({"is_logged_out": True}, {}, "logged_out"),
        ({}, {"silence_reason": "muted"}, "muted"),
    ],
)
def test_what_is_switched_off_silenced_or_has_no_budget_costs_nothing(
    bot: dict[str, bool], chat: dict[str, Any], reason: str
) -> None:
    made = make_chat(make_bot("10000", **bot), **chat)
    assert budgets.reserve(made, now=timezone.now()) == reason
    assert not ModelCallCount.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_never_pass_the_cap() -> None:
    chat = make_chat(daily_model_calls=10)

    def ask(_: int) -> str:
        try:
            return budgets.reserve(
                Chat.objects.select_related("bot").get(pk=chat.pk), now=timezone.now()
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as workers:
        answers = list(workers.map(ask, range(40)))
    assert answers.count("") == 10
    assert ModelCallCount.objects.get(chat=chat).calls == 10
