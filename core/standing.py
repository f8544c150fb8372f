"""The bot's own standing in a chat: its role, and whether it may speak there at all.

A bot that is muted, put out, logged out or paused costs no model call (core.budgets asks here), and what
its Outbox has for the chat is held until it may speak again. A mute that ends by itself is over as
soon as its time is: times are compared, nothing has to happen.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import connection

from core.messages import BotNews
from core.models import Bot, Chat

PAUSED = "paused"
REVIEW = "review"
SHADOW = "shadow"
MUTED = "muted"
WHOLE_GROUP_MUTED = "whole_group_muted"
REMOVED = "removed"
LOGGED_OUT = "logged_out"
REASONS = ("", REVIEW, SHADOW, PAUSED, MUTED, WHOLE_GROUP_MUTED, REMOVED, LOGGED_OUT)
"""What `held` of an entry is set to here; empty: nothing holds it."""
LONGEST = timedelta(days=366)
"""A silence that is told to last longer is asked about, or told of, again by then."""
ADMINISTRATORS = ("owner", "admin")
"""Roles that a mute of the whole group does not concern."""


def silence(chat: Chat, *, now: datetime) -> str:
    """Why the bot may not speak in a chat now; the empty string where it may."""
    if is_paused(chat):
        return PAUSED
    if chat.bot.is_logged_out:
        return LOGGED_OUT
    is_over = chat.silenced_until is not None and chat.silenced_until <= now
    return "" if is_over or _is_excepted(chat) else chat.silence_reason


def is_paused(chat: Chat) -> bool:
    """Whether an operator paused the chat, or its bot."""
    return chat.paused_at is not None or chat.bot.paused_at is not None


def _is_excepted(chat: Chat) -> bool:
    """Kept all the same: an administrator may be one no more before the mute is lifted."""
    return chat.silence_reason == WHOLE_GROUP_MUTED and chat.bot_role in ADMINISTRATORS


def apply(chat: Chat, news: BotNews, *, now: datetime) -> None:
    """Take in news of the bot's place in a chat whose row is locked."""
    before = (chat.bot_role, chat.silence_reason, chat.silenced_until)
    chat.bot_role = news.role[:20] or chat.bot_role
    if news.silence and not news.is_over:
        _begin(chat, news.silence, news.seconds, now)
    elif news.silence == chat.silence_reason:
        _end(chat)
    if (chat.bot_role, chat.silence_reason, chat.silenced_until) != before:
        chat.save(update_fields=["bot_role", "silence_reason", "silenced_until"])


def heard(chat: Chat) -> None:
    """Somebody spoke, so that the bot is there: what it is put out of it does not hear."""
    if chat.silence_reason == REMOVED:
        _end(chat)
        chat.save(update_fields=["silence_reason", "silenced_until"])


def is_whole_group_muted(bot_id: int, group_id: str) -> bool:
    """Whether a group of the bot is known as muted as a whole."""
    chats = Chat.objects.filter(bot=bot_id, kind=Chat.Kind.GROUP, external_id=group_id)
    return chats.filter(silence_reason=WHOLE_GROUP_MUTED).exists()


def _begin(chat: Chat, reason: str, seconds: float | None, now: datetime) -> None:
    if reason == MUTED and chat.silence_reason == WHOLE_GROUP_MUTED and not _is_excepted(chat):
        return  # that one has no end of its own; the host asks again when it is lifted
    if reason == REMOVED:
        chat.bot_role = ""  # whoever comes back is what he is told to be then
    chat.silence_reason = reason
    if seconds is None:
        chat.silenced_until = None
    else:
        # Bounded as a number: a time beyond the calendar's end can't even be written down.
        chat.silenced_until = now + timedelta(seconds=min(seconds, LONGEST.total_seconds()))


def _end(chat: Chat) -> None:
    chat.silence_reason, chat.silenced_until = "", None


