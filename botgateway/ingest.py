"""From a message to the value that core takes in; dialects end here."""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.conf import settings

from botgateway import notices, parts
from botgateway.clock import ConnectionClock
from botgateway.events import Event, MessageEvent, NoticeEvent
from botgateway.notices import Side, platform_id
from core.messages import ChatAddress, Part, Received, ReceivedItem


def received(event: Event, *, bot_id: int, self_id: str, clock: ConnectionClock) -> Received | None:
    """What core takes in of an event: an item to store, news of a chat, or nothing."""
    if isinstance(event, NoticeEvent):
        return notices.received(event, Side(bot_id, self_id, clock))
    return received_item(event, bot_id=bot_id, self_id=self_id, clock=clock)


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
        message_id=platform_id(event.message_id) if event.message_id else None,
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
    return ChatAddress(event.kind, platform_id(event.chat_id), title, address)


def _mentions(pieces: Sequence[Part], self_id: str) -> bool:
    return any(piece.type == "mention" and piece.data["id"] == self_id for piece in pieces)
