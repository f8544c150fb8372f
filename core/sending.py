"""Sending: the host claims what is due, does it, and settles it here.

Send-state only moves forward; each move is one compare-and-set, so that of two who try the same
move one wins. What a move means for the entries that stand behind is written in its transaction.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Case, F, Q, When

from core import capabilities, shadow, standing, stickers
from core.database import ClockTimestamp, database_now
from core.messages import PlatformId
from core.models import OutboxEntry, SentMessage

logger = logging.getLogger(__name__)
Action = OutboxEntry.Action
State = OutboxEntry.State


MEDIA_SECONDS = 60.0
MOST_MEDIA_SECONDS = 300.0
MEDIA_BYTES_PER_SECOND = 128 * 1024


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry that this connection alone is to do now. `parts` as core.messages has them, a
    gesture's as core.outbox does; `target` is the message that is recalled or edited; `payload` the
    bytes of a voice."""

    entry_id: int
    action: str
    chat_kind: str
    chat_external_id: PlatformId
    address: dict[str, Any]
    parts: list[dict[str, Any]]
    target: PlatformId | None
    payload: bytes | None = None


RECALLED_BY_OPERATOR = "recalled_by_operator"
CLAIM = f"""
WITH lane AS (
    SELECT DISTINCT ON (chat_id) id, state
      FROM core_outboxentry
     WHERE bot_id = %(bot)s AND state IN ('pending', 'sending', 'unknown')
       AND (action = 'send' AND state IN ('pending', 'sending')
            OR action = 'send' AND state = 'unknown'
               AND (evidence_until IS NULL OR evidence_until > clock_timestamp())
            OR action = ANY(%(gestures)s) AND state = 'pending')
     ORDER BY chat_id, id
), ready AS (
    SELECT entry.id
      FROM lane
      JOIN core_outboxentry entry ON entry.id = lane.id
      LEFT JOIN core_outboxentry recall ON recall.id = entry.waits_for_id
     WHERE lane.state = 'pending' AND (recall.id IS NULL OR recall.state = 'sent')
    UNION ALL
    SELECT entry.id
      FROM core_outboxentry entry
      JOIN core_outboxentry target ON target.id = entry.target_id AND target.state = 'sent'
     WHERE entry.bot_id = %(bot)s AND entry.state = 'pending' AND entry.action IN ('recall', 'edit')
       AND NOT EXISTS (SELECT 1 FROM core_outboxentry earlier
                        WHERE earlier.message_id = entry.message_id AND earlier.id < entry.id
                          AND earlier.action IN ('recall', 'edit')
                          AND earlier.state IN ('pending', 'sending'))
), head AS (
    SELECT entry.id
      FROM core_outboxentry entry
      JOIN ready ON ready.id = entry.id
      JOIN core_chat chat ON chat.id = entry.chat_id AND chat.enabled
      JOIN core_bot bot ON bot.id = entry.bot_id AND bot.enabled
                       AND bot.connection_number = %(connection)s
     WHERE entry.state = 'pending' AND entry.held = '' AND {standing.HELD_BY} = ''
       AND entry.due_at <= clock_timestamp() AND entry.expires_at > clock_timestamp()
       AND (entry.draft_until IS NULL OR entry.draft_until <= clock_timestamp())
     ORDER BY entry.id LIMIT %(limit)s
       FOR UPDATE OF entry SKIP LOCKED
), claimed AS (
    UPDATE core_outboxentry entry
       SET state = 'sending', sending_at = clock_timestamp(), connection_number = %(connection)s
      FROM head WHERE entry.id = head.id AND entry.state = 'pending'
    RETURNING entry.id, entry.chat_id, entry.action, entry.parts, entry.target_id,
              entry.payload
)
SELECT claimed.id, claimed.action, chat.kind, chat.external_id, chat.external_id_is_number,
       chat.address::text, claimed.parts::text,
       target.platform_message_id, target.platform_message_id_is_number, claimed.payload
  FROM claimed
  JOIN core_chat chat ON chat.id = claimed.chat_id
  LEFT JOIN core_outboxentry target ON target.id = claimed.target_id
 ORDER BY claimed.id
"""  # noqa: S608 - of constants alone


