"""Rows for tests: plain functions, each making what it needs and taking any field by name."""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from botgateway.models import Connection, RefusedConnection
from core.capabilities import CAPABILITIES, TAGS, Effective, Holding, Platform
from core.models import (
    Bot,
    Chat,
    Decision,
    InboundItem,
    Member,
    OutboxEntry,
    SentMessage,
    ToolCall,
    Turn,
    TurnStep,
)
from skills import store
from skills.models import Skill

_numbers = itertools.count(1)


def make_bot(self_id: str = "", **fields: Any) -> Bot:
    """A bot; its account is a number of its own unless one is given."""
    return Bot.objects.create(self_id=self_id or str(10_000 + next(_numbers)), **fields)


def make_chat(bot: Bot | None = None, **fields: Any) -> Chat:
    """A group (`kind="private"` for a person) of `bot`, or of a new bot."""
    fields.setdefault("kind", Chat.Kind.GROUP)
    fields.setdefault("external_id", str(20_000 + next(_numbers)))
    return Chat.objects.create(bot=bot or make_bot(), **fields)


def make_member(chat: Chat | None = None, **fields: Any) -> Member:
    """Somebody seen in a chat."""
    fields.setdefault("user_id", str(30_000 + next(_numbers)))
    fields.setdefault("name", "Ann")
    fields.setdefault("last_seen_at", timezone.now())
    return Member.objects.create(chat=chat or make_chat(), **fields)


def make_item(chat: Chat | None = None, text: str = "hello", **fields: Any) -> InboundItem:
    """A message of a chat, said now; the chat's own counters are left alone."""
    chat = chat or make_chat()
    now: datetime = fields.pop("received_at", None) or timezone.now()
    fields.setdefault("kind", InboundItem.Kind.MESSAGE)
    fields.setdefault("platform_message_id", str(next(_numbers)))
    fields.setdefault("sender_id", "30001")
    fields.setdefault("sender_name", "Ann")
    fields.setdefault("parts", [{"type": "text", "data": {"text": text}}] if text else [])
    fields.setdefault("sent_at", now)
    return InboundItem.objects.create(
        bot_id=chat.bot_id, chat=chat, text=text, received_at=now, **fields
    )


def make_decision(items: Sequence[InboundItem], verdict: str = "answer", **fields: Any) -> Decision:
    """A decision over items of one chat, from the first to the last."""
    fields.setdefault("reason", "mention" if verdict == "answer" else "not_addressed")
    return Decision.objects.create(
        chat=items[0].chat,
        verdict=verdict,
        first_item_id=items[0].pk,
        last_item_id=items[-1].pk,
        **fields,
    )


def make_turn(chat: Chat | None = None, **fields: Any) -> Turn:
    """A turn that is done; `state="running"` for one under way."""
    fields.setdefault("state", Turn.State.DONE)
    fields.setdefault("trigger", "mention")
    fields.setdefault("model", "test-model")
    fields.setdefault("first_item_id", 1)
    fields.setdefault("last_item_id", 1)
    if fields["state"] != Turn.State.RUNNING:
        fields.setdefault("ended_at", timezone.now())
    return Turn.objects.create(chat=chat or make_chat(), **fields)


def make_step(turn: Turn | None = None, index: int = 0, **fields: Any) -> TurnStep:
    """A committed step of a turn."""
    fields.setdefault("started_at", timezone.now())
    fields.setdefault("answer", {"role": "assistant", "content": None})
    return TurnStep.objects.create(turn=turn or make_turn(), index=index, **fields)


def make_call(step: TurnStep | None = None, index: int = 0, **fields: Any) -> ToolCall:
    """A tool call of a step: `send_message` that was accepted, unless said otherwise."""
    fields.setdefault("call_id", f"call_{next(_numbers)}")
    fields.setdefault("name", "send_message")
    fields.setdefault("arguments", '{"content": "hi"}')
    fields.setdefault("result", {"ok": True, "handle": "m1"})
    return ToolCall.objects.create(step=step or make_step(), index=index, **fields)


def make_entry(message: SentMessage | None = None, **fields: Any) -> OutboxEntry:
    """An Outbox entry: the send of `message`, pending and due now, unless said otherwise.

    With a message and no `chat` or `turn`, those are the message's.
    """
    now = timezone.now()
    chat: Chat = fields.pop("chat", None) or (message.chat if message else make_chat())
    if message:
        fields.setdefault("turn", message.turn)
    content = fields.setdefault("content", "hi" if message else "")
    fields.setdefault("parts", [{"type": "text", "data": {"text": content}}] if content else [])
    # One entry a tool call: a number of its own keeps several entries of one turn apart.
    fields.setdefault("call_index", next(_numbers))
    fields.setdefault("action", OutboxEntry.Action.SEND)
    fields.setdefault("due_at", now)
    fields.setdefault("expires_at", now + timedelta(seconds=chat.patience_seconds))
    fields.setdefault("created_at", now)
    return OutboxEntry.objects.create(bot_id=chat.bot_id, chat=chat, message=message, **fields)


def make_sent(
    chat: Chat | None = None,
    content: str = "hi",
    state: str = "sent",
    *,
    entry: dict[str, Any] | None = None,
    **fields: Any,
) -> SentMessage:
    """A message of the bot's own with its current entry in `state`; `entry` has the entry's fields.

    What was sent or sent and recalled was claimed just now, and has a platform id.
    """
    chat = chat or make_chat()
    fields.setdefault("handle", f"m{next(_numbers)}")
    fields.setdefault("created_at", timezone.now())
    message = SentMessage.objects.create(chat=chat, **fields)
    settled = state not in {"pending", "sending"}
    made = {"content": content, "settled_at": timezone.now() if settled else None, **(entry or {})}
    if state in {"sent", "recalled"}:
        made.setdefault("platform_message_id", str(next(_numbers)))
    if state not in {"pending", "discarded"}:
        made.setdefault("sending_at", timezone.now())
    message.entry = make_entry(message, state=state, **made)
    message.save(update_fields=["entry"])
    return message


def make_connection(bot: Bot | None = None, **fields: Any) -> Connection:
    """An open Universal connection of a bot; `closed_at` for one that is over."""
    fields.setdefault("role", Connection.Role.UNIVERSAL)
    fields.setdefault("process", "host:1")
    return Connection.objects.create(bot=bot or make_bot(), **fields)


def make_refusal(**fields: Any) -> RefusedConnection:
    """A handshake that was refused once, just now."""
    fields.setdefault("self_id", str(10_000 + next(_numbers)))
    fields.setdefault("reason", RefusedConnection.Reason.WRONG_TOKEN)
    fields.setdefault("remote_address", "127.0.0.1")
    fields.setdefault("last_at", timezone.now())
    return RefusedConnection.objects.create(**fields)


def make_effective(*names: str) -> Effective:
    """What holds in a chat: the named capabilities and tags (`tag.user`), nothing else."""
    known = (*CAPABILITIES, *(f"tag.{tag}" for tag in TAGS))
    return Effective({name: Holding(name in names) for name in known}, Platform())


def make_skill(name: str = "", body: str = "Be kind.", **fields: Any) -> Skill:
    """A skill of all chats with its first version; `for_all_chats=False` for one of none yet."""
    fields.setdefault("description", "What to do.")
    skill = Skill(name=name or f"skill {next(_numbers)}", body=body, **fields)
    store.save(skill)
    return skill
