"""The tools with which the model does something without words: pokes, reactions, profile likes.

They have a budget of their own, and the same gesture at the same target waits: neither two bots nor
a playful member make it go on for ever.
"""

from django.conf import settings
from pydantic import Field

from core import emoji, outbox
from core.errors import ToolRefusal
from core.messages import PlatformId
from core.models import OutboxEntry
from core.toolcalls import ToolContext
from core.tools import references
from core.tools.references import Purpose
from core.tools.registry import Arguments, Identifier, Tool, ToolResult, register

Action = OutboxEntry.Action
REACTED_TO = Purpose("reacted to", unknown="unknown_message", not_sent="message_not_sent")


class Poke(Arguments):
    user_id: Identifier = Field(
        description="The sender id of whom you poke, somebody of this chat."
    )


class React(Arguments):
    message_id: Identifier = Field(
        description="The id of a message of this chat, or the handle of one of your own."
    )
    emoji: Identifier = Field(
        description="One emoji, its code point (U+1F44D), or the number of a QQ face."
    )


class LikeProfile(Arguments):
    user_id: Identifier = Field(description="The sender id of somebody of this chat.")


def poke_send(context: ToolContext, arguments: Poke) -> ToolResult:
    """Poke somebody of the chat."""
    return _do(context, Action.POKE, references.person(context, arguments.user_id))


def reaction_send(context: ToolContext, arguments: React) -> ToolResult:
    """Put an emoji under a message of the chat."""
    target = references.message(context, arguments.message_id, REACTED_TO)
    canonical = emoji.canonical(arguments.emoji)
    if canonical is None:
        raise ToolRefusal(
            "bad_emoji",
            "Only one plain emoji or QQ face can be put under a message: no flag, no skin tone, "
            "nothing joined, no text. Nothing was done.",
        )
    return _do(context, Action.REACTION, target, emoji=canonical)


def like_profile(context: ToolContext, arguments: LikeProfile) -> ToolResult:
    """Like the profile of somebody of the chat."""
    return _do(context, Action.LIKE, references.person(context, arguments.user_id))


def _do(context: ToolContext, action: Action, target: PlatformId, **described: str) -> ToolResult:
    if context.turn.gestures >= settings.ARISE_MAX_GESTURES_PER_TURN:
        raise ToolRefusal(
            "gesture_budget_spent",
            f"This turn has made its {settings.ARISE_MAX_GESTURES_PER_TURN} gestures; "
            "this one was not made.",
        )
    if outbox.is_cooling_down(context, action, target):
        raise ToolRefusal(
            "cooling_down",
            "You did just that a moment ago; it may be done once in "
            f"{settings.ARISE_GESTURE_COOLDOWN_SECONDS:g} s. This one was not made.",
        )
    context.turn.gestures += 1
    outbox.gesture(context, action, target, **described)
    return ToolResult({})


TOOLS = (
    Tool(
        name="poke_send",
        description="Poke somebody of this chat.",
        arguments=Poke,
        apply=poke_send,
        capability="poke_send",
    ),
    Tool(
        name="reaction_send",
        description="Put an emoji under a message, as people do where words would be too much.",
        arguments=React,
        apply=reaction_send,
        capability="reaction_send",
    ),
    Tool(
        name="like_profile",
        description="Like the profile of somebody of this chat.",
        arguments=LikeProfile,
        apply=like_profile,
        capability="profile_like",
    ),
)


def load() -> None:
    """Register these tools; called once, when the app is ready."""
    for tool in TOOLS:
        register(tool)