def claim(bot_id: int, connection_number: int, *, limit: int = 50) -> list[Claimed]:
    """Move what is due of the bot's chats from pending to sending, for this connection.

    One open send a chat: a chat whose earlier send is under way, or is unknown while evidence may
    come, has no head. A gesture waits for its turn, and once it left nothing waits for it. A recall
    or an edit waits only for its own message. Only the bot's live connection gets anything. What its
    chat may not do any more is discarded instead.
    """
    shadow.settle(bot_id=bot_id)
    discard_disallowed(Q(bot=bot_id))
    # One statement claims and reads: what was claimed unread would be `sending` with no sender.
    with connection.cursor() as cursor:
        cursor.execute(
            CLAIM,
            {
                "bot": bot_id,
                "connection": connection_number,
                "limit": limit,
                "gestures": list(OutboxEntry.GESTURES),
            },
        )
        return [
            Claimed(
                entry_id,
                action,
                kind,
                PlatformId(external_id, is_number),
                json.loads(address),
                json.loads(parts),
                PlatformId(target, target_is_number) if target else None,
                None if payload is None else bytes(payload),
            )
            for entry_id, action, kind, external_id, is_number, address, parts, target,
            target_is_number, payload in cursor.fetchall()
        ]  # fmt: skip


def discard_disallowed(which: Q) -> int:
    """pending → discarded, of what needs a capability that does not hold in its chat any more. Words
    that may not quote any more go without the quote."""
    needy = ~Q(action=Action.SEND) | ~Q(message__kind=SentMessage.Kind.TEXT)
    quoting = Q(parts__0__type="reply")
    pending = OutboxEntry.objects.filter(which, needy | quoting, state=State.PENDING)
    held: dict[int, capabilities.Effective] = {}
    discarded = 0
    for entry in pending.select_related("chat__bot", "message").order_by("pk"):
        if entry.chat_id not in held:
            held[entry.chat_id] = capabilities.in_chat(entry.chat)
        holds, needed = held[entry.chat_id].capabilities, _needed(entry)
        if needed and not holds[needed]:
            with transaction.atomic():
                discarded += _discard(Q(pk=entry.pk), "capability_off")
                follow_up(target_id=entry.pk)
        elif not holds["quote"] and (parts := without_quote(entry.parts)) != entry.parts:
            unchanged = Q(pk=entry.pk, state=State.PENDING, parts=entry.parts)
            OutboxEntry.objects.filter(unchanged).update(parts=parts)
    return discarded


def _needed(entry: OutboxEntry) -> str:
    """The capability without which an entry does not leave; empty for text, which needs none."""
    if entry.action != Action.SEND:
        return capabilities.OF_ACTION[Action(entry.action)]
    kind = entry.message.kind if entry.message else SentMessage.Kind.TEXT
    return "" if kind == SentMessage.Kind.TEXT else kind


