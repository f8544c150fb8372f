"""Chats that are filled through the real doors, and a look through the whole database."""

import json
import re
import time
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from core import inbound, journal, judging, leases, turns
from core.journal import Answered
from core.leases import Lease
from core.llm.types import Answer, ToolCallRequest
from core.messages import ChatAddress, Part, PlatformId, Received, ReceivedItem
from core.models import Bot, Chat, InboundItem, Turn

_TEXTS = """
SELECT table_name, column_name FROM information_schema.columns
 WHERE table_schema = 'public'
   AND (data_type IN ('text', 'character varying', 'jsonb', 'ARRAY', 'bytea'))
"""


def places_of(*words: str) -> set[str]:
    """The columns of the whole database, `table.column`, in which one of these words stands by
    itself, also as JSON or bytes have it."""
    spelled = {*words, *(json.dumps(word)[1:-1] for word in words)}
    pattern = "|".join(rf"(^|[^0-9A-Za-z]){re.escape(word)}([^0-9A-Za-z]|$)" for word in spelled)
    # Bytes are shown in hexadecimal; a short word may stand in them by chance.
    pattern += "".join(f"|{word.encode().hex()}" for word in words if len(word) > 5)
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS)
        for table, column in cursor.fetchall():
            cursor.execute(
                f'SELECT EXISTS (SELECT 1 FROM "{table}" WHERE "{column}"::text ~ %s)',  # noqa: S608
                [pattern],
            )
            if cursor.fetchone()[0]:
                found.add(f"{table}.{column}")
    return found


def at(bot: Bot, key: str, title: str = "") -> tuple[Bot, ChatAddress]:
    """A place: `group:20001` of a bot."""
    kind, _colon, external_id = key.partition(":")
    assert kind in ("group", "private")
    return bot, ChatAddress(kind, PlatformId(external_id), title)  # type: ignore[arg-type]


def says(
    place: tuple[Bot, ChatAddress],
    who: tuple[str, str],
    text: str = "",
    *parts: Part,
    number: int = 0,
    **fields: Any,
) -> ReceivedItem:
    """A message as a host received it; `who` is (account, name)."""
    bot, address = place
    now = timezone.now()
    given = {"kind": "message", "sent_at": now, "received_at": now, **fields}
    return ReceivedItem(
        bot_id=bot.pk,
        chat=address,
        sender_id=who[0],
        sender_name=who[1],
        message_id=PlatformId(str(number)) if number else None,
        parts=(Part("text", {"text": text}), *parts) if text else parts,
        **given,
    )


def store(*received: Received) -> None:
    """Let it in, a transaction for each, as it comes in."""
    for one in received:
        inbound.receive([one])


def item(number: int) -> InboundItem:
    """The item with that message id."""
    return InboundItem.objects.get(platform_message_id=str(number))


def chat_of(place: tuple[Bot, ChatAddress]) -> Chat:
    bot, address = place
    return Chat.objects.select_related("bot").get(
        bot=bot, kind=address.kind, external_id=address.external_id.value
    )


def begin(chat: Chat) -> tuple[Lease, Turn]:
    """A turn over what the chat gathered, right before its model is asked."""
    Chat.objects.filter(pk=chat.pk).update(turn_due_at=timezone.now())
    lease = leases.claim(chat.pk, "worker:1")
    assert lease is not None
    turn = turns._open(lease)
    assert turn is not None
    return lease, turn


def commit(lease: Lease, turn: Turn, *calls: tuple[str, dict[str, Any]], text: str = "") -> None:
    """A step of it in which the model makes these calls, and says `text` outside of them."""
    asked = tuple(
        ToolCallRequest(f"call_{index}", name, json.dumps(arguments))
        for index, (name, arguments) in enumerate(calls)
    )
    message = {
        "role": "assistant",
        "content": text,
        "tool_calls": [
            {"id": one.id, "function": {"name": one.name, "arguments": one.arguments}}
            for one in asked
        ],
    }
    answer = Answer(message, text, asked, "tool_calls", prompt_tokens=100, completion_tokens=10)
    with transaction.atomic():
        held = leases.hold(lease)
        answered = Answered(answer, judging.allowed(held.chat, turn), timezone.now())
        journal.commit_step(held, turn, answered)


def answers(chat: Chat, *calls: tuple[str, dict[str, Any]], silence: str = "no") -> Turn:
    """A whole turn of two steps, the second one silent."""
    lease, turn = begin(chat)
    commit(lease, turn, *calls)
    commit(lease, turn, ("stay_silent", {"reason": silence}))
    turn.refresh_from_db()
    assert turn.ended_at is not None
    return turn


def wait_until_somebody_waits() -> None:
    """Until another connection waits for a lock, which this one has."""
    end = time.monotonic() + 10
    with connection.cursor() as cursor:
        while time.monotonic() < end:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits")
