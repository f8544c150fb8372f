"""The door out: what is to be done on the platform is written here, durable, in order per chat.

All of it runs in a step's transaction, with the chat's row locked (leases.hold). An entry that is
still pending is changed by compare-and-set, since the host may claim it at any moment; what was
claimed is changed by entries that stand behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Case, F, Q, QuerySet, Value, When

from core import shadow, standing
from core.database import try_lock
from core.messages import PlatformId
from core.models import Chat, DeliveryMode, OutboxEntry, SentMessage, Turn
from core.stickers import Sendable
from core.toolcalls import Place, ToolContext

Action = OutboxEntry.Action
State = OutboxEntry.State
VERSIONS = (Action.SEND, Action.EDIT)
BY_OPERATOR = "discarded_by_operator"
LONGEST_REVIEW = timedelta(days=7)
"""How long at most a recall waits for the review of the words that it makes room for."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a message says: its text as the model wrote it, and the parts that go out for it. Where
    it quotes, the first is a `reply` with the `id` of the quoted message. A voice or a file, which is
    one part, has its bytes as the `payload`."""

    text: str
    parts: Sequence[Mapping[str, Any]]
    payload: bytes | None = None


def write_text(context: ToolContext, words: Words) -> SentMessage:
    """Write a message of the bot's own: a Sent Log row with a new handle, and its pending entry.

    The caller saves the chat's `next_handle`. The entry is due at the later of now and the message
    before it, plus the typing time of its characters.
    """
    return _message(context, words, SentMessage.Kind.TEXT)


def write_voice(context: ToolContext, words: Words, recording: bytes) -> SentMessage:
    """Write a voice message, as `write_text` does. Where the platform refuses it surely, its words
    go out `instead`."""
    part = {"type": "voice", "data": {"instead": list(words.parts)}}
    return _message(context, Words(words.text, [part], recording), SentMessage.Kind.VOICE)


def write_sticker(context: ToolContext, words: Words, sticker: Sendable) -> SentMessage:
    """Write a sticker, as `write_text` does; a quote stands before it. Where it can't be sent, its
    words go out `instead`, if it has any."""
    instead = [dict(part) for part in words.parts if part["type"] != "reply"]
    data = {
        "ref": sticker.ref,
        "sha256": sticker.sha256,
        "market_face": dict(sticker.market_face),
        "instead": instead,
    }
    quote = [part for part in words.parts if part["type"] == "reply"]
    said = Words(words.text, [*quote, {"type": "sticker", "data": data}])
    return _message(context, said, SentMessage.Kind.STICKER)


def write_file(context: ToolContext, words: Words) -> SentMessage:
    """Write a file, as `write_text` does: its one part names it, the payload is what is in it."""
    return _message(context, words, SentMessage.Kind.FILE)


def _message(context: ToolContext, words: Words, kind: SentMessage.Kind) -> SentMessage:
    chat = context.chat
    message = SentMessage.objects.create(
        chat=chat,
        turn=context.turn,
        handle=f"m{chat.next_handle}",
        kind=kind,
        created_at=context.now,
    )
    chat.next_handle += 1
    message.entry = _send(context, message, words)
    message.save(update_fields=["entry"])
    return message


def _send(
    context: Place, message: SentMessage, words: Words, waits_for: OutboxEntry | None = None
) -> OutboxEntry:
    return _write(
        context,
        message,
        Action.SEND,
        waits_for=waits_for,
        **_said(context, words, _last_due(context.chat)),
    )


def _write(
    context: Place, message: SentMessage | None, action: Action, **values: Any
) -> OutboxEntry:
    given = {"due_at": context.now, "expires_at": _patience_ends(context), **values}
    given |= _delivery(context, action)
    return OutboxEntry.objects.create(
        bot_id=context.chat.bot_id,
        chat=context.chat,
        message=message,
        turn=context.turn,
        step_index=context.step_index,
        call_index=context.call_index,
        action=action,
        created_at=context.now,
        **given,
    )


def _delivery(context: Place, action: Action) -> dict[str, Any]:
    """What the chat's delivery mode makes of an entry that is being written."""
    by_hand: dict[str, Any] = {}
    if context.is_by_hand:
        by_hand = {"by_hand": True, "approved_at": context.now, "decided_by_id": context.by_id}
    if shadow.is_on(context.chat):
        return by_hand | shadow.written(context.now)
    is_held = context.chat.delivery_mode == DeliveryMode.REVIEW and action != Action.RECALL
    return by_hand or ({"held": standing.REVIEW} if is_held else {})


def _said(context: Place, words: Words, before: datetime | None) -> dict[str, Any]:
    """What an entry that says something has: parts, typing time, the hold of a running turn."""
    now = context.now
    return {
        "content": words.text,
        "parts": list(words.parts),
        "payload": words.payload,
        "due_at": max(now, before or now) + typing_time(words.text),
        "draft_until": now + timedelta(seconds=settings.ARISE_DRAFT_SECONDS),
        "expires_at": _patience_ends(context),
    }


def _patience_ends(context: Place) -> datetime:
    return context.now + timedelta(seconds=context.chat.patience_seconds)


def _last_due(chat: Chat, before: int | None = None) -> datetime | None:
    sends = OutboxEntry.objects.filter(chat=chat, action=Action.SEND)
    if before is not None:
        sends = sends.filter(pk__lt=before)
    return sends.order_by("-pk").values_list("due_at", flat=True).first()


def typing_time(text: str) -> timedelta:
    """How long a person would type it: ARISE_SEND_PACE seconds a character, bounded."""
    seconds = min(settings.ARISE_SEND_PACE * len(text), settings.ARISE_SEND_PACE_MAX_SECONDS)
    return timedelta(seconds=seconds)