def without_quote(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of a message but for the message that it quotes."""
    return [part for part in parts if part["type"] != "reply"]


def words_of(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The words that go out in the place of a voice or a sticker, under what it quotes; none where
    it has no words."""
    words = [dict(word) for part in parts for word in part["data"].get("instead", ())]
    if not words or any(word["type"] == "reply" for word in words):
        return words
    return [*(dict(part) for part in parts if part["type"] == "reply"), *words]


def withdraw_sticker(sha256: str) -> int:
    """Take a sticker out of all that is pending: its words go out in its place, and what has none is
    discarded; how many messages it was. Runs in the transaction that takes the sticker itself away."""
    carries = [{"type": stickers.KIND, "data": {"sha256": sha256}}]
    carrying = OutboxEntry.objects.filter(state=State.PENDING, parts__contains=carries)
    withdrawn = 0
    for entry in carrying.order_by("pk"):
        words = words_of(entry.parts)
        if words:
            withdrawn += OutboxEntry.objects.filter(pk=entry.pk, state=State.PENDING).update(
                parts=words
            )
        else:
            withdrawn += _discard(Q(pk=entry.pk), "sticker_taken_down")
            follow_up(target_id=entry.pk)
    return withdrawn


def next_look(bot_ids: list[int]) -> dict[int, float]:
    """For each of these bots with something pending: seconds until it may be due (0: look now)."""
    if not bot_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT bot_id, GREATEST(0, EXTRACT(EPOCH FROM
                   min(GREATEST(due_at, coalesce(draft_until, due_at))) - clock_timestamp()))
              FROM core_outboxentry
             WHERE state = 'pending' AND held = '' AND bot_id = ANY(%s)
             GROUP BY bot_id
            """,
            [bot_ids],
        )
        return {bot_id: float(seconds) for bot_id, seconds in cursor.fetchall()}


def answer_seconds(payload_bytes: int = 0) -> float:
    """How long the answer to a call is waited for: media, which are converted and uploaded first,
    take longer, by size."""
    seconds: float = settings.ARISE_SEND_TIMEOUT_SECONDS
    if not payload_bytes:
        return seconds
    media = max(seconds, MEDIA_SECONDS) + payload_bytes / MEDIA_BYTES_PER_SECOND
    return min(media, max(seconds, MOST_MEDIA_SECONDS))


def action_of(entry_id: int, bot_id: int) -> str | None:
    """What an entry of this bot does; None where there is no such entry in its Outbox."""
    entries = OutboxEntry.objects.filter(pk=entry_id, bot=bot_id)
    return entries.values_list("action", flat=True).first()


def is_open(entry_id: int) -> bool:
    """Whether nobody knows yet what became of an entry that was claimed."""
    open_states = (State.SENDING, State.UNKNOWN)
    return OutboxEntry.objects.filter(pk=entry_id, state__in=open_states).exists()


def hand_back(entry_id: int, connection_number: int) -> bool:
    """sending → pending, by the owner that never handed the frame to the server."""
    return bool(
        OutboxEntry.objects.filter(
            pk=entry_id, state=State.SENDING, connection_number=connection_number
        ).update(
            state=State.PENDING, sending_at=None, connection_number=None, platform_message_id=""
        )
    )


def keep_parts(entry_id: int, parts: Sequence[Mapping[str, Any]]) -> None:
    """Keep that an entry that is being sent goes out again, with these parts instead of its own,
    since it surely did not with those."""
    entries = OutboxEntry.objects.filter(pk=entry_id, state=State.SENDING)
    entries.update(parts=[dict(part) for part in parts], sending_at=ClockTimestamp())


def mark_sent(entry_id: int, message_id: PlatformId | None, *, note: str = "") -> bool:
    """sending | unknown → sent, with the platform's id (None where it told none; then an echo may
    have). `note` says what was changed to get it through."""
    told: dict[str, Any] = {}
    if message_id:
        told["platform_message_id"] = message_id.value
        told["platform_message_id_is_number"] = message_id.is_number
    settled = _sent(
        Q(pk=entry_id, action=Action.SEND, state__in=(State.SENDING, State.UNKNOWN)),
        error=note,
        **told,
    )
    if settled and message_id is None:
        # What has no id on the platform can't be taken back there.
        with transaction.atomic():
            follow_up(target_id=entry_id)
    return bool(settled)


def echoed(entry_id: int, message_id: PlatformId | None) -> None:
    """The platform told of what this entry says: an unknown one was sent. One that still waits for
    its answer keeps the id: it is the evidence where that never comes (`mark_unknown`). One whose
    answer told no id has it from here."""
    there = OutboxEntry.objects.filter(pk=entry_id, state__in=(State.SENDING, State.SENT))
    if message_id is None:
        is_there = there.exists()
    else:
        is_there = bool(
            there.update(
                platform_message_id=message_id.value,
                platform_message_id_is_number=message_id.is_number,
            )
        )
    if not is_there:
        mark_sent(entry_id, message_id)


UNHEARD_OF = Q(state=State.SENDING, platform_message_id="")
"""Of what is being sent: that whose echo did not come yet. Asked in the very statement that gives it
up, which waits where the echo is being stored; only after that is looked for what was echoed."""


def mark_echoed(which: Q) -> int:
    """sending → sent, of those whose echo came and whose answer will not, or matters no more."""
    echo_came = Q(action=Action.SEND, state=State.SENDING) & ~Q(platform_message_id="")
    return _sent(which & echo_came, error="")


def _sent(which: Q, **values: Any) -> int:
    """→ sent, of sends. With it goes what follows from it: who has the stickers is told, and of a
    sticker or a voice in whose place words went out it is kept so."""
    with transaction.atomic():
        # Locked, so that of two who see an entry go one alone tells of it.
        locked = OutboxEntry.objects.select_for_update(of=("self",)).filter(which)
        kinds = dict(locked.values_list("pk", "message__kind"))
        moved = _settle(Q(pk__in=kinds), state=State.SENT, **values) if kinds else 0
        media = [pk for pk, kind in kinds.items() if kind in _REPLACEABLE]
        sent = OutboxEntry.objects.select_related("message").filter(pk__in=media)
        for entry in sent.order_by("chat_id", "pk"):
            _follow_sent_media(entry)
    return moved


def _follow_sent_media(entry: OutboxEntry) -> None:
    kind = entry.message.kind if entry.message else ""
    if any(part["type"] == kind for part in entry.parts):
        stickers.tell_sent(entry)
    else:
        OutboxEntry.objects.filter(pk=entry.pk).update(reason=OutboxEntry.SENT_AS_TEXT)


_REPLACEABLE = (SentMessage.Kind.STICKER, SentMessage.Kind.VOICE)


def mark_done(entry_id: int, *, before: State = State.SENDING) -> bool:
    """sending → sent, of a gesture. What is unknown of one stays so, since nobody waits for it, but
    for an operator's word (`before`)."""
    which = Q(pk=entry_id, action__in=OutboxEntry.GESTURES, state=before)
    return bool(_settle(which, state=State.SENT))


