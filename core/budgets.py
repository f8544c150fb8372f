"""Where a paid call is allowed: the one door that every model call passes."""

from datetime import date, datetime

from django.db import connection
from django.utils import timezone

from core import standing
from core.models import Chat

CHAT_DISABLED = "chat_disabled"
BOT_DISABLED = "bot_disabled"
BUDGET_SPENT = "budget_spent"


def today() -> date:
    """The day that budgets count by, in the site's time zone."""
    return timezone.localdate()


def reserve(chat: Chat, *, now: datetime) -> str:
    """Reserve one model call for today; why it is refused, or the empty string where it is not.

    Nothing is paid for where the bot may not speak.

    One statement compares and counts, so that many workers at once never pass the cap. A call that
    is reserved and then not made (its worker died) stays counted.
    """
    if not chat.bot.enabled:
        return BOT_DISABLED
    if not chat.enabled:
        return CHAT_DISABLED
    if silence := standing.silence(chat, now=now):
        return silence
    if not chat.daily_model_calls:
        return BUDGET_SPENT
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
