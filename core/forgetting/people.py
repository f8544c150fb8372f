"""Forgetting a person: what somebody said and did, what was learned from it, and where others, models
and the bot named that account.

Private chats with the person go whole. In groups the numbers of turns stay, without a word of what
was read and written in them. Names are known by the items and members, which therefore go last: what
broke off is finished by the next time.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import F, Max, Q, QuerySet, TextField
from django.db.models.functions import Cast, Greatest
from django.utils.translation import gettext as _

from core import addresses, audit, evidence, journal, recalls, sending
from core.database import ClockTimestamp
from core.forgetting import batches, chats, registry
from core.forgetting.traces import PLACEHOLDER, Traces, account_pattern
from core.leases import Held, Lease
from core.models import (
    Chat,
    InboundItem,
    Member,
    OutboxEntry,
    SentMessage,
    ToolCall,
    Turn,
    TurnRerun,
    TurnStep,
)

State = OutboxEntry.State
Action = OutboxEntry.Action
_TURNS = 50
_KEPT_OF_RESULTS = ("ok", "error", "handle")
_AT_PEOPLE = (Action.POKE, Action.LIKE)


def forget(
    user_id: str, *, within: QuerySet[Chat] | None = None, by: AbstractBaseUser | None = None
) -> Counter[str]:
    """Remove what is stored of a person, up to now, in all chats or `within` these; how many rows of
    each kind. Raises addresses.BadAddress where nobody knows the person, LeaseLost where the same is
    forgotten twice at once."""
    own, groups = find(user_id, within)
    went: Counter[str] = Counter()
    for chat in groups:
        went.update(_forget_in(chat, user_id, by))
    for chat in own:
        # Who is switched off stays so: a new chat would be switched on again.
        went.update(chats.forget(chat, by=by, with_row=chat.enabled))
    return +went


def find(user_id: str, within: QuerySet[Chat] | None = None) -> tuple[list[Chat], list[Chat]]:
    """The private chats with a person, and the other chats in which there is a trace of one; at
    least one chat. Raises addresses.BadAddress."""
    chosen = Chat.objects.all() if within is None else within
    if chosen.filter(bot__self_id=user_id).exists():
        raise addresses.BadAddress(
            _("%(account)s is a bot here; forget its chats, or name another bot with --bot.")
            % {"account": user_id}
        )
    known = chosen.select_related("bot").order_by("pk")
    is_own = Q(kind=Chat.Kind.PRIVATE, external_id=user_id)
    traced = {key for rows in _traced(user_id) for key in rows.values_list("chat", flat=True)}
    found = list(known.filter(is_own)), list(known.filter(pk__in=traced).exclude(is_own))
    if not any(found):
        raise addresses.BadAddress(
            _("No bot knows anybody with the account %(account)s.") % {"account": user_id}
        )
    return found


def _traced(user_id: str) -> Sequence[QuerySet[Any]]:
    said = Q(sender_id=user_id) | Q(kind=InboundItem.Kind.POKE, target_id=user_id)
    entries = OutboxEntry.objects.annotate(said=Cast("parts", TextField()))
    pattern = account_pattern(user_id)
    written = Q(content__regex=pattern) | Q(said__regex=pattern)
    at_them = Q(action__in=_AT_PEOPLE, subject=user_id)
    return (
        Member.objects.filter(user_id=user_id),
        InboundItem.objects.filter(said),
        _naming(user_id),
        entries.filter(written | at_them),
    )


def _naming(user_id: str) -> QuerySet[InboundItem]:
    """Items of others in which the account stands."""
    pattern = account_pattern(user_id)
    items = InboundItem.objects.annotate(said=Cast("parts", TextField()))
    named = Q(mentions__contains=[user_id]) | Q(text__regex=pattern) | Q(said__regex=pattern)
    return items.filter(named).exclude(sender_id=user_id)


def _forget_in(chat: Chat, user_id: str, by: AbstractBaseUser | None) -> Counter[str]:
    went: Counter[str] = Counter()
    traces = Traces(user_id, _names(chat, user_id))
    with batches.work(chat.pk) as lease:
        with batches.step(lease) as held:
            audit.keep(held.chat, {"person_forgotten": (False, True)}, by=by)
            broken_off = _break_off(held, traces)
            items = InboundItem.objects.filter(chat=chat)
            last: int = items.aggregate(last=Max("pk"))["last"] or 0
        theirs = _keys(items.filter(sender_id=user_id, pk__lte=last))
        asked = items.filter(sender_id=user_id).exclude(trigger="").exclude(turn=None)
        answers = set(asked.values_list("turn", flat=True))
        went["turns_emptied"] += _empty_turns(lease, traces, answers)
        went["words_emptied"] += _empty_words(lease, traces, answers)
        went["mentions"] += _clear_mentions(lease, traces, last)
        pokes = items.filter(kind=InboundItem.Kind.POKE, target_id=user_id, pk__lte=last)
        for keys in _chunks(_keys(pokes), batches.MOST):
            with batches.step(lease):
                went.update(_delete(chat, keys))
        for keys in _chunks(theirs, batches.MOST):
            with batches.step(lease):
                went.update(_forget_items(chat, keys))
        with batches.step(lease) as held:
            went["members"] += _leave(held, user_id)
            if broken_off is not None:
                recalls.judge_anew(held.chat, broken_off, held.now)
    return went


def _names(chat: Chat, user_id: str) -> frozenset[str]:
    """What the person is called in a chat: as a member, by what was said, by who mentioned."""
    members = Member.objects.filter(chat=chat, user_id=user_id)
    said = InboundItem.objects.filter(chat=chat, sender_id=user_id).order_by()
    names = {*members.values_list("name", flat=True)}
    names.update(said.values_list("sender_name", flat=True).distinct())
    for item in _naming(user_id).filter(chat=chat).only("parts").iterator(chunk_size=_TURNS):
        told = [part["data"] for part in item.parts if part["type"] == "mention"]
        names.update(
            str(data.get("name") or "").removeprefix("@")
            for data in told
            if str(data.get("id")) == user_id
        )
    return frozenset(names - {""})


def _break_off(held: Held, traces: Traces) -> Turn | None:
    """End a running turn that read of the person; what it has not sent yet is taken back."""
    turn = Turn.objects.filter(chat=held.chat, state=Turn.State.RUNNING).first()
    if turn is None or not traces.found_in(journal.request(turn)):
        return None
    OutboxEntry.objects.filter(turn=turn, state=State.PENDING).update(
        state=State.DISCARDED, reason=chats.FORGOTTEN, settled_at=ClockTimestamp()
    )
    sending.follow_up()
    turn.chat = held.chat
    state = Turn.State.DONE if turn.sends or turn.gestures else Turn.State.SILENT
    journal.end(held, turn, state, error=chats.FORGOTTEN)
    return turn


def _empty_turns(lease: Lease, traces: Traces, answers: set[int]) -> int:
    """Empty what models were given and wrote in turns that read of the person."""
    emptied = 0
    turns = Turn.objects.filter(chat=lease.chat_id).exclude(messages=[])
    for keys in _chunks(_keys(turns), _TURNS):
        found = set(keys) & answers
        rows = Turn.objects.filter(pk__in=keys).prefetch_related("step_set__tool_calls")
        found |= {turn.pk for turn in rows if traces.found_in(*_written(turn))}
        with batches.step(lease):
            _delete_reruns(keys, found, traces)
            calls = list(ToolCall.objects.filter(step__turn__in=found))
            for call in calls:
                call.arguments = ""
                call.result = {
                    key: call.result[key] for key in _KEPT_OF_RESULTS if key in call.result
                }
            ToolCall.objects.bulk_update(calls, ["arguments", "result"])
            steps = TurnStep.objects.filter(turn__in=found)
            steps.update(messages_added=[], answer={})
            Turn.objects.filter(pk__in=found).update(
                messages=[], tools=[], silence_reason="", error_detail=""
            )
        emptied += len(found)
    return emptied


def _delete_reruns(keys: Sequence[int], found: set[int], traces: Traces) -> None:
    """Delete what was asked again of turns that read of the person, or what names one itself."""
    reruns = TurnRerun.objects.filter(turn__in=keys)
    named = [
        rerun.pk
        for rerun in reruns
        if rerun.turn_id in found or traces.found_in(rerun.persona, rerun.steps, rerun.error_detail)
    ]
    TurnRerun.objects.filter(pk__in=named).delete()


def _written(turn: Turn) -> Sequence[Any]:
    """All that a turn has in words."""
    steps = turn.step_set.all()
    calls = [call for step in steps for call in step.tool_calls.all()]
    return (
        turn.messages,
        turn.silence_reason,
        turn.error_detail,
        [[step.messages_added, step.answer] for step in steps],
        [[call.name, call.arguments, call.result] for call in calls],
    )


def _empty_words(lease: Lease, traces: Traces, answers: set[int]) -> int:
    """Empty the bot's own words that name the person or answer one, and its gestures at that one."""
    emptied = 0
    told = ("content", "parts", "error", "action", "subject", "turn_id")
    for keys in _chunks(_keys(OutboxEntry.objects.filter(chat=lease.chat_id)), batches.MOST):
        rows = OutboxEntry.objects.filter(pk__in=keys).only(*told)
        found = [entry.pk for entry in rows if _is_about(entry, traces, answers)]
        if found:
            with batches.step(lease):
                emptied += _empty(found)
    return emptied


