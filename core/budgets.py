"""Where a paid call is allowed: the one door that every model call passes."""

import logging
from datetime import date, datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection
from django.db.models import F
from django.utils import timezone

from core import standing
from core.models import Chat, ModelCallCount

logger = logging.getLogger(__name__)
CHAT_DISABLED = "chat_disabled"
BOT_DISABLED = "bot_disabled"
BUDGET_SPENT = "budget_spent"
NO_CONSENT = "learning_off"
Purpose = ModelCallCount.Purpose
COUNTS_KEPT = timedelta(days=366)
"""Counts of days, here and in other apps, are read for some weeks at most."""
_MOST_TOKENS = 2**63 - 1


def today() -> date:
    """The day that budgets count by, in the site's time zone."""
    return _day(timezone.now())


def reserve(chat: Chat, *, now: datetime, purpose: Purpose = Purpose.CHAT, calls: int = 1) -> str:
    """Reserve model calls for the day of `now`, all of them or none; why it is refused, or the empty string
    where it is not.

    Nothing is paid for where the bot may not speak; to learn it needs the chat's consent instead.

    One statement compares and counts, so that many workers at once never pass the cap. A call that
    is reserved and then not made (its worker died) stays counted.
    """
    if refused := _refused(chat, purpose, now):
        return refused
    most_calls, most_tokens = _caps(chat, purpose)
    if calls > most_calls or not most_tokens:
        return BUDGET_SPENT
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO core_modelcallcount AS counted (chat_id, day, purpose, calls, tokens)
            VALUES (%(chat)s, %(day)s, %(purpose)s, %(calls)s, 0)
            ON CONFLICT (chat_id, day, purpose) DO UPDATE SET calls = counted.calls + %(calls)s
            WHERE counted.calls + %(calls)s <= %(most_calls)s AND counted.tokens < %(most_tokens)s
            """,
            {
                "chat": chat.pk,
                "day": _day(now),
                "purpose": purpose,
                "calls": calls,
                "most_calls": most_calls,
                "most_tokens": most_tokens,
            },
        )
        return "" if cursor.rowcount else BUDGET_SPENT


def is_spent(chat: Chat, *, purpose: Purpose) -> bool:
    """Whether today's budget is plainly spent, so that nothing need be prepared for a call. Only
    `reserve` allows one."""
    most_calls, most_tokens = _caps(chat, purpose)
    calls, tokens = spent_today(chat, purpose=purpose)
    return calls >= most_calls or tokens >= most_tokens


def reserve_by_hand(*, by: AbstractBaseUser | None) -> None:
    """Let an operator's own click pay for one model call that is for no chat. Who may click is a
    matter of rights; it counts against no chat's budget, and is kept in the log."""
    logger.info("a model call by hand: %s", by or "a command")


def spent_today(chat: Chat, *, purpose: Purpose) -> tuple[int, int]:
    """The calls and the tokens that a chat has used today."""
    rows = ModelCallCount.objects.filter(chat=chat, day=today(), purpose=purpose)
    return rows.values_list("calls", "tokens").first() or (0, 0)


def give_back(chat: Chat, *, purpose: Purpose, reserved_at: datetime, calls: int = 1) -> None:
    """Take back the reservation of calls that surely cost nothing, from its own day."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE core_modelcallcount SET calls = greatest(0, calls - %s)"
            " WHERE chat_id = %s AND day = %s AND purpose = %s",
            [calls, chat.pk, _day(reserved_at), purpose],
        )


def count_tokens(chat: Chat, *, purpose: Purpose, reserved_at: datetime, tokens: int) -> None:
    """Add the tokens that an answered call told, prompt and completion together, to the day of its
    reservation."""
    day = _day(reserved_at)
    ModelCallCount.objects.filter(chat=chat, day=day, purpose=purpose).update(
        tokens=F("tokens") + tokens
    )


def _day(moment: datetime) -> date:
    """In the site's zone, also where a person's own one is active: all count the same days."""
    return timezone.localdate(moment, timezone.get_default_timezone())


def _refused(chat: Chat, purpose: Purpose, now: datetime) -> str:
    if not chat.bot.enabled:
        return BOT_DISABLED
    if not chat.enabled:
        return CHAT_DISABLED
    if purpose == Purpose.LEARNING and not standing.is_paused(chat):
        return "" if chat.sticker_learning else NO_CONSENT
    return standing.silence(chat, now=now)


def _caps(chat: Chat, purpose: Purpose) -> tuple[int, int]:
    """The most calls and tokens of a day."""
    if purpose == Purpose.LEARNING:
        return chat.sticker_daily_calls, chat.sticker_daily_tokens
    return chat.daily_model_calls, _MOST_TOKENS