def keep_login(bot_id: int, *, is_logged_out: bool) -> None:
    """Keep whether the platform has the bot's account logged out; written where it changes."""
    Bot.objects.filter(pk=bot_id).exclude(is_logged_out=is_logged_out).update(
        is_logged_out=is_logged_out
    )


_UNSEEN = "{0}.approved_at IS NULL AND (chat.delivery_mode = 'review' OR {0}.held = 'review')"
_WITH_NEXT = """EXISTS (SELECT 1 FROM core_outboxentry resend
                 WHERE resend.waits_for_id = entry.id AND resend.state = 'pending'{0})"""
_BY_ITSELF = f"(entry.action = 'recall' AND NOT {_WITH_NEXT.format('')})"

HELD_BY = f"""
    CASE WHEN chat.delivery_mode = 'shadow' THEN 'shadow'
         WHEN entry.action <> 'recall' AND {_UNSEEN.format("entry")} THEN 'review'
         WHEN entry.action = 'recall'
              AND {_WITH_NEXT.format(" AND " + _UNSEEN.format("resend"))} THEN 'review'
         WHEN (chat.paused_at IS NOT NULL OR bot.paused_at IS NOT NULL)
              AND NOT (entry.by_hand AND {_BY_ITSELF}) THEN 'paused'
         WHEN bot.is_logged_out THEN 'logged_out'
         WHEN chat.silenced_until <= clock_timestamp() THEN ''
         WHEN chat.silence_reason = 'whole_group_muted' AND chat.bot_role IN ('owner', 'admin') THEN ''
         WHEN entry.action = 'recall' AND chat.silence_reason <> 'removed' THEN ''
         ELSE chat.silence_reason END
"""
"""Why `entry` of `chat` of `bot` may not leave now, in SQL. Who is muted may still take back, and an
operator may while he has the bot paused. What waits for review stays held, whatever the chat's mode
becomes; a recall says nothing, so it waits only with the words that it makes room for."""

HOLD = f"""
WITH moved AS (
    SELECT entry.id, {HELD_BY} AS held, chat.patience_seconds
      FROM core_outboxentry entry
      JOIN core_chat chat ON chat.id = entry.chat_id
      JOIN core_bot bot ON bot.id = entry.bot_id
     WHERE entry.state = 'pending' AND entry.held = ANY(%s) AND entry.held <> {HELD_BY}
     ORDER BY entry.id FOR UPDATE OF entry SKIP LOCKED
)
UPDATE core_outboxentry entry
   SET held = moved.held,
       released_at = CASE WHEN moved.held <> '' THEN entry.released_at ELSE clock_timestamp() END,
       expires_at = CASE WHEN moved.held <> '' OR entry.action = 'recall' THEN entry.expires_at
                         ELSE clock_timestamp() + make_interval(secs => moved.patience_seconds) END
  FROM moved WHERE entry.id = moved.id
"""  # noqa: S608 - of constants alone


HOLDING = f"""
SELECT entry.id, {HELD_BY}, bot.enabled, chat.enabled
  FROM core_outboxentry entry
  JOIN core_chat chat ON chat.id = entry.chat_id
  JOIN core_bot bot ON bot.id = entry.bot_id
 WHERE entry.id = ANY(%s) AND entry.state = 'pending'
"""  # noqa: S608 - of constants alone


def holding(entry_ids: Iterable[int]) -> dict[int, tuple[str, bool, bool]]:
    """Of these entries those that are pending: why each may not leave at this moment (the empty string
    where it may), and whether its bot and its chat are enabled. One query."""
    with connection.cursor() as cursor:
        cursor.execute(HOLDING, [list(entry_ids)])
        return {key: (held, of_bot, of_chat) for key, held, of_bot, of_chat in cursor.fetchall()}


def hold() -> None:
    """Mark the pending entries that may not leave with the reason, and let go of those that may
    again: their patience counts from now, but a recall's time is the platform's."""
    with connection.cursor() as cursor:
        cursor.execute(HOLD, [list(REASONS)])
