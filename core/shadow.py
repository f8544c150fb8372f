"""Shadow: a chat in which the bot takes whole turns and nothing leaves.

What it wants to say or do ends as discarded, with the reason `shadow`, in the moment in which it is
written; what waited when the chat was switched, then. In the chat's contexts it counts as said and
done, changes and all, for as long as the chat is in shadow. Nothing of it can leave later: discarded
is where a state ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from core.models import Chat, DeliveryMode, OutboxEntry, SentMessage
from core.standing import SHADOW

Action = OutboxEntry.Action
State = OutboxEntry.State


def is_on(chat: Chat) -> bool:
    """Whether a chat is in shadow."""
    return chat.delivery_mode == DeliveryMode.SHADOW


def is_shadow(entry: OutboxEntry) -> bool:
    """Whether an entry ended in shadow."""
    return entry.state == State.DISCARDED and entry.reason == SHADOW


def written(now: datetime) -> dict[str, Any]:
    """How an entry stands that is written in a chat in shadow: the model needs not be told."""
    return {
        "state": State.DISCARDED,
        "reason": SHADOW,
        "told_state": State.DISCARDED,
        "due_at": now,
        "draft_until": None,
        "settled_at": now,
    }


SETTLE = """
UPDATE core_outboxentry entry
   SET state = 'discarded', reason = 'shadow', told_state = 'discarded', held = '',
       draft_until = NULL, settled_at = clock_timestamp()
  FROM core_chat chat
 WHERE chat.id = entry.chat_id AND chat.delivery_mode = 'shadow' AND entry.state = 'pending'
   AND (%(bot)s::bigint IS NULL OR entry.bot_id = %(bot)s)
   AND (%(chat)s::bigint IS NULL OR entry.chat_id = %(chat)s)
"""


def settle(*, bot_id: int | None = None, chat_id: int | None = None) -> int:
    """pending → discarded, of all that waits in chats in shadow: of one bot, of one chat, or of all."""
    with connection.cursor() as cursor:
        cursor.execute(SETTLE, {"bot": bot_id, "chat": chat_id})
        settled: int = cursor.rowcount
        return settled


@dataclass(frozen=True, slots=True)
class Imagined:
    """How one of the bot's messages stands in the shadow conversation: what it says there (None: what
    it says anyway), whether it was taken back there, and how often it was changed there alone."""

    content: str | None
    is_recalled: bool
    edits: int


def imagined(messages: Iterable[SentMessage]) -> dict[int, Imagined]:
    """Those of some messages (with their entries) that the shadow made, changed or took back, by their
    keys: one query. What it made of a message that was really said since then counts no more."""
    current = {message.pk: message.entry_id or 0 for message in messages}
    entries = OutboxEntry.objects.filter(message__in=current, reason=SHADOW).order_by("pk")
    found: dict[int, Imagined] = {}
    told = entries.filter(state=State.DISCARDED, message__isnull=False)
    for message_id, pk, action, content in told.values_list(
        "message_id", "pk", "action", "content"
    ):
        if pk < current[message_id]:
            continue
        before = found.get(message_id, Imagined(None, False, 0))
        if action == Action.RECALL:
            found[message_id] = Imagined(before.content, True, before.edits)
        else:
            edits = before.edits + (pk > current[message_id])
            found[message_id] = Imagined(content, False, edits)
    return found


def of(message: SentMessage) -> Imagined | None:
    """The same of one message; None where the shadow has nothing to do with it."""
    return imagined([message]).get(message.pk)
