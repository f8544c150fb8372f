"""From a wire event to the value that core takes in; dialects end here."""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.conf import settings

from botgateway import parts
from botgateway.clock import ConnectionClock
from botgateway.events import Event, MessageEvent, RecallEvent
from botgateway.fields import WireId
from core.messages import ChatAddress, Part, PlatformId, Recalled, Received, ReceivedItem


def received(event: Event, *, bot_id: int, self_id: str, clock: ConnectionClock) -> Received | None:
    """What core takes in of an event: an item to store, the news of a recall, or nothing."""
    if isinstance(event, RecallEvent):
        return _recalled(event, bot_id=bot_id, self_id=self_id, clock=clock)
    return received_item(event, bot_id=bot_id, self_id=self_id, clock=clock)


def _recalled(
    event: RecallEvent, *, bot_id: int, self_id: str, clock: ConnectionClock
) -> Recalled | None:
    """In a private chat everybody recalls his own; the notice names the other person, or in some
    the bot itself, and then not the chat."""
    peer = event.peer_id or event.user_id
    chat_id = event.group_id or (peer if peer is not None and peer.value != self_id else None)
    if event.message_id is None or chat_id is None:
        return None
    is_group = event.group_id is not None
    return Recalled(
        bot_id=bot_id,
        chat=ChatAddress("group" if is_group else "private", _platform_id(chat_id)),
        message_id=_platform_id(event.message_id),
        by_bot=not is_group or (event.actor_id is not None and event.actor_id.value == self_id),
        received_at=clock.received_at(),
    )


def received_item(
    event: Event, *, bot_id: int, self_id: str, clock: ConnectionClock
) -> ReceivedItem | None:
    """The item to store, or None for what is not stored.

    Stored are messages of groups and private chats whose chat and sender are known; an own message
    has `from_self`. `self_id` is the connection's account, since an event's own may be missing.
    """
    if not isinstance(event, MessageEvent) or event.chat_id is None or event.user_id is None:
        return None
    received_at = clock.received_at()
    pieces = parts.from_segments(event.segments)
    sent_at = received_at if event.time is None else datetime.fromtimestamp(event.time, UTC)
    return ReceivedItem(
        bot_id=bot_id,
        chat=_chat(event),
        kind="message",
        sender_id=event.user_id.value,
        sent_at=sent_at,
        received_at=received_at,
        message_id=_platform_id(event.message_id) if event.message_id else None,
        sequence=event.sequence[:64],
        sender_name=event.sender_name,
        sender_role=event.sender_role,
        parts=pieces,
        mentions_bot=_mentions(pieces, self_id),
        reply_to=parts.reply_to(event.segments),
        from_self=event.is_own or event.user_id.value == self_id,
        is_old=clock.is_old(event.time, settings.ARISE_STALE_SECONDS),
    )


def _chat(event: MessageEvent) -> ChatAddress:
    assert event.chat_id is not None  # noqa: S101 - told to the type checker
    address = {"group_id": event.via_group.wire()} if event.via_group else {}
    peer_name = "" if event.is_own else event.sender_name
    title = event.group_name if event.kind == "group" else peer_name
    return ChatAddress(event.kind, _platform_id(event.chat_id), title, address)


def _platform_id(wire: WireId) -> PlatformId:
    return PlatformId(wire.value, wire.is_number)


def _mentions(pieces: Sequence[Part], self_id: str) -> bool:
    return any(piece.type == "mention" and piece.data["id"] == self_id for piece in pieces)
