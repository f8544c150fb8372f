"""From a notice to what core takes in: what people did, and news of a group and of who is in it.

The bot's own gestures are nothing that happened to it, so they end here.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings

from botgateway.clock import ConnectionClock
from botgateway.events import (
    BanEvent,
    CardEvent,
    GroupAdminEvent,
    MemberEvent,
    NoticeEvent,
    PokeEvent,
    ReactionEvent,
    RecallEvent,
)
from botgateway.fields import WireId
from core.messages import (
    BotNews,
    ChatAddress,
    MemberNews,
    PlatformId,
    Recalled,
    Received,
    ReceivedItem,
)


@dataclass(frozen=True, slots=True)
class Side:
    """On whose connection a notice came: the bot, its account as events name it, its clock."""

    bot_id: int
    self_id: str
    clock: ConnectionClock

    def is_bot(self, user: WireId | None) -> bool:
        return user is not None and user.value == self.self_id


def platform_id(wire: WireId) -> PlatformId:
    return PlatformId(wire.value, wire.is_number)


def received(event: NoticeEvent, side: Side) -> Received | None:
    """An item for a poke or a reaction, news for what changes a chat, None for all else."""
    match event:
        case PokeEvent() | ReactionEvent():
            return _interaction(event, side)
        case RecallEvent():
            return _recalled(event, side)
        case BanEvent() | MemberEvent() | GroupAdminEvent() | CardEvent():
            return _group_news(event, side)
        case _:
            return None


def _interaction(event: PokeEvent | ReactionEvent, side: Side) -> ReceivedItem | None:
    chat, actor = _chat(event), event.actor_id
    if chat is None or actor is None or side.is_bot(actor):
        return None
    received_at = side.clock.received_at()
    is_poke = isinstance(event, PokeEvent)
    target = event.target_id if isinstance(event, PokeEvent) else event.message_id
    emoji, removed = ((), False) if isinstance(event, PokeEvent) else (event.emoji, event.removed)
    if not is_poke and not emoji:
        return None
    return ReceivedItem(
        bot_id=side.bot_id,
        chat=chat,
        kind="poke" if is_poke else "reaction",
        sender_id=actor.value,
        sent_at=received_at if event.time is None else datetime.fromtimestamp(event.time, UTC),
        received_at=received_at,
        target_id=target.value if target else "",
        is_at_bot=is_poke and side.is_bot(target),
        emoji=emoji,
        removed=removed,
        is_old=side.clock.is_old(event.time, settings.ARISE_STALE_SECONDS),
    )


def _chat(event: NoticeEvent) -> ChatAddress | None:
    if event.group_id is not None:
        return ChatAddress("group", platform_id(event.group_id))
    return ChatAddress("private", platform_id(event.peer_id)) if event.peer_id else None


def _recalled(event: RecallEvent, side: Side) -> Recalled | None:
    """In a private chat everybody recalls his own; the notice names the other person, or in some
    the bot itself, and then not the chat."""
    chat = _chat(event)
    is_private = event.group_id is None
    if event.message_id is None or chat is None or (is_private and side.is_bot(event.peer_id)):
        return None
    return Recalled(
        bot_id=side.bot_id,
        chat=chat,
        message_id=platform_id(event.message_id),
        by_bot=is_private or side.is_bot(event.actor_id),
        received_at=side.clock.received_at(),
    )


def _group_news(
    event: BanEvent | MemberEvent | GroupAdminEvent | CardEvent, side: Side
) -> BotNews | MemberNews | None:
    if event.group_id is None:
        return None
    chat = ChatAddress("group", platform_id(event.group_id))
    if isinstance(event, BanEvent):
        return _mute(event, chat, side)
    if isinstance(event, MemberEvent) and (event.is_chat_gone or side.is_bot(event.user_id)):
        return BotNews(side.bot_id, chat, silence="removed", is_over=event.joined)
    if event.user_id is None:
        return None
    is_bot, user_id = side.is_bot(event.user_id), event.user_id.value
    match event:
        case MemberEvent():
            return MemberNews(side.bot_id, chat, user_id, is_here=event.joined)
        case GroupAdminEvent():
            role = "member" if event.removed else "admin"
            if is_bot:
                return BotNews(side.bot_id, chat, role=role)
            return MemberNews(side.bot_id, chat, user_id, role=role)
        case CardEvent():
            if is_bot or not event.card:
                return None
            return MemberNews(side.bot_id, chat, user_id, name=event.card)


def _mute(event: BanEvent, chat: ChatAddress, side: Side) -> BotNews | None:
    """A mute of the bot or of the whole group. One that is told late ends no later for it."""
    if event.user_id is None:
        return BotNews(side.bot_id, chat, silence="whole_group_muted", is_over=event.lifted)
    if not side.is_bot(event.user_id):
        return None
    seconds = event.duration_seconds
    left = None if seconds is None else seconds - _age(event, side.clock)
    return BotNews(side.bot_id, chat, silence="muted", is_over=event.lifted, seconds=left)


def _age(event: NoticeEvent, clock: ConnectionClock) -> float:
    return 0.0 if event.time is None else max(0.0, clock.platform_now() - event.time)
