"""What must hold once everything is quiet: the tables against the platforms' own record.

Texts are unique (tests.faults.talker), so a text that was delivered twice was said twice.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Prefetch, Q

from core import journal, records
from core.models import Chat, InboundItem, OutboxEntry, SentMessage, ToolCall, Turn, TurnStep
from tests.fakes.onebot import FakeOneBot
from tests.faults.talker import Asked, digest

State = OutboxEntry.State
OPEN = (State.PENDING, State.SENDING)
ARRIVED = (State.SENT, State.RECALLED)
NOT_ARRIVED = (State.PENDING, State.FAILED, State.DISCARDED)
ChatKey = tuple[str, str]


@dataclass(slots=True)
class Record:
    """What a platform that was never killed knows: by (bot, chat) what the bot said, in order, what
    of it was recalled, and the message ids of what people said, in order."""

    delivered: dict[ChatKey, list[str]] = field(default_factory=lambda: defaultdict(list))
    recalled: dict[ChatKey, set[str]] = field(default_factory=lambda: defaultdict(set))
    heard: dict[ChatKey, list[str]] = field(default_factory=lambda: defaultdict(list))


def record_of(platforms: Iterable[FakeOneBot]) -> Record:
    """What these platforms know."""
    record = Record()
    for platform in platforms:
        own = platform.world.self_id
        for said in platform.world.messages.values():
            key = (str(own), said.chat)
            if said.sender_id == own:
                record.delivered[key].append(said.text)
                if said.recalled:
                    record.recalled[key].add(said.text)
            else:
                record.heard[key].append(str(said.message_id))
    return record


@dataclass(slots=True)
class Findings:
    """Counts by name: those that must be 0, and those that only tell how much was tried."""

    faults: dict[str, int]
    told: dict[str, int]

    @property
    def broken(self) -> dict[str, int]:
        """The faults that there are."""
        return {name: count for name, count in self.faults.items() if count}


def open_work() -> dict[str, int]:
    """Rows that somebody still has to do something about: all 0 once everything is quiet."""
    return {
        "entries left open": OutboxEntry.objects.filter(state__in=OPEN).count(),
        "turns left running": Turn.objects.filter(state=Turn.State.RUNNING).count(),
        "chats left due or leased": Chat.objects.filter(
            Q(turn_due_at__isnull=False) | Q(lease_until__isnull=False)
        ).count(),
    }


def unstored(record: Record) -> int:
    """How much was said since a chat's first stored message and is not stored; before that one
    there is no gap."""
    count = 0
    for (bot, key), heard in record.heard.items():
        kind, _, external_id = key.partition(":")
        chat = Chat.objects.filter(bot__self_id=bot, kind=kind, external_id=external_id)
        items = InboundItem.objects.filter(chat__in=chat)
        stored = set(items.values_list("platform_message_id", flat=True))
        first = next((place for place, one in enumerate(heard) if one in stored), len(heard))
        count += sum(one not in stored for one in heard[first:])
    return count


def examine(record: Record, asked: Sequence[Asked]) -> Findings:
    """Check all that must hold. Call it when `open_work` is at rest."""
    sends, sends_told = _sends(record)
    items, items_told = _items(record)
    calls, calls_told = _model_calls(asked)
    return Findings(
        faults={**sends, **items, **calls, **open_work()},
        told={**items_told, **calls_told, **sends_told},
    )


def _sends(record: Record) -> tuple[dict[str, int], dict[str, int]]:
    written: dict[ChatKey, list[tuple[str, str]]] = defaultdict(list)
    entries = OutboxEntry.objects.filter(action=OutboxEntry.Action.SEND).order_by("pk")
    for entry in entries.select_related("chat", "bot").iterator():
        text = "".join(part["data"].get("text", "") for part in entry.parts)
        written[entry.bot.self_id, entry.chat.key].append((text, entry.state))
    states = Counter(state for entries in written.values() for _, state in entries)
    both = [(record.delivered[key], written[key]) for key in {*record.delivered, *written}]
    logged = Counter(line["send_state"] for line in records.sentlog(SentMessage.objects.all()))
    faults = {
        "messages said twice": sum(_twice(delivered) for delivered, _ in both),
        "chats out of order": sum(not _in_order(*pair) for pair in both),
        "delivered, not written": sum(len(set(d) - {text for text, _ in w}) for d, w in both),
        "sent, not delivered": sum(len(_of(w, ARRIVED) - set(d)) for d, w in both),
        "not sent, yet delivered": sum(len(_of(w, NOT_ARRIVED) & set(d)) for d, w in both),
        "recalled, still there": sum(
            len(_of(entries, (State.RECALLED,)) - record.recalled[key])
            for key, entries in written.items()
        ),
        "unknown, not in the Sent Log": abs(states[State.UNKNOWN] - logged[State.UNKNOWN]),
    }
    told = {
        "messages written": sum(states.values()),
        "messages delivered": sum(len(delivered) for delivered, _ in both),
        **{f"entries {state}": count for state, count in sorted(states.items())},
        "unknown, delivered": sum(len(_of(w, (State.UNKNOWN,)) & set(d)) for d, w in both),
    }
    return faults, told


def _twice(texts: Sequence[str]) -> int:
    return len(texts) - len(set(texts))


def _in_order(delivered: Sequence[str], written: Sequence[tuple[str, str]]) -> bool:
    """Whether what arrived came in the order written; what came again is another fault."""
    places = {text: place for place, (text, _) in enumerate(written)}
    came = [places[text] for text in dict.fromkeys(delivered) if text in places]
    return came == sorted(came)


def _of(written: Iterable[tuple[str, str]], states: Sequence[str]) -> set[str]:
    return {text for text, state in written if state in states}


def _items(record: Record) -> tuple[dict[str, int], dict[str, int]]:
    undecided = unanswered = own = count = 0
    items = InboundItem.objects.annotate(covering=records.covering_decision())
    for item in items.iterator():
        count += 1
        undecided += item.covering is None
        own += item.from_self
        unanswered += bool(item.trigger) and not item.is_old and item.turn_id is None
    faults = {
        "items with no decision": undecided,
        "mentions with no turn": unanswered,
        "own messages taken for items": own,
        "in the history, not stored": unstored(record),
    }
    told = {
        "messages of people": sum(len(heard) for heard in record.heard.values()),
        "items stored": count,
    }
    return faults, told


def _model_calls(asked: Sequence[Asked]) -> tuple[dict[str, int], dict[str, int]]:
    at = defaultdict[str, list[float]](list)
    for one in asked:
        at[one.digest].append(one.at)
    twice = steps = 0
    turns = Turn.objects.order_by("pk")
    for turn in turns.iterator():
        for step, wanted in _requests(turn):
            steps += 1
            committed = step.committed_at.timestamp()
            twice += sum(when > committed for when in at[digest(wanted)])
    ended = Counter(turns.values_list("state", flat=True))
    told = {
        "turns": sum(ended.values()),
        **{f"turns {state}": count for state, count in sorted(ended.items())},
        "model calls": len(asked),
        "steps committed": steps,
    }
    return {"model calls paid twice": twice}, told


def _requests(turn: Turn) -> Iterator[tuple[TurnStep, list[dict[str, Any]]]]:
    """Each committed step with the request that made it, as the journal has it."""
    messages: list[dict[str, Any]] = list(turn.messages)
    for step in turn.step_set.order_by("index").prefetch_related(
        Prefetch("tool_calls", ToolCall.objects.order_by("index"))
    ):
        yield step, [*messages, *step.messages_added]
        results = [(call.call_id, call.result) for call in step.tool_calls.all()]
        messages += journal.step_messages(step, results)