def _is_about(entry: OutboxEntry, traces: Traces, answers: set[int]) -> bool:
    if entry.action in OutboxEntry.GESTURES:
        return entry.action in _AT_PEOPLE and entry.subject == traces.user_id
    named = traces.found_in(entry.content, entry.parts, entry.error)
    return named or (entry.turn_id in answers and bool(entry.content or entry.parts))


def _empty(keys: Sequence[int]) -> int:
    """Take the words out of entries. What has not left does not leave; of what is being sent an
    answer may still tell, but it is not looked for: nobody knows any more what it said."""
    entries = OutboxEntry.objects.filter(pk__in=keys)
    locked = list(entries.select_for_update().order_by("pk").values_list("pk", flat=True))
    now = ClockTimestamp()
    ended = {"reason": chats.FORGOTTEN, "settled_at": now}
    discarded = entries.filter(state=State.PENDING).update(state=State.DISCARDED, **ended)
    sending.mark_echoed(Q(pk__in=locked))
    given_up = entries.filter(state=State.SENDING).update(state=State.UNKNOWN, **ended)
    entries.filter(state=State.UNKNOWN).update(
        evidence_until=now, history_asked=evidence.MOST_READS
    )
    entries.update(content="", parts=[], payload=None, error="")
    entries.filter(action__in=OutboxEntry.GESTURES).update(subject="")
    if discarded or given_up:
        sending.follow_up()
    batches.blank_log(OutboxEntry, locked)
    messages = SentMessage.objects.filter(entries__in=locked)
    batches.blank_log(SentMessage, list(messages.values_list("pk", flat=True)))
    return len(locked)


