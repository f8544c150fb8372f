"""The door out: what is to be done on the platform, durable, in order per chat.

Send-state lives here alone and only moves forward; each move is one compare-and-set, so that of
two who try the same move one wins. Sending is the host's work: it claims, sends, and settles.
"""

import json
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Q

from core.database import ClockTimestamp, database_now
from core.models import Chat, OutboxEntry, SentMessage, Turn

logger = logging.getLogger(__name__)
State = OutboxEntry.State


def write_text(
    chat: Chat, turn: Turn, *, step_index: int, call_index: int, now: datetime, text: str
) -> SentMessage:
    """Write a message of the bot's own: a Sent Log row with a new handle, and its pending entry.

    Runs in the step's transaction, with the chat's row locked (leases.hold) at `now`; the caller
    saves the chat's `next_handle`. The entry is due at the later of now and the message before it,
    plus the typing time of its characters.
    """
    message = SentMessage.objects.create(
        chat=chat, turn=turn, handle=f"m{chat.next_handle}", content=text, created_at=now
    )
    chat.next_handle += 1
    sends = OutboxEntry.objects.filter(chat=chat, action=OutboxEntry.Action.SEND)
    before_due_at = sends.order_by("-pk").values_list("due_at", flat=True).first()
    message.entry = OutboxEntry.objects.create(
        bot=chat.bot,
        chat=chat,
        message=message,
        turn=turn,
        step_index=step_index,
        call_index=call_index,
        action=OutboxEntry.Action.SEND,
        parts=[{"type": "text", "data": {"text": text}}],
        due_at=max(now, before_due_at or now) + typing_time(text),
        draft_until=now + timedelta(seconds=settings.ARISE_DRAFT_SECONDS),
        expires_at=now + timedelta(seconds=chat.patience_seconds),
        created_at=now,
    )
    message.save(update_fields=["entry"])
    return message


def typing_time(text: str) -> timedelta:
    """How long a person would type it: ARISE_SEND_PACE seconds a character, bounded."""
    seconds = min(settings.ARISE_SEND_PACE * len(text), settings.ARISE_SEND_PACE_MAX_SECONDS)
    return timedelta(seconds=seconds)


def release_drafts(turn: Turn, *, before_step: int | None = None) -> None:
    """Let go of the turn's messages that waited for its next step: those of steps before
    `before_step`, all of them where the turn has ended."""
    drafts = OutboxEntry.objects.filter(turn=turn, state=State.PENDING, draft_until__isnull=False)
    if before_step is not None:
        drafts = drafts.filter(step_index__lt=before_step)
    drafts.update(draft_until=None)


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry that this connection alone is to send now. `parts` as core.messages has them."""

    entry_id: int
    chat_kind: str
    chat_external_id: str
    chat_external_id_is_number: bool
    address: dict[str, Any]
    parts: list[dict[str, Any]]


CLAIM = """
WITH lane AS (
    SELECT DISTINCT ON (chat_id) id, state
      FROM core_outboxentry
     WHERE bot_id = %(bot)s
       AND (state IN ('pending', 'sending')
            OR state = 'unknown' AND settled_at > clock_timestamp() - make_interval(secs => %(settle)s))
     ORDER BY chat_id, id
), head AS (
    SELECT entry.id
      FROM core_outboxentry entry
      JOIN lane ON lane.id = entry.id AND lane.state = 'pending'
      JOIN core_chat chat ON chat.id = entry.chat_id AND chat.enabled
      JOIN core_bot bot ON bot.id = entry.bot_id AND bot.enabled
                       AND bot.connection_number = %(connection)s
     WHERE entry.state = 'pending' AND entry.held = ''
       AND entry.due_at <= clock_timestamp() AND entry.expires_at > clock_timestamp()
       AND (entry.draft_until IS NULL OR entry.draft_until <= clock_timestamp())
     ORDER BY entry.id LIMIT %(limit)s
       FOR UPDATE OF entry SKIP LOCKED
)
UPDATE core_outboxentry entry
   SET state = 'sending', sending_at = clock_timestamp(), connection_number = %(connection)s
  FROM head, core_chat chat
 WHERE entry.id = head.id AND entry.state = 'pending' AND chat.id = entry.chat_id
RETURNING entry.id, chat.kind, chat.external_id, chat.external_id_is_number,
          chat.address::text, entry.parts::text
