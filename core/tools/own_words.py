"""The tools with which the model takes back and changes what it said.

What is still in the Outbox is discarded or rewritten there, with no call of the platform. What is
being sent or was sent gets an entry behind it. Whatever can't be resolved, or may not be done any
more, is refused here and makes no call at all: a wrong recall is worse than none.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from pydantic import Field

from core import capabilities, outbox, shadow
from core.errors import ToolRefusal
from core.models import Chat, OutboxEntry, SentMessage
from core.outbox import Words
from core.toolcalls import Place, ToolContext
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
    take_back(context, _message(context, arguments.handle))
    return ToolResult({})


def check_take_back(place: Place, message: SentMessage) -> None:
    """Raise the ToolRefusal with which `take_back` would end now, where it would."""
    version = outbox.pending_version(message)
    if version is None or version.action != OutboxEntry.Action.SEND:
        _grantable_until(place, _standing(place, message))


def take_back(place: Place, message: SentMessage) -> None:
    """Take a message back: discard what has not left, recall what has."""
    while True:
        version = outbox.pending_version(message)
        if version is not None:
            if not outbox.withdraw(place, version):
                continue  # it left in this moment
            if version.action == OutboxEntry.Action.SEND:
                break  # never said; or its predecessor is being taken back already
        target = _standing(place, message)
        outbox.recall(place, target, not_after=_grantable_until(place, target))
        break
    if not _is_imagined_of(place, message):
        message.recall_asked = True
        message.save(update_fields=["recall_asked"])


def edit(context: ToolContext, arguments: Edit) -> ToolResult:
    """Change what one message of the bot's own says, ARISE_MAX_EDITS times at most."""
    message = _message(context, arguments.handle)
    words = checked_words(context, arguments.new_content)
    change(context, message, words, spend=lambda: take_send(context))
    return ToolResult({"handle": message.handle})


def check_change(place: Place, message: SentMessage) -> None:
    """Raise the ToolRefusal with which `change` would end now, whatever the words."""
    _demand_editable(place, message)
    if outbox.pending_version(message) is None:
        target = _standing(place, message)
        if not _effective(place).edits_in_place:
            _grantable_until(place, target)


def change(
    place: Place, message: SentMessage, words: Words, *, spend: Callable[[], None] = lambda: None
) -> None:
    """Have a message say other words under the quote that it has; `spend` pays for a new send, where
    one is needed."""
    words = Words(words.text, [*quoted(message.entry), *words.parts])
    _demand_editable(place, message)
    while True:
        version = outbox.pending_version(message)
        if version is None:
            _change(place, message, words, spend)
            break
        if outbox.rewrite(place, version, words):
            break
    if not _is_imagined_of(place, message):
        message.edits += 1
    message.save(update_fields=["edits", "entry"])


def _demand_editable(place: Place, message: SentMessage) -> None:
    if message.kind != SentMessage.Kind.TEXT:
        raise ToolRefusal("not_editable", f"{message.handle} is no text, so it can't be edited.")
    edits = message.edits + _imagined_edits(place, message)
    if edits >= settings.ARISE_MAX_EDITS:
        raise ToolRefusal(
            "too_many_edits",
            f"{message.handle} was edited {edits} times, which is as often as it may be.",
        )


def quoted(entry: OutboxEntry | None) -> list[dict[str, Any]]:
    """The part of a message's entry that quotes another message, where it has one."""
    return [part for part in entry.parts if part["type"] == "reply"] if entry else []


def _change(place: Place, message: SentMessage, words: Words, spend: Callable[[], None]) -> None:
    """Edit what left already: in place where the platform can, else by a recall and a new send."""
    target = _standing(place, message)
    if _effective(place).edits_in_place:
        entry = outbox.edit(place, target, words)
    elif shadow.is_on(place.chat):
        _grantable_until(place, target)
        spend()
        entry = outbox.edit(place, target, words)
    else:
        not_after = _grantable_until(place, target)
        spend()
        outbox.resend(place, outbox.recall(place, target, not_after=not_after), words)
        return
    if shadow.is_shadow(target):
        message.entry = entry


def _is_imagined_of(place: Place, message: SentMessage) -> bool:
    """Whether what is done now happens in the shadow alone, to a message that was really said."""
    is_shadows = message.entry is not None and shadow.is_shadow(message.entry)
    return shadow.is_on(place.chat) and not is_shadows


def _imagined_edits(place: Place, message: SentMessage) -> int:
    found = shadow.of(message) if _is_imagined_of(place, message) else None
    return found.edits if found else 0


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


def _standing(place: Place, message: SentMessage) -> OutboxEntry:
    """The message's current entry, where it is out or on its way; in shadow, where it is so there."""
    entry = OutboxEntry.objects.get(current_of=message)
    if shadow.is_on(place.chat) and (there := shadow.of(message)):
        if there.is_recalled:
            code, sentence = REFUSALS[State.RECALLED]
            raise ToolRefusal(code, sentence.format(message.handle))
        if shadow.is_shadow(entry):
            return entry
    if entry.state in REFUSALS:
        code, sentence = REFUSALS[State(entry.state)]
        raise ToolRefusal(code, sentence.format(message.handle))
    if entry.state == State.SENT and not entry.platform_message_id:
        raise ToolRefusal(
            "no_message_id",
            f"The platform told no id of {message.handle}, so it can't be changed there.",
        )
    return entry


def _grantable_until(place: Place, target: OutboxEntry) -> datetime | None:
    """Until when the platform takes it back; refused where that is over."""
    seconds = _effective(place).platform.recall_seconds
    said_at = target.settled_at if shadow.is_shadow(target) else target.sending_at
    if seconds is None or said_at is None:
        return None
    until = said_at + timedelta(seconds=seconds)
    if until <= place.now:
        raise ToolRefusal(
            "too_late", f"The platform takes a message back for {seconds:.0f} s, which are over."
        )
    return until


def _effective(place: Place) -> capabilities.Effective:
    return capabilities.in_chat(place.chat)


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