def _clear_mentions(lease: Lease, traces: Traces, last: int) -> int:
    """Take the account out of what others said."""
    cleared = 0
    items = _naming(traces.user_id).filter(chat=lease.chat_id, pk__lte=last)
    for keys in _chunks(_keys(items), batches.MOST):
        rows = list(InboundItem.objects.filter(pk__in=keys).only("text", "parts", "mentions"))
        for item in rows:
            item.parts = [traces.without(part) for part in item.parts]
            item.text = traces.without_account(item.text)
            item.mentions = [PLACEHOLDER if one == traces.user_id else one for one in item.mentions]
        with batches.step(lease):
            InboundItem.objects.bulk_update(rows, ["text", "parts", "mentions"])
        cleared += len(rows)
    return cleared


def _forget_items(chat: Chat, keys: list[int]) -> registry.Counts:
    """Delete items of the person, what was learned from them, and the reactions under them."""
    went: Counter[str] = Counter()
    items = list(InboundItem.objects.filter(pk__in=keys))
    for part in registry.parts():
        if part.of_items is not None:
            went.update(part.of_items(chat.pk, items))
    named = {item.platform_message_id for item in items} - {""}
    reactions = InboundItem.objects.filter(
        chat=chat, kind=InboundItem.Kind.REACTION, target_id__in=named
    )
    went.update(_delete(chat, [*keys, *set(_keys(reactions)).difference(keys)]))
    own = OutboxEntry.objects.filter(chat=chat, action=Action.REACTION, subject__in=named)
    went["words_emptied"] += _empty(_keys(own))
    return went


def _delete(chat: Chat, keys: list[int]) -> registry.Counts:
    """Delete items, which the chat counts no more; in a transaction that holds its row."""
    went = chats.delete_items(keys)
    left = Greatest(F("messages") - went["items"], 0)
    Chat.objects.filter(pk=chat.pk).update(messages=left)
    return went


def _leave(held: Held, user_id: str) -> int:
    """Take the person out of the chat's row and its members; how many rows of members went."""
    chat = held.chat
    latest = InboundItem.objects.filter(chat=chat).order_by("-pk").only("received_at").first()
    chat.last_message_at = latest.received_at if latest else None
    chat.save(update_fields=["last_message_at"])
    if user_id in chat.addressed_by:
        chat.addressed_by = [one for one in chat.addressed_by if one != user_id]
        chat.addressed_at = chat.addressed_at if chat.addressed_by else None
        chat.save(update_fields=["addressed_by", "addressed_at"])
    return batches.delete(Member.objects.filter(chat=chat, user_id=user_id))


def _keys(rows: QuerySet[Any]) -> list[int]:
    return list(rows.order_by("pk").values_list("pk", flat=True).distinct())


def _chunks(keys: Sequence[int], most: int) -> Iterable[list[int]]:
    for start in range(0, len(keys), most):
        yield list(keys[start : start + most])
