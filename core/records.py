"""Chats, items, turns and the Sent Log as scripts read them: the shapes of `--json`, nothing else.

Each function takes a queryset, puts it oldest first and yields one dict a row, with a number of
queries that does not grow with the rows. Ids are strings, times ISO 8601 in UTC, what is missing
is None or [].
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import JSONField, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject

from core import capabilities
from core.models import Chat, Decision, InboundItem, OutboxEntry, SentMessage, Turn

Record = dict[str, Any]
_CHUNK = 2000
# States that a message has only after it was there to be read.
_ARRIVED = {OutboxEntry.State.SENT, OutboxEntry.State.RECALLED}


def chats(queryset: QuerySet[Chat]) -> Iterator[Record]:
    """Chats with what operators set and what holds of it."""
    rows = capabilities.with_settings(queryset).order_by("pk")
    return map(chat_record, rows.iterator(chunk_size=_CHUNK))


def items(queryset: QuerySet[InboundItem]) -> Iterator[Record]:
    """What came in, each with the decision that covers it."""
    rows = queryset.select_related("chat").annotate(covering=covering_decision()).order_by("pk")
    return map(item_record, rows.iterator(chunk_size=_CHUNK))


def turns(queryset: QuerySet[Turn]) -> Iterator[Record]:
    """Turns in numbers; their context and tools stay in the database."""
    rows = queryset.select_related("chat").defer("messages", "tools").order_by("pk")
    return map(turn_record, rows.iterator(chunk_size=_CHUNK))


def sentlog(queryset: QuerySet[SentMessage]) -> Iterator[Record]:
    """The bot's own messages with the state of their current Outbox entry."""
    rows = queryset.select_related("chat", "entry").defer("entry__payload").order_by("pk")
    return map(sent_record, rows.iterator(chunk_size=_CHUNK))


def chat_record(chat: Chat) -> Record:
    """One chat; for another caller than `chats`, two more queries at most."""
    holds = capabilities.in_chat(chat)
    return {
        "bot": chat.bot.self_id,
        "chat": chat.key,
        "title": chat.title or None,
        "enabled": chat.enabled,
        "sticker_learning": chat.sticker_learning,
        "capabilities": holds.capabilities,
        "tags": holds.tags,
        "messages": chat.messages,
        "last_message_at": time(chat.last_message_at),
        "delivery_mode": chat.delivery_mode,
    }


def item_record(item: InboundItem) -> Record:
    """One item as `items` loads it."""
    decision: Mapping[str, str] = getattr(item, "covering", None) or {}
    return {
        "chat": item.chat.key,
        "kind": item.kind,
        "platform_message_id": item.platform_message_id or None,
        "sender_id": item.sender_id,
        "sender_name": item.sender_name or None,
        "text": item.text,
        "mentions": item.mentions,
        "mentions_bot": item.mentions_bot,
        "reply_to": item.reply_to or None,
        "target_id": item.target_id or None,
        "emoji": item.emoji,
        "removed": item.removed,
        "stickers": [data["id"] for data in _parts(item, "sticker") if data.get("id")],
        "images": [
            {"id": data.get("id") or None, "url": data.get("url") or None}
            for data in _parts(item, "image")
        ],
        "from_self": item.from_self,
        "recalled_at": time(item.recalled_at),
        "sent_at": time(item.sent_at),
        "received_at": time(item.received_at),
        "decision": decision.get("verdict"),
        "decision_reason": decision.get("reason"),
        "turn": _id(item.turn_id),
    }


def turn_record(turn: Turn) -> Record:
    """One turn as `turns` loads it."""
    return {
        "id": str(turn.pk),
        "chat": turn.chat.key,
        "state": turn.state,
        "trigger": turn.trigger,
        "model": turn.model,
        "steps": turn.steps,
        "sends": turn.sends,
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "started_at": time(turn.started_at),
        "ended_at": time(turn.ended_at),
        "error": turn.error or None,
    }


def sent_record(message: SentMessage) -> Record:
    """One message of the bot's own as `sentlog` loads it."""
    entry = message.entry
    arrived = entry is not None and entry.state in _ARRIVED
    return {
        "handle": message.handle,
        "chat": message.chat.key,
        "send_state": entry.state if entry else None,
        "reason": (entry.reason or None) if entry else None,
        "platform_message_id": (entry.platform_message_id or None) if entry else None,
        "content": entry.content if entry else "",
        "held": (entry.held or None) if entry else None,
        "kind": message.kind,
        "edits": message.edits,
        "created_at": time(message.created_at),
        "sent_at": time(entry.settled_at) if entry and arrived else None,
        "turn": _id(message.turn_id),
        "error": (entry.error or None) if entry else None,
    }


def time(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC with a Z, to the millisecond."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def covering_decision() -> Subquery:
    """An item's decision as {"verdict", "reason"}: the one whose range covers it, by the range's index."""
    covering = Decision.objects.filter(
        chat=OuterRef("chat"), first_item_id__lte=OuterRef("pk"), last_item_id__gte=OuterRef("pk")
    )
    return Subquery(
        covering.order_by("last_item_id").values(
            found=JSONObject(verdict="verdict", reason="reason")
        )[:1],
        output_field=JSONField(),
    )


def _parts(item: InboundItem, kind: str) -> list[Mapping[str, Any]]:
    return [part["data"] for part in item.parts if part["type"] == kind]


def _id(key: int | None) -> str | None:
    return None if key is None else str(key)