def confirm(entry_id: int) -> bool:
    """sending | unknown → sent, of a recall or an edit: the platform did it.

    With a recall the message is gone, and its next version, where one waits, is the current one.
    Where the message was gone already (an admin took it back) its next version is discarded.
    """
    with transaction.atomic():
        entry = (
            OutboxEntry.objects.select_for_update(of=("self",))
            .select_related("target")
            .filter(pk=entry_id, state__in=(State.SENDING, State.UNKNOWN))
            .first()
        )
        if entry is None or entry.target is None:
            return False
        target = entry.target
        entry.state, entry.reason, entry.settled_at = State.SENT, "", database_now()
        if entry.action == Action.EDIT:
            entry.platform_message_id = target.platform_message_id
            entry.platform_message_id_is_number = target.platform_message_id_is_number
            _make_current(entry)
        entry.save()
        if entry.action == Action.RECALL:
            _recalled(entry, target)
    return True


def _recalled(recall: OutboxEntry, target: OutboxEntry) -> None:
    waiting = recall.waiting.filter(state=State.PENDING).first()
    # The model asked for it, but not where it was to make room for a version that was given up
    # meanwhile: of that it hears here, or, where it was told of the doubt, by the recall itself.
    is_lost = (
        waiting is None
        and not recall.told_state
        and recall.waiting.exclude(reason="recalled").exists()
    )
    is_news = waiting is None and recall.by_hand
    taken_back = OutboxEntry.objects.filter(pk=target.pk, state=State.SENT).update(
        state=State.RECALLED,
        reason=RECALLED_BY_OPERATOR if is_news else "",
        recalled_at=recall.settled_at,
        told_state=F("told_state") if is_lost or is_news else State.RECALLED,
    )
    if waiting is None:
        return
    if taken_back:
        _make_current(waiting)
    else:
        _discard(Q(pk=waiting.pk), "message_recalled")


