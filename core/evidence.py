"""Evidence of what became of a send whose outcome is not known: echoes and the chat's history.

A late answer is evidence too; it is settled like any answer (core.sending).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import Q

from core import audit, sending
from core.database import database_now
from core.messages import PlatformId
from core.models import Chat, InboundItem, OutboxEntry

State = OutboxEntry.State
OPEN = (State.SENDING, State.UNKNOWN)
READ_AGAIN_SECONDS = 5
FIRST_READ_SECONDS = 1
MOST_READS = 6
LACKED_TWICE = 2
KNOWN_BEFORE = 100
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)")
NAMED_LATER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Likeness:
    """By what a message is known again: its text, but for white space, of which implementations
    keep some or other; where it has none, the kinds of its parts."""

    text: str
    kinds: frozenset[str]

    def is_of(self, other: "Likeness") -> bool:
        """Whether both may be the same message; two of which nothing is known are not."""
        if self.text or other.text:
            return self.text == other.text
        return bool(self.kinds) and self.kinds == other.kinds


def likeness(text: str, kinds: Iterable[str] = ()) -> Likeness:
    """The likeness of a message with this text and these kinds of parts."""
    # Some tell of a sticker that it is a picture, as which it went out.
    told = {"image" if kind == "sticker" else kind for kind in kinds}
    return Likeness("".join(text.split()), frozenset(told) - {"text", "reply"})


def _likeness(parts: Sequence[Mapping[str, Any]]) -> Likeness:
    return likeness(text_of(parts), [part["type"] for part in parts])


def take_echo(
    chat: Chat, *, message_id: PlatformId | None, text: str, kinds: Iterable[str] = ()
) -> bool:
    """Whether something that the bot's account said is a message that the Outbox sent.

    By its id where the answer came before the echo; else by what it says, or by the kinds of its
    parts where it has no text, while the answer is out, or lately told no id. For an entry whose
    outcome is unknown, or becomes so later, it is the evidence that it was sent.
    """
    lately = database_now() - timedelta(seconds=NAMED_LATER_SECONDS)
    without_id = Q(state=State.SENT, platform_message_id="", settled_at__gte=lately)
    known = Q(state__in=OPEN) | without_id
    if message_id:
        known |= Q(platform_message_id=message_id.value)
    # One look: between two, an answer would take an entry from what the second one finds to what
    # the first one did.
    found = OutboxEntry.objects.filter(known, chat=chat, action=OutboxEntry.Action.SEND)
    entries = list(found.order_by("pk"))
    if message_id and any(entry.platform_message_id == message_id.value for entry in entries):
        return True
    said = likeness(text, kinds)
    # What left lately is echoed sooner than what left long before it and was not heard of since.
    for entry in sorted(entries, key=lambda entry: entry.state == State.UNKNOWN):
        if not entry.platform_message_id and _likeness(entry.parts).is_of(said):
            sending.echoed(entry.pk, message_id)
            return True
    return False


def text_of(parts: Sequence[Mapping[str, Any]]) -> str:
    """The text parts of a message, joined."""
    return "".join(str(part["data"]["text"]) for part in parts if part["type"] == "text")


@dataclass(frozen=True, slots=True)
class Sought:
    """A send that a chat's history may tell of; `sent_at` is when its frame was written, by our clock."""

    entry_id: int
    bot_id: int
    chat_id: int
    chat_kind: str
    chat_external_id: PlatformId
    said: Likeness
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Told:
    """A message of a chat's history; `sent_at` by our clock. Own ones are the bot's account's."""

    message_id: str
    is_number: bool
    is_own: bool
    said: Likeness
    sent_at: datetime


def seekers(bot_ids: Sequence[int]) -> list[int]:
    """Those of these bots that have a send for which the history may be asked."""
    entries = OutboxEntry.objects.filter(bot__in=bot_ids, state=State.UNKNOWN)
    wanted = entries.filter(action=OutboxEntry.Action.SEND, history_asked__lt=MOST_READS)
    return list(wanted.values_list("bot", flat=True).distinct().order_by("bot"))


SEEK = """
UPDATE core_outboxentry entry
   SET history_asked = history_asked + 1, history_asked_at = clock_timestamp()
  FROM core_chat chat
 WHERE chat.id = entry.chat_id AND entry.bot_id = %(bot)s AND chat.kind = ANY(%(kinds)s)
   AND entry.state = 'unknown' AND entry.action = 'send' AND entry.history_asked < %(most)s
   AND entry.settled_at < clock_timestamp() - make_interval(secs => %(first)s)
   AND (entry.history_asked_at IS NULL OR entry.history_asked_at < clock_timestamp() - make_interval(secs => %(again)s))
RETURNING entry.id, entry.chat_id, chat.kind, chat.external_id, chat.external_id_is_number,
          entry.parts::text, entry.sending_at
"""


