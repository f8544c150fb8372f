"""The daily cap of model calls: never passed, whoever asks at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from core import budgets
from core.models import Chat, ModelCallCount
from tests.factories import make_bot, make_chat

LEARNING = budgets.Purpose.LEARNING


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


def learning_chat(**fields: Any) -> Chat:
    return make_chat(sticker_learning=True, **fields)


def reserve(chat: Chat, calls: int = 1) -> str:
    return budgets.reserve(chat, now=timezone.now(), purpose=budgets.Purpose.LEARNING, calls=calls)


@pytest.mark.django_db
def test_learning_is_paid_where_the_chat_agreed_also_where_the_bot_may_not_speak() -> None:
    assert reserve(make_chat()) == budgets.NO_CONSENT
    assert reserve(learning_chat(silence_reason="muted")) == ""
    assert reserve(learning_chat(enabled=False)) == budgets.CHAT_DISABLED


@pytest.mark.django_db
def test_learning_and_conversation_have_budgets_of_their_own() -> None:
    chat = learning_chat(daily_model_calls=1, sticker_daily_calls=1)
    assert reserve(chat) == ""
    assert reserve(chat) == budgets.BUDGET_SPENT
    assert budgets.reserve(chat, now=timezone.now()) == ""


@pytest.mark.django_db
def test_calls_that_belong_together_are_granted_together_or_not_at_all() -> None:
    chat = learning_chat(sticker_daily_calls=3)
    assert [reserve(chat, 2), reserve(chat, 2)] == ["", budgets.BUDGET_SPENT]
    assert ModelCallCount.objects.get().calls == 2
    assert reserve(chat) == ""


@pytest.mark.django_db
def test_tokens_that_were_told_end_a_days_learning() -> None:
    chat = learning_chat(sticker_daily_tokens=1000)
    assert reserve(chat) == ""
    budgets.count_tokens(chat, purpose=LEARNING, reserved_at=timezone.now(), tokens=1000)
    assert reserve(chat) == budgets.BUDGET_SPENT
    assert budgets.is_spent(chat, purpose=budgets.Purpose.LEARNING)


@pytest.mark.django_db
def test_what_cost_nothing_is_given_back() -> None:
    chat = learning_chat(sticker_daily_calls=2)
    assert reserve(chat, 2) == ""
    now = timezone.now()
    budgets.give_back(chat, purpose=LEARNING, reserved_at=now, calls=2)
    assert ModelCallCount.objects.get().calls == 0
    budgets.give_back(chat, purpose=LEARNING, reserved_at=now)  # never below none
    assert ModelCallCount.objects.get().calls == 0


@pytest.mark.django_db
def test_what_was_reserved_before_midnight_is_settled_on_its_day(settings: Settings) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    chat = learning_chat(sticker_daily_calls=2, sticker_daily_tokens=1000)
    evening, morning = (datetime(2026, 5, 1, hour, 59, tzinfo=UTC) for hour in (15, 16))
    for now in (evening, morning):
        assert budgets.reserve(chat, now=now, purpose=LEARNING, calls=2) == ""
    budgets.give_back(chat, purpose=LEARNING, reserved_at=evening)
    budgets.count_tokens(chat, purpose=LEARNING, reserved_at=evening, tokens=7)
    rows = ModelCallCount.objects.order_by("day").values_list("day", "calls", "tokens")
    assert list(rows) == [(date(2026, 5, 1), 1, 7), (date(2026, 5, 2), 2, 0)]


def test_days_are_the_sites_also_for_a_person_who_lives_where_it_is_tomorrow() -> None:
    evening = datetime(2026, 3, 1, 20, 30, tzinfo=UTC)
    with time_machine.travel(evening, tick=False), timezone.override("Asia/Shanghai"):
        assert budgets.today() == evening.date()
