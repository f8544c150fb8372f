"""The tools with which the model speaks, or decides not to."""

from django.conf import settings
from pydantic import Field

from core import outbox
from core.errors import ToolRefusal
from core.tools.registry import Arguments, Tool, ToolContext, ToolResult, register

LONGEST_MESSAGE = 4000


class SendMessage(Arguments):
    content: str = Field(description="What to say, as plain text; one message of the chat.")


class StaySilent(Arguments):
    reason: str = Field(description="Why nothing is said, for the operator.")


def send_message(context: ToolContext, arguments: SendMessage) -> ToolResult:
    """Write one message to the Outbox; the model gets its handle at once, its outcome later."""
    if not arguments.content.strip():
        raise ToolRefusal("empty_message", "The message has no text, so nothing was sent.")
    if len(arguments.content) > LONGEST_MESSAGE:
        raise ToolRefusal(
            "too_long",
            f"The message has {len(arguments.content)} characters; the longest may have "
            f"{LONGEST_MESSAGE}. Nothing was sent.",
        )
    if context.turn.sends >= settings.ARISE_MAX_SENDS_PER_TURN:
        raise ToolRefusal(
            "send_budget_spent",
            f"This turn has sent its {settings.ARISE_MAX_SENDS_PER_TURN} messages; "
            "this one was not sent. End the turn.",
        )
    message = outbox.write_text(
        context.chat,
        context.turn,
        step_index=context.step_index,
        call_index=context.call_index,
        now=context.now,
        text=arguments.content,
    )
    context.turn.sends += 1
    return ToolResult({"handle": message.handle})


def stay_silent(context: ToolContext, arguments: StaySilent) -> ToolResult:
    """End the turn with nothing more said."""
    context.turn.silence_reason = arguments.reason
    return ToolResult({}, ends_turn=True)


def load() -> None:
    """Register the built-in tools; called once, when the app is ready."""
    register(
        Tool(
            name="send_message",
            description="Say something in the chat. Call it once for each message.",
            arguments=SendMessage,
            apply=send_message,
        )
    )
    register(
        Tool(
            name="stay_silent",
            description="Say nothing (more) and end here.",
            arguments=StaySilent,
            apply=stay_silent,
        )
    )
