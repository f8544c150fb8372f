"""Who and what a tool call may be about: somebody of this chat, a message of this chat, nothing else.

Whatever can't be resolved is refused here, so that no call of the platform is made for it.
"""

from dataclasses import dataclass

from core import evidence, shadow
from core.errors import ToolRefusal
from core.messages import PlatformId
from core.models import Chat, InboundItem, Member, OutboxEntry, SentMessage
from core.toolcalls import ToolContext

State = OutboxEntry.State


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a message is named for: `done` in a sentence, and the codes of two refusals."""

    done: str
    unknown: str
    not_sent: str


def person(context: ToolContext, user_id: str) -> PlatformId:
    """Somebody else of the chat, who has not left it."""
    chat = context.chat
    if user_id == chat.bot.self_id:
        raise ToolRefusal("not_yourself", "That is your own account; nothing was done.")
    if not _is_here(chat, user_id):
        raise ToolRefusal("unknown_user", "Nobody of this chat has this user id; nothing was done.")
    # Chats and people have ids of one kind: a sender's is kept as text alone.
    looks_like_number = user_id.isascii() and user_id.isdecimal()
    return PlatformId(user_id, chat.external_id_is_number and looks_like_number)


def _is_here(chat: Chat, user_id: str) -> bool:
    if chat.kind == Chat.Kind.PRIVATE:
        return user_id == chat.external_id
    return Member.objects.filter(chat=chat, user_id=user_id, left_at=None).exists()


def message(context: ToolContext, reference: str, purpose: Purpose) -> PlatformId:
    """The platform's id of a message of the chat that stands there: somebody's by its id, the bot's
    own by its handle (or, as people quote it, its id)."""
    own = SentMessage.objects.filter(chat=context.chat, handle=reference).first()
    if own is not None and shadow.is_on(context.chat) and (there := shadow.of(own)):
        return _in_shadow(own, there, purpose)
    if own is not None:
        return _own(OutboxEntry.objects.get(current_of=own), own.handle, purpose)
    items = InboundItem.objects.filter(chat=context.chat, kind=InboundItem.Kind.MESSAGE)
    item = (
        items.filter(platform_message_id=reference).order_by("-pk").first() if reference else None
    )
    if item is not None and item.recalled_at is None:
        return PlatformId(item.platform_message_id, item.platform_message_id_is_number)
    if item is not None:
        raise ToolRefusal("message_recalled", f"It was taken back, so it can't be {purpose.done}.")
    entry = evidence.is_own_word(context.chat, reference) if reference else None
    if entry is None:
        raise ToolRefusal(
            purpose.unknown,
            "No message of this chat has this id or handle; nothing was done.",
        )
    return PlatformId(entry.platform_message_id, entry.platform_message_id_is_number)


def _in_shadow(own: SentMessage, there: shadow.Imagined, purpose: Purpose) -> PlatformId:
    """A message that stands in the shadow conversation; nothing leaves, so its handle will do."""
    if there.is_recalled:
        raise ToolRefusal(
            "message_recalled", f"{own.handle} was taken back, so it can't be {purpose.done}."
        )
    return PlatformId(own.handle, is_number=False)


def _own(entry: OutboxEntry, handle: str, purpose: Purpose) -> PlatformId:
    if entry.state == State.RECALLED:
        raise ToolRefusal(
            "message_recalled", f"{handle} was taken back, so it can't be {purpose.done}."
        )
    if entry.state != State.SENT:
        raise ToolRefusal(
            purpose.not_sent,
            f"{handle} is {entry.state}, not sent, so it can't be {purpose.done}.",
        )
    if not entry.platform_message_id:
        raise ToolRefusal(
            "no_message_id", f"The platform told no id of {handle}, so it can't be {purpose.done}."
        )
    return PlatformId(entry.platform_message_id, entry.platform_message_id_is_number)
