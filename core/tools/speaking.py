"""The tools with which the model speaks, or decides not to."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from pydantic import Field, model_validator

from core import capabilities, outbox, rendering, stickers, tags
from core.errors import ToolRefusal
from core.models import Chat
from core.outbox import Words
from core.toolcalls import Place, ToolContext
from core.tools import references, voice
from core.tools.references import Purpose
from core.tools.registry import Arguments, Identifier, Tool, ToolResult, register
from core.tools.voice import Spoken

LONGEST_MESSAGE = 4000
QUOTED = Purpose("quoted", unknown="unknown_quote", not_sent="quote_not_sent")
STICKER_NOTE = "With a sticker: its words, sent only if it can't be; may be empty."
NOT_SPOKEN = Spoken(None, "It goes out as text: it was not spoken.")


class SendMessage(Arguments):
    content: str = Field(description="What to say, as plain text; one message of the chat.")
    quote: Identifier | None = Field(
        default=None,
        description="The id of a message of this chat, or the handle of one of your own, that this "
        "answers: people see it quoted.",
    )
    voice: bool = Field(
        default=False, description="Whether people hear the content, as one voice message."
    )
    sticker: str = Field(
        default="", description="The ref of a sticker, which is sent as this message."
    )

    @model_validator(mode="before")
    @classmethod
    def _needs_no_words(cls, given: Any) -> Any:
        """A sticker says something without words."""
        if isinstance(given, dict) and given.get("sticker"):
            return {"content": "", **given}
        return given


class StaySilent(Arguments):
    reason: str = Field(description="Why nothing is said, for the operator.")


def send_message(context: ToolContext, arguments: SendMessage) -> ToolResult:
    """Write one message to the Outbox; the model gets its handle at once, its outcome later."""
    if arguments.sticker:
        return _send_sticker(context, arguments)
    words = _words(context, arguments)
    take_send(context)
    if not arguments.voice:
        return ToolResult({"handle": outbox.write_text(context, words).handle})
    spoken: Spoken = context.prepared or NOT_SPOKEN
    if spoken.recording is None:
        handle = outbox.write_text(context, words).handle
        return ToolResult({"handle": handle, "voice": False, "note": spoken.note})
    handle = outbox.write_voice(context, words, spoken.recording).handle
    note = {"note": "A voice message quotes nothing."} if arguments.quote else {}
    return ToolResult({"handle": handle, "voice": True, **note})


def _send_sticker(context: ToolContext, arguments: SendMessage) -> ToolResult:
    """Write a sticker of this chat or of the catalogue to the Outbox."""
    sticker = stickers.find(context.chat, arguments.sticker)
    if sticker is None:
        raise ToolRefusal(
            "unknown_sticker",
            "No sticker that you may send in this chat has this ref; nothing was done.",
        )
    said = arguments.content.strip()
    words = _words(context, arguments) if said else Words("", _quote(context, arguments))
    take_send(context)
    handle = outbox.write_sticker(context, words, sticker).handle
    if arguments.quote and sticker.market_face:
        note = "Where the platform has it as a face of its own, it quotes nothing."
        return ToolResult({"handle": handle, "note": note})
    return ToolResult({"handle": handle})


def make_ready(context: ToolContext, arguments: SendMessage) -> Spoken | None:
    """Have a voice message spoken, which is paid for: only words that may be said, and only while
    the turn has messages left."""
    if arguments.sticker and arguments.voice:
        raise ToolRefusal(
            "sticker_or_voice",
            "A message is a sticker or a voice message, not both; nothing was done.",
        )
    words = _words(context, arguments) if arguments.voice else None
    if context.turn.sends >= settings.ARISE_MAX_SENDS_PER_TURN:
        return None
    spoken = voice.speak(context, words) if words else None
    context.turn.sends += 1
    return spoken


def checked_words(place: Place, text: str) -> Words:
    """What may be said, its tags rendered: something, and not too much of it."""
    if not text.strip():
        raise ToolRefusal("empty_message", "The message has no text, so nothing was done.")
    if len(text) > LONGEST_MESSAGE:
        raise ToolRefusal(
            "too_long",
            f"The message has {len(text)} characters; the longest may have {LONGEST_MESSAGE}. "
            "Nothing was done.",
        )
    effective = capabilities.in_chat(place.chat)
    parts = rendering.parts(text, rendering.renderers(place.chat, effective))
    if not parts:
        raise ToolRefusal(
            "empty_message",
            "Nothing is left of the message: its tags do not work here. Nothing was done.",
        )
    return Words(text, parts)


def _words(context: ToolContext, arguments: SendMessage) -> Words:
    """What may be said, under the message that it is to quote."""
    words = checked_words(context, arguments.content)
    return Words(words.text, [*_quote(context, arguments), *words.parts])


def _quote(context: ToolContext, arguments: SendMessage) -> list[dict[str, Any]]:
    """The part that quotes what a message is to quote; none where it quotes nothing."""
    if not arguments.quote:
        return []
    quoted = references.message(context, arguments.quote, QUOTED)
    return [{"type": "reply", "data": {"id": quoted.value}}]


def tag_hint(chat: Chat, effective: capabilities.Effective) -> str:
    """What a schema tells of the tags that work in a chat; empty where none does."""
    return tags.hint(rendering.renderers(chat, effective))


def take_send(context: ToolContext) -> None:
    """Take one from the turn's send budget; refused where none is left."""
    if context.turn.sends >= settings.ARISE_MAX_SENDS_PER_TURN:
        raise ToolRefusal(
            "send_budget_spent",
            f"This turn has sent its {settings.ARISE_MAX_SENDS_PER_TURN} messages; "
            "this one was not sent. End the turn.",
        )
    context.turn.sends += 1


def stay_silent(context: ToolContext, arguments: StaySilent) -> ToolResult:
    """End the turn with nothing more said."""
    context.turn.silence_reason = arguments.reason
    return ToolResult({}, ends_turn=True)


def _fit_send(chat: Chat, effective: capabilities.Effective) -> Tool:
    holds = effective.capabilities
    without = {name for name in ("quote", "sticker", "voice") if not holds[name]}
    if not stickers.are_there():
        without.add("sticker")
    hints = ["" if "sticker" in without else STICKER_NOTE, tag_hint(chat, effective)]
    notes = {"content": " ".join(filter(None, hints))}
    return replace(SEND_MESSAGE, notes=notes, without=frozenset(without))


SEND_MESSAGE = Tool(
    name="send_message",
    description="Say something in the chat. Call it once for each message.",
    arguments=SendMessage,
    apply=send_message,
    fit=_fit_send,
    prepare=make_ready,
)
STAY_SILENT = Tool(
    name="stay_silent",
    description="Say nothing (more) and end here.",
    arguments=StaySilent,
    apply=stay_silent,
)


def load() -> None:
    """Register the built-in tools; called once, when the app is ready."""
    register(SEND_MESSAGE)
    register(STAY_SILENT)
