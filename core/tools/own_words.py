"""The tools with which the model takes back and changes what it said.

What is still in the Outbox is discarded or rewritten there, with no call of the platform. What is
being sent or was sent gets an entry behind it. Whatever can't be resolved, or may not be done any
more, is refused here and makes no call at all: a wrong recall is worse than none.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from pydantic import Field

from core import capabilities, outbox
from core.errors import ToolRefusal
from core.models import Chat, OutboxEntry, SentMessage
from core.outbox import Words
from core.toolcalls import ToolContext
from core.tools.registry import Arguments, Tool, ToolResult, register
from core.tools.speaking import checked_words, tag_hint, take_send

State = OutboxEntry.State
STANDING = (State.SENDING, State.SENT)
REFUSALS = {
    State.UNKNOWN: ("outcome_unknown", "Whether {0} arrived is not known, so it can't be changed."),
    State.FAILED: ("message_failed", "{0} did not arrive, so there is nothing to change."),
    State.DISCARDED: ("message_discarded", "{0} was discarded before it left."),
    State.RECALLED: ("message_recalled", "{0} was taken back already."),
}


class SelfRecall(Arguments):
    handle: str = Field(description="The handle of a message of your own in this chat.")


class Edit(Arguments):
    handle: str = Field(description="The handle of a message of your own in this chat.")
    new_content: str = Field(description="What the message is to say instead, the whole of it.")


def self_recall(context: ToolContext, arguments: SelfRecall) -> ToolResult:
    """Take back one message of the bot's own, once."""
    message = _message(context, arguments.handle)
    while True:
        version = outbox.pending_version(message)
        if version is not None:
            if not outbox.withdraw(context, version):
                continue  # it left in this moment
            if version.action == OutboxEntry.Action.SEND:
                break  # never said; or its predecessor is being taken back already
        target = _standing(message)
        outbox.recall(context, target, not_after=_grantable_until(context, target))
        break
    message.recall_asked = True
    message.save(update_fields=["recall_asked"])
    return ToolResult({})


def edit(context: ToolContext, arguments: Edit) -> ToolResult:
    """Change what one message of the bot's own says, ARISE_MAX_EDITS times at most."""
    message = _message(context, arguments.handle)
    words = _still_quoting(message, checked_words(context, arguments.new_content))
    if message.kind != SentMessage.Kind.TEXT:
        raise ToolRefusal("not_editable", f"{message.handle} is no text, so it can't be edited.")
    if message.edits >= settings.ARISE_MAX_EDITS:
        raise ToolRefusal(
            "too_many_edits",
            f"{message.handle} was edited {message.edits} times, which is as often as it may be.",
        )
    while True:
        version = outbox.pending_version(message)
        if version is None:
            _change(context, message, words)
            break
        if outbox.rewrite(context, version, words):
            break
    message.edits += 1
    message.save(update_fields=["edits"])
    return ToolResult({"handle": message.handle})


def _still_quoting(message: SentMessage, words: Words) -> Words:
    """Other words under the same quote, where the message has one."""
    parts = message.entry.parts if message.entry else []
    return Words(words.text, [*(part for part in parts if part["type"] == "reply"), *words.parts])


def _change(context: ToolContext, message: SentMessage, words: Words) -> None:
    """Edit what left already: in place where the platform can, else by a recall and a new send."""
    target = _standing(message)
    if _effective(context).edits_in_place:
        outbox.edit(context, target, words)
        return
    not_after = _grantable_until(context, target)
    take_send(context)
    outbox.resend(context, outbox.recall(context, target, not_after=not_after), words)


def _message(context: ToolContext, handle: str) -> SentMessage:
    """The bot's own message of this chat by that handle, as far as it may still be changed."""
    messages = SentMessage.objects.select_related("entry")
    message = messages.filter(chat=context.chat, handle=handle).first()
    if message is None:
        raise ToolRefusal(
            "unknown_handle", "No message of yours in this chat has this handle; nothing was done."
        )
    if message.recall_asked:
        raise ToolRefusal("already_recalled", f"You took {message.handle} back already.")
    return message


def _standing(message: SentMessage) -> OutboxEntry:
    """The message's current entry, where it is out or on its way."""
    entry = OutboxEntry.objects.get(current_of=message)
    if entry.state in REFUSALS:
        code, sentence = REFUSALS[State(entry.state)]
        raise ToolRefusal(code, sentence.format(message.handle))
    if entry.state == State.SENT and not entry.platform_message_id:
        raise ToolRefusal(
            "no_message_id",
            f"The platform told no id of {message.handle}, so it can't be changed there.",
        )
    return entry


def _grantable_until(context: ToolContext, target: OutboxEntry) -> datetime | None:
    """Until when the platform takes it back; refused where that is over."""
    seconds = _effective(context).platform.recall_seconds
    if seconds is None or target.sending_at is None:
        return None
    until = target.sending_at + timedelta(seconds=seconds)
    if until <= context.now:
        raise ToolRefusal(
            "too_late", f"The platform takes a message back for {seconds:.0f} s, which are over."
        )
    return until


def _effective(context: ToolContext) -> capabilities.Effective:
    return capabilities.in_chat(context.chat)


def _fit_edit(chat: Chat, effective: capabilities.Effective) -> Tool:
    return replace(EDIT, notes={"new_content": tag_hint(chat, effective)})


SELF_RECALL = Tool(
    name="self_recall",
    description="Take back a message of your own. It vanishes, or never leaves.",
    arguments=SelfRecall,
    apply=self_recall,
    capability="recall",
)
EDIT = Tool(
    name="edit",
    description="Change what a message of your own says; it keeps its handle.",
    arguments=Edit,
    apply=edit,
    capability="edit",
    fit=_fit_edit,
)


def load() -> None:
    """Register these tools; called once, when the app is ready."""
    register(SELF_RECALL)
    register(EDIT)
