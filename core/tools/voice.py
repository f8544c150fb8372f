"""Speaking aloud: the words of a message as a recording, paid for before its step is committed.

Where it can't be made the words go out as text, and everybody concerned is told.
"""

import logging
from dataclasses import dataclass

from django.conf import settings

from core import budgets
from core.database import database_now, give_back
from core.errors import ModelFailure, ToolRefusal
from core.llm import client
from core.models import Chat
from core.outbox import Words
from core.toolcalls import ToolContext

logger = logging.getLogger(__name__)
LONGEST_SPOKEN = 500


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording, or why there is none, as the model and the operator are told."""

    recording: bytes | None
    note: str = ""


def speak(context: ToolContext, words: Words) -> Spoken:
    """Have a message's words spoken; refused, with nothing paid, where they can't be.

    Runs before the step's transaction, and holds no connection while it waits.
    """
    spoken = _aloud(words)
    # As it is now: the chat may have been switched off while the model thought.
    chat = Chat.objects.select_related("bot").get(pk=context.chat.pk)
    if refused := budgets.reserve(chat, now=database_now()):
        return _not_spoken(context, refused, "no paid call is allowed now")
    give_back()
    try:
        recording = client.speak(
            model=settings.ARISE_TTS_MODEL, voice=settings.ARISE_TTS_VOICE, words=spoken
        )
    except ModelFailure as failure:
        return _not_spoken(context, failure.code, failure.detail)
    return Spoken(recording)


def _aloud(words: Words) -> str:
    """What is spoken of a message: its text, and the names of those whom it mentions."""
    pieces = [
        part["data"]["text"] if part["type"] == "text" else part["data"].get("name", "")
        for part in words.parts
        if part["type"] in ("text", "mention")
    ]
    spoken = "".join(map(str, pieces)).strip()
    if not spoken:
        raise ToolRefusal(
            "empty_message", "Nothing in the message can be spoken, so nothing was done."
        )
    if len(spoken) > LONGEST_SPOKEN:
        raise ToolRefusal(
            "too_long_for_voice",
            f"The message has {len(spoken)} characters; a voice message may have {LONGEST_SPOKEN}. "
            "Nothing was done: say less, or write it.",
        )
    return spoken


def _not_spoken(context: ToolContext, code: str, detail: str) -> Spoken:
    turn_id = context.turn.pk
    logger.warning("turn %s: a message goes out as text, not voice: %s: %s", turn_id, code, detail)
    return Spoken(None, f"It goes out as text: it could not be spoken ({code}).")