def _make_current(entry: OutboxEntry) -> None:
    SentMessage.objects.filter(entries=entry).update(entry=entry)


def mark_failed(entry_id: int, *, reason: str, error: str = "") -> bool:
    """sending | unknown → failed: the platform surely did not do it."""
    which = Q(pk=entry_id, state__in=(State.SENDING, State.UNKNOWN))
    with transaction.atomic():
        settled = _settle(which, state=State.FAILED, reason=reason, error=error)
        if settled:
            follow_up(target_id=entry_id)
    return bool(settled)


def mark_unknown(entry_id: int, *, reason: str, error: str = "", evidence: bool = True) -> bool:
    """sending → unknown: it may have been done, so it is never done again by itself. Where the
    platform's echo came meanwhile, it was done: sending → sent.

    The chat's later messages wait ARISE_SETTLE_SECONDS for evidence; where the connection is lost
    they count from the next one. `evidence` is False where the implementation can give none.
    """
    now = database_now()
    seconds = settings.ARISE_SETTLE_SECONDS if evidence else 0
    until = None if reason == CONNECTION_LOST else now + timedelta(seconds=seconds)
    with transaction.atomic():
        settled = _settle(
            Q(UNHEARD_OF, pk=entry_id),
            state=State.UNKNOWN,
            reason=reason,
            error=error,
            evidence_until=until,
        )
        if settled:
            follow_up(target_id=entry_id)
    return bool(settled or mark_echoed(Q(pk=entry_id)))


CONNECTION_LOST = "connection_lost"


def _settle(which: Q, **values: Any) -> int:
    values.setdefault("reason", "")
    # What was unknown left long before somebody found out, and stays at its place in the chat.
    left = Case(When(state=State.UNKNOWN, then=F("settled_at")), default=ClockTimestamp())
    return OutboxEntry.objects.filter(which).update(settled_at=left, **values)


def _discard(which: Q, reason: str, **values: Any) -> int:
    return OutboxEntry.objects.filter(which, state=State.PENDING).update(
        state=State.DISCARDED, reason=reason, settled_at=ClockTimestamp(), **values
    )


def follow_up(*, target_id: int | None = None) -> None:
    """Make void what stands behind an entry that ended otherwise than hoped: all of it, or what
    stands behind this one. Runs in the transaction of the move that it follows."""
    behind = Q(target=target_id) if target_id else Q(target__isnull=False)
    after = Q(waits_for=target_id) | Q(waits_for__target=target_id) if target_id else Q()
    followers = OutboxEntry.objects.filter(behind, state=State.PENDING)
    gone = Q(target__state__in=(State.FAILED, State.DISCARDED, State.RECALLED))
    never_known = Q(target__state=State.UNKNOWN, target__evidence_until__lte=ClockTimestamp())
    without_id = Q(target__state=State.SENT, target__platform_message_id="")
    for which, reason in (
        (gone, "message_gone"),
        (never_known, "outcome_unknown"),
        (without_id, "no_message_id"),
    ):
        ids = list(followers.filter(which).values_list("pk", flat=True))
        if ids:
            _discard(Q(pk__in=ids), reason)
    ended = (State.FAILED, State.UNKNOWN, State.DISCARDED)
    resends = OutboxEntry.objects.filter(after, state=State.PENDING, waits_for__state__in=ended)
    for pk, state in resends.values_list("pk", "waits_for__state"):
        # The recall's own outcome tells the model: the message stands as it was.
        _discard(Q(pk=pk), f"recall_{state}", told_state=State.DISCARDED)