def release_drafts(turn: Turn, *, before_step: int | None = None) -> None:
    """Let go of the turn's messages that waited for its next step: those of steps before
    `before_step`, all of them where the turn has ended."""
    drafts = OutboxEntry.objects.filter(turn=turn, state=State.PENDING, draft_until__isnull=False)
    if before_step is not None:
        drafts = drafts.filter(step_index__lt=before_step)
    drafts.update(draft_until=None)


def pending_version(message: SentMessage) -> OutboxEntry | None:
    """The version of a message that has not left yet, where there is one."""
    versions = OutboxEntry.objects.filter(message=message, action__in=VERSIONS)
    return versions.filter(state=State.PENDING).order_by("-pk").first()


def rewrite(context: Place, entry: OutboxEntry, words: Words) -> bool:
    """Change what a pending entry says, in its place; its typing time and hold count anew, and who
    approved it did not see this. False where it is not pending any more."""
    is_review = context.chat.delivery_mode == DeliveryMode.REVIEW
    was_seen = Q(held=standing.REVIEW) | Q(approved_at__isnull=False, by_hand=False)
    held = Case(When(was_seen, then=Value(standing.REVIEW)), default=F("held"))
    return bool(
        OutboxEntry.objects.filter(pk=entry.pk, state=State.PENDING).update(
            # Of this call from now on, so that it is held for the step after this one.
            turn=context.turn,
            step_index=context.step_index,
            call_index=context.call_index,
            held=standing.REVIEW if is_review else held,
            approved_at=None,
            by_hand=False,
            decided_by=None,
            **_said(context, words, _last_due(context.chat, before=entry.pk)),
        )
    )


def withdraw(context: Place, entry: OutboxEntry) -> bool:
    """pending → discarded, as the model asked (so it needs not be told), or an operator. False where
    it is not pending any more."""
    by_hand = context.is_by_hand
    return bool(
        OutboxEntry.objects.filter(pk=entry.pk, state=State.PENDING).update(
            state=State.DISCARDED,
            reason=BY_OPERATOR if by_hand else "recalled",
            held="",
            settled_at=context.now,
            told_state=F("told_state") if by_hand else State.DISCARDED,
            decided_by_id=context.by_id,
        )
    )


def recall(context: Place, target: OutboxEntry, *, not_after: datetime | None) -> OutboxEntry:
    """Take back what was sent, or is being sent: an entry behind it. `not_after` is when the
    platform does it no more (None: it always does)."""
    assert target.message is not None  # noqa: S101 - sends have one
    latest = _patience_ends(context)
    if context.chat.delivery_mode == DeliveryMode.REVIEW:
        latest = max(latest, context.now + LONGEST_REVIEW)
    expires_at = min(not_after or latest, latest)
    return _write(context, target.message, Action.RECALL, target=target, expires_at=expires_at)


def resend(context: Place, recalled: OutboxEntry, words: Words) -> OutboxEntry:
    """The next version of a message, sent once the recall of the one before is confirmed."""
    assert recalled.message is not None  # noqa: S101 - recalls have one
    return _send(context, recalled.message, words, waits_for=recalled)


def edit(context: Place, target: OutboxEntry, words: Words) -> OutboxEntry:
    """Edit what was sent, or is being sent, on a platform that can: an entry behind it."""
    assert target.message is not None  # noqa: S101 - sends have one
    return _write(
        context, target.message, Action.EDIT, target=target, **_said(context, words, None)
    )


def gesture(
    context: ToolContext, action: Action, subject: PlatformId, **described: str
) -> OutboxEntry:
    """Write a poke, a reaction or a profile like, to be done after what was written before it; it
    takes no typing time. `described` is what its one part tells besides its `subject`."""
    data = {"id": subject.value, "is_number": subject.is_number, **described}
    return _write(
        context,
        None,
        action,
        subject=subject.value,
        parts=[{"type": str(action), "data": data}],
        # Looked at when the message before it is: earlier it could not leave.
        due_at=max(context.now, _last_due(context.chat) or context.now),
    )


def is_cooling_down(context: ToolContext, action: Action, subject: PlatformId) -> bool:
    """Whether the same gesture is on its way to the same target, or left for it within
    ARISE_GESTURE_COOLDOWN_SECONDS. A person is one target in all chats of the bot."""
    seconds = settings.ARISE_GESTURE_COOLDOWN_SECONDS
    if not seconds:
        return False
    bot_id, chat_id = context.chat.bot_id, context.chat.pk
    place = {"chat": chat_id} if action == Action.REACTION else {}
    # Two chats may be about to do the same: whoever has the lock may, once.
    if not try_lock(f"{bot_id} {place} {action} {subject.value}"):
        return True
    same = OutboxEntry.objects.filter(bot=bot_id, action=action, subject=subject.value, **place)
    left = Q(sending_at__gt=context.now - timedelta(seconds=seconds))
    on_its_way = Q(state__in=(State.PENDING, State.SENDING))
    undone = (State.FAILED, State.DISCARDED)
    made = same.filter(left | on_its_way).exclude(state__in=undone)
    return made.exists() or _was_imagined(context, same, seconds)


def _was_imagined(context: Place, same: QuerySet[OutboxEntry], seconds: float) -> bool:
    """Whether a chat in shadow has made the same gesture lately, as far as it goes."""
    since = context.now - timedelta(seconds=seconds)
    here = same.filter(chat=context.chat, reason=standing.SHADOW, settled_at__gt=since)
    return shadow.is_on(context.chat) and here.exists()
