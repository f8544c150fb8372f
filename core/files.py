"""Files that the bot sends: content, never a path; named cleanly; not the same one again at once."""

import hashlib
from datetime import timedelta

from core import outbox
from core.models import OutboxEntry, SentMessage
from core.outbox import Words
from core.toolcalls import ToolContext

SAME_AGAIN = timedelta(minutes=10)
State = OutboxEntry.State
THERE = (State.PENDING, State.SENDING, State.SENT, State.UNKNOWN)


def write(context: ToolContext, *, name: str, sentence: str, payload: bytes) -> SentMessage:
    """Write a file to the Outbox as a message of the bot's own. `sentence` is what the Sent Log and
    later contexts say of it: what is in the file stays in the file."""
    part = {"type": "file", "data": {"name": name, "sha256": _digest(payload)}}
    return outbox.write_file(context, Words(sentence, [part], payload))


def wrote_one(context: ToolContext) -> bool:
    """Whether this tool call has written something already: one call sends one thing."""
    return OutboxEntry.objects.filter(
        turn=context.turn,
        step_index=context.step_index,
        call_index=context.call_index,
        action=OutboxEntry.Action.SEND,
    ).exists()


def already_there(context: ToolContext, *, name: str, payload: bytes) -> SentMessage | None:
    """The message that lately put the same file into this chat, where there is one."""
    entries = OutboxEntry.objects.filter(
        chat=context.chat,
        message__kind=SentMessage.Kind.FILE,
        state__in=THERE,
        created_at__gte=context.now - SAME_AGAIN,
        current_of__isnull=False,
    )
    same = {"name": name, "sha256": _digest(payload)}
    found = entries.select_related("message").order_by("-pk")
    return next((entry.message for entry in found if entry.parts[0]["data"] == same), None)


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()