"""


def claim(bot_id: int, connection_number: int, *, limit: int = 50) -> list[Claimed]:
    """Move the due heads of the bot's chats from pending to sending, for this connection.

    One open send a chat: a chat whose earlier entry is being sent, or is unknown for less than
    ARISE_SETTLE_SECONDS, has no head. Only the bot's live connection gets anything.
    """
    # One statement claims and reads: what was claimed unread would be `sending` with no sender.
    with connection.cursor() as cursor:
        cursor.execute(
            CLAIM,
            {
                "bot": bot_id,
                "connection": connection_number,
                "settle": settings.ARISE_SETTLE_SECONDS,
                "limit": limit,
            },
        )
        return [
            Claimed(entry_id, kind, external_id, is_number, json.loads(address), json.loads(parts))
            for entry_id, kind, external_id, is_number, address, parts in cursor.fetchall()
        ]


def next_look(bot_ids: list[int]) -> dict[int, float]:
    """For each of these bots with something pending: seconds until it may be due (0: look now)."""
    if not bot_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT bot_id, GREATEST(0, EXTRACT(EPOCH FROM
                   min(GREATEST(due_at, coalesce(draft_until, due_at))) - clock_timestamp()))
              FROM core_outboxentry
             WHERE state = 'pending' AND held = '' AND bot_id = ANY(%s)
             GROUP BY bot_id
            """,
            [bot_ids],
        )
        return {bot_id: float(seconds) for bot_id, seconds in cursor.fetchall()}


def is_of_bot(entry_id: int, bot_id: int) -> bool:
    """Whether an entry is in this bot's Outbox."""
    return OutboxEntry.objects.filter(pk=entry_id, bot=bot_id).exists()


def hand_back(entry_id: int, connection_number: int) -> bool:
    """sending → pending, by the owner that never handed the frame to the server."""
    return bool(
        OutboxEntry.objects.filter(
            pk=entry_id, state=State.SENDING, connection_number=connection_number
        ).update(state=State.PENDING, sending_at=None, connection_number=None)
    )


def mark_sent(entry_id: int, *, message_id: str, is_number: bool) -> bool:
    """sending | unknown → sent, with the platform's id (empty where it told none)."""
    return _settle(
        Q(pk=entry_id, state__in=(State.SENDING, State.UNKNOWN)),
        state=State.SENT,
        platform_message_id=message_id,
        platform_message_id_is_number=is_number,
    )


def mark_failed(entry_id: int, *, reason: str, error: str) -> bool:
    """sending | unknown → failed: the platform surely did not send it."""
    states = (State.SENDING, State.UNKNOWN)
    return _settle(Q(pk=entry_id, state__in=states), state=State.FAILED, reason=reason, error=error)


def mark_unknown(entry_id: int, *, reason: str, error: str = "") -> bool:
    """sending → unknown: it may have been sent, so it is never sent again by itself."""
    return _settle(
        Q(pk=entry_id, state=State.SENDING), state=State.UNKNOWN, reason=reason, error=error
    )


def _settle(which: Q, **values: Any) -> bool:
    values.setdefault("reason", "")
    return bool(OutboxEntry.objects.filter(which).update(settled_at=ClockTimestamp(), **values))


def orphans_become_unknown(bot_id: int, connection_number: int) -> int:
    """Entries that an earlier connection of the bot was sending: nobody will tell how they ended."""
    return OutboxEntry.objects.filter(
        bot_id=bot_id, state=State.SENDING, connection_number__lt=connection_number
    ).update(state=State.UNKNOWN, reason="connection_lost", settled_at=database_now(), error="")


def sweep() -> None:
    """Discard what may not be sent any more, and settle what nobody is waiting for any more."""
    now = database_now()
    pending = OutboxEntry.objects.filter(state=State.PENDING)
    expired = pending.filter(expires_at__lte=now).update(
        state=State.DISCARDED, reason="expired", settled_at=now
    )
    closed = pending.filter(chat__enabled=False).update(
        state=State.DISCARDED, reason="chat_disabled", settled_at=now
    )
    closed += pending.filter(bot__enabled=False).update(
        state=State.DISCARDED, reason="bot_disabled", settled_at=now
    )
    lost = OutboxEntry.objects.filter(
        state=State.SENDING,
        sending_at__lt=now - timedelta(seconds=2 * settings.ARISE_SEND_TIMEOUT_SECONDS + 30),
    ).update(state=State.UNKNOWN, reason="sender_lost", settled_at=now)
    if expired or closed or lost:
        logger.warning(
            "Outbox: %d expired, %d of switched-off chats or bots, %d lost", expired, closed, lost
        )


def take_echo(chat: Chat, *, message_id: str, is_number: bool, text: str) -> bool:
    """Whether something that the bot's account said is a message that the Outbox sent.

    By its id where the answer came before the echo; else by its text while the answer is out. For
    an entry whose outcome is unknown it is the evidence that it was sent.
    """
    entries = OutboxEntry.objects.filter(chat=chat)
    if message_id and entries.filter(platform_message_id=message_id).exists():
        return True
    open_states = (State.SENDING, State.UNKNOWN)
    entry = entries.filter(state__in=open_states, message__content=text).order_by("pk").first()
    if entry is None:
        return False
    if entry.state == State.UNKNOWN:
        mark_sent(entry.pk, message_id=message_id, is_number=is_number)
    return True
