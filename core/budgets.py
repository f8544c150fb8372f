"""Where a paid call is allowed: the one door that every model call passes."""

from datetime import date

from django.db import connection
from django.utils import timezone

from core.models import Chat, ModelCallCount

CHAT_DISABLED = "chat_disabled"
BOT_DISABLED = "bot_disabled"
BUDGET_SPENT = "budget_spent"


def today() -> date:
    """The day that budgets count by, in the site's time zone."""
    return timezone.localdate()


def refusal(chat: Chat) -> str:
    """Why no model call may be paid for this chat now, or the empty string. Reserves nothing."""
    if not chat.bot.enabled:
        return BOT_DISABLED
    if not chat.enabled:
        return CHAT_DISABLED
    spent = ModelCallCount.objects.filter(chat=chat, day=today()).values_list("calls", flat=True)
    if (spent.first() or 0) >= chat.daily_model_calls:
        return BUDGET_SPENT
    return ""


def reserve(chat: Chat) -> str:
    """Reserve one model call for today; the reason where it is refused, else the empty string.

    One statement compares and counts, so that many workers at once never pass the cap.
    """
    reason = refusal(chat)
    if reason:
        return reason
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO core_modelcallcount AS counted (chat_id, day, calls) VALUES (%s, %s, 1)
            ON CONFLICT (chat_id, day) DO UPDATE SET calls = counted.calls + 1
            WHERE counted.calls < %s
            """,
            [chat.pk, today(), chat.daily_model_calls],
        )
        return "" if cursor.rowcount else BUDGET_SPENT