def seek(bot_id: int, kinds: Sequence[str]) -> list[Sought]:
    """The bot's sends of unknown outcome for which the history is to be asked now, in chats of these
    kinds: soon after it became unknown, then every READ_AGAIN_SECONDS, MOST_READS times at most."""
    with connection.cursor() as cursor:
        cursor.execute(
            SEEK,
            {
                "bot": bot_id,
                "kinds": list(kinds),
                "most": MOST_READS,
                "first": FIRST_READ_SECONDS,
                "again": READ_AGAIN_SECONDS,
            },
        )
        found = cursor.fetchall()
    return [
        Sought(
            pk,
            bot_id,
            chat,
            kind,
            PlatformId(external, is_number),
            _likeness(json.loads(parts)),
            at,
        )
        for pk, chat, kind, external, is_number, parts, at in sorted(found)
    ]


def read_history(sought: Sequence[Sought], told: Sequence[Told]) -> int:
    """Settle sends of one chat by what its history told; returns how many were settled.

    Found is an own message of the same likeness, not sent before ours was written, that is no other
    known message. Twice lacked by a history that reaches back before the write, a send is failed.
    """
    settled = 0
    for one in sought:
        taken = _known_ids(one.chat_id)
        found = next(
            (said for said in told if _is(said, one) and said.message_id not in taken), None
        )
        if found is not None:
            message_id = PlatformId(found.message_id, found.is_number)
            settled += sending.mark_sent(one.entry_id, message_id)
        elif _reaches_back(told, one):
            settled += _lacked(one.entry_id)
    return settled


def _is(said: Told, sought: Sought) -> bool:
    # The platform's times are whole seconds.
    earliest = sought.sent_at - timedelta(seconds=2)
    return said.is_own and sought.said.is_of(said.said) and said.sent_at >= earliest


def _known_ids(chat_id: int) -> set[str]:
    entries = OutboxEntry.objects.filter(chat=chat_id).exclude(platform_message_id="")
    latest = entries.order_by("-pk").values_list("platform_message_id", flat=True)
    return set(latest[:KNOWN_BEFORE])


def _reaches_back(told: Sequence[Told], sought: Sought) -> bool:
    """Whether a history shows something that was stored before the send was written."""
    before = InboundItem.objects.filter(chat=sought.chat_id, received_at__lt=sought.sent_at)
    ids = set(before.order_by("-pk").values_list("platform_message_id", flat=True)[:KNOWN_BEFORE])
    return any(said.message_id in ids for said in told if said.message_id)


def _lacked(entry_id: int) -> bool:
    entries = OutboxEntry.objects.filter(pk=entry_id, state=State.UNKNOWN)
    entry = entries.first()
    if entry is None:
        return False
    entry.history_lacked += 1
    entries.update(history_lacked=entry.history_lacked)
    if entry.history_lacked < LACKED_TWICE:
        return False
    return sending.mark_failed(entry_id, reason="not_delivered")


def is_own_word(chat: Chat, message_id: str) -> OutboxEntry | None:
    """The entry under whose id something of the bot's own stands on the platform now."""
    entries = OutboxEntry.objects.filter(chat=chat, platform_message_id=message_id)
    return entries.filter(state=State.SENT, current_of__isnull=False).order_by("-pk").first()


def settle_by_hand(
    entry: OutboxEntry,
    *,
    was_sent: bool,
    message_id: str = "",
    by: AbstractBaseUser | None = None,
) -> bool:
    """What an operator says of an entry whose outcome is unknown; False where it is not any more."""
    if entry.state != State.UNKNOWN:
        return False
    with transaction.atomic():
        settled = _settled(entry, was_sent=was_sent, message_id=message_id)
        if settled:
            settled_as = OutboxEntry.objects.values_list("state", flat=True).get(pk=entry.pk)
            changes: dict[str, tuple[object, object]] = {"state": (State.UNKNOWN, settled_as)}
            if message_id:
                changes["platform_message_id"] = (entry.platform_message_id, message_id)
            audit.keep(entry, changes, by=by)
    return settled


def _settled(entry: OutboxEntry, *, was_sent: bool, message_id: str) -> bool:
    if not was_sent:
        return sending.mark_failed(entry.pk, reason="not_sent_says_operator")
    if entry.action in OutboxEntry.GESTURES:
        return sending.mark_done(entry.pk, before=State.UNKNOWN)
    if entry.action != OutboxEntry.Action.SEND:
        return sending.confirm(entry.pk)
    known = PlatformId(message_id, _is_number(entry, message_id)) if message_id else None
    return sending.mark_sent(entry.pk, known)


def is_anothers(entry: OutboxEntry, message_id: str) -> bool:
    """Whether an id is known as that of another message of the entry's chat, which a recall under it
    would take back. What was taken for words of the account's own may be this very message."""
    sent = OutboxEntry.objects.filter(chat=entry.chat_id, platform_message_id=message_id)
    said = InboundItem.objects.filter(chat=entry.chat_id, platform_message_id=message_id)
    return sent.exclude(pk=entry.pk).exists() or said.filter(from_self=False).exists()


def _is_number(entry: OutboxEntry, message_id: str) -> bool:
    """Ids go out in the type in which the bot's others came in."""
    others = OutboxEntry.objects.filter(bot=entry.bot_id).exclude(platform_message_id="")
    is_number = (
        others.order_by("-pk").values_list("platform_message_id_is_number", flat=True).first()
    )
    return _NUMBER.fullmatch(message_id) is not None and is_number is not False