def recalled_on_platform(entry: OutboxEntry, *, by_bot: bool) -> bool:
    """sent → recalled, by the platform's own news. A recall of ours that waits for its answer is
    confirmed by news of the bot's own doing; whatever else stands behind is void."""
    with transaction.atomic():
        ours = entry.followers.filter(
            action=Action.RECALL, state__in=(State.SENDING, State.UNKNOWN)
        ).first()
        if by_bot and ours is not None and confirm(ours.pk):
            return True
        moved = OutboxEntry.objects.filter(pk=entry.pk, state=State.SENT).update(
            state=State.RECALLED,
            reason="recalled_by_hand" if by_bot else "recalled_by_admin",
            recalled_at=ClockTimestamp(),
        )
        follow_up(target_id=entry.pk)
    return bool(moved)


def connected(bot_id: int, connection_number: int, *, evidence: bool = True) -> int:
    """A new connection of the bot: what an earlier one was sending is unknown, since nobody will
    tell how it ended; the wait for evidence begins now. Returns how many became unknown."""
    now = database_now()
    seconds = settings.ARISE_SETTLE_SECONDS if evidence else 0
    until = now + timedelta(seconds=seconds)
    entries = OutboxEntry.objects.filter(bot_id=bot_id)
    theirs = Q(bot_id=bot_id, connection_number__lt=connection_number)
    with transaction.atomic():
        orphans = list(entries.filter(theirs, UNHEARD_OF).values_list("pk", flat=True))
        lost = entries.filter(UNHEARD_OF, pk__in=orphans).update(
            state=State.UNKNOWN, reason=CONNECTION_LOST, settled_at=now, error=""
        )
        mark_echoed(theirs)
        still_open = Q(evidence_until__isnull=True) | Q(evidence_until__gt=now)
        entries.filter(still_open, state=State.UNKNOWN).update(evidence_until=until)
        for pk in orphans:
            follow_up(target_id=pk)
    return lost


def sweep() -> None:
    """Discard what may not be sent any more, and settle what nobody is waiting for any more."""
    shadow.settle()
    standing.hold()
    now = database_now()
    # The patience of what is held stands still; the time in which a message can be recalled does not.
    runs = Q(held="") | Q(action=Action.RECALL)
    expired = _discard(runs & Q(expires_at__lte=now), "expired")
    closed = _discard(Q(chat__enabled=False), "chat_disabled")
    closed += _discard(Q(bot__enabled=False), "bot_disabled")
    closed += discard_disallowed(Q())
    settle = timedelta(seconds=settings.ARISE_SETTLE_SECONDS)
    abandoned = _abandoned(now)
    lost = OutboxEntry.objects.filter(abandoned, UNHEARD_OF).update(
        state=State.UNKNOWN, reason="sender_lost", settled_at=now, evidence_until=now + settle
    )
    mark_echoed(abandoned)
    # Found lost only after a newer connection was up: its wait has begun without it.
    OutboxEntry.objects.filter(
        state=State.UNKNOWN,
        evidence_until__isnull=True,
        bot__connection_number__gt=F("connection_number"),
    ).update(evidence_until=now + settle)
    behind = OutboxEntry.objects.exclude(target=None, waits_for=None)
    if behind.filter(state=State.PENDING).exists():
        with transaction.atomic():
            follow_up()
    if expired or closed or lost:
        logger.warning("Outbox: %d expired, %d switched off, %d lost", expired, closed, lost)


def _abandoned(now: datetime) -> Q:
    """What was claimed longer ago than any sender waits, also where it sends a second time."""
    text, media = answer_seconds(), max(answer_seconds(), MOST_MEDIA_SECONDS)
    has_media = Q(payload__isnull=False) | Q(parts__contains=stickers.OF_STICKER)
    return Q(~has_media, sending_at__lt=now - timedelta(seconds=2 * text + 30)) | Q(
        has_media, sending_at__lt=now - timedelta(seconds=2 * media + 30)
    )
