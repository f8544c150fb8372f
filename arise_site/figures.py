"""How the bots do, in numbers: what the landing page shows and what /metrics tells.

Each figure is within one person's reach, and one query however many rows there are. What has to look
at many rows is shared for a few seconds by all who reach the same.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count, DurationField, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Greatest, TruncHour
from django.utils import timezone

from botgateway.admin import RefusedConnectionAdmin
from botgateway.models import RefusedConnection
from core import budgets, reach
from core.admin import review
from core.models import (
    Bot,
    Chat,
    DeliveryMode,
    InboundItem,
    ModelCallCount,
    OutboxEntry,
    Turn,
)
from core.reach import Person
from stickers import funnel
from stickers.admin.gallery import StickerAdmin
from stickers.models import FunnelCount, Sticker

Found = TypeVar("Found")
HOURS = 24
LATELY = timedelta(hours=HOURS)
SHARED_SECONDS = 10
MOST_TURNS = 5_000
"""Of more turns in a day only every second, third … one is looked at for the latency."""

_State, _Action = OutboxEntry.State, OutboxEntry.Action
_OPEN = (_State.PENDING, _State.SENDING, _State.UNKNOWN)
CHANGES = (_Action.RECALL, _Action.EDIT)
WENT_WRONG = (_State.FAILED, _State.UNKNOWN)
LOST = (Turn.State.FAILED, Turn.State.ABANDONED)
STAGES = tuple(funnel.STAGES)
SAID = Q(action="send", state__in=("sent", "recalled"))
"""Messages that were there to be read, also where they were taken back later."""
_HELD_FOR = Greatest(
    Greatest("approved_at", "released_at") - F("due_at"),
    timedelta(0),
    output_field=DurationField(),
)
"""For how long an entry that would have gone at `due_at` was held (NULLs are left out)."""


class Within:
    """The rows that a person reaches."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.is_limited = reach.of(person) is not None
        self.bots = reach.narrowed(Bot.objects.all(), reach.to_bot("pk"), person)
        self.chats = reach.narrowed(Chat.objects.all(), reach.to_chat("pk"), person)
        self.items = self._of_chats(InboundItem.objects.all())
        self.turns = self._of_chats(Turn.objects.all())
        self.entries = self._of_chats(OutboxEntry.objects.all())
        self.calls = self._of_chats(ModelCallCount.objects.all())
        self.funnel = self._of_chats(FunnelCount.objects.all())
        refusals = RefusedConnection.objects.all()
        self.refusals = reach.narrowed(refusals, RefusedConnectionAdmin.belongs, person)
        self.stickers = reach.narrowed(Sticker.objects.all(), StickerAdmin.belongs, person)

    def seen_bots(self) -> QuerySet[Bot]:
        """Also those whose own page the person does not reach, but of whom he sees a chat."""
        if not self.is_limited:
            return self.bots
        of_chats = self.chats.order_by().values("bot")
        return Bot.objects.filter(Q(pk__in=self.bots.values("pk")) | Q(pk__in=of_chats))

    def _of_chats(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return reach.narrowed(rows, reach.to_chat(), self.person)

    @property
    def key(self) -> str:
        """The same for all who reach the same."""
        found = reach.of(self.person)
        told = "everything" if found is None else f"{sorted(found.bots)} {sorted(found.chats)}"
        return hashlib.sha256(told.encode()).hexdigest()


def everything() -> Within:
    """What nobody's limit narrows."""
    return Within(User(is_superuser=True))


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits or runs now. Of what is `pending`, `ready` is what nothing holds; `held`: entries by
    why they wait although they are due, without those that wait for review; `modes`: chats by their
    delivery mode, those that are not live."""

    due: int
    running: int
    pending: int
    ready: int
    sending: int
    held: Mapping[str, int]
    review: int
    unknown_messages: int
    unknown_changes: int
    unknown: int
    paused_bots: int
    paused_chats: int
    modes: Mapping[str, int]
    stickers_in_review: int


def backlog(within: Within) -> Backlog:
    """Count what waits or runs."""
    unknown = Q(state=_State.UNKNOWN)
    counted: dict[str, int] = within.entries.filter(state__in=_OPEN).aggregate(
        pending=Count("pk", filter=Q(state=_State.PENDING)),
        ready=Count("pk", filter=Q(state=_State.PENDING, held="")),
        sending=Count("pk", filter=Q(state=_State.SENDING)),
        unknown_messages=Count("pk", filter=unknown & Q(action=_Action.SEND)),
        unknown_changes=Count("pk", filter=unknown & Q(action__in=CHANGES)),
        unknown=Count("pk", filter=unknown),
    )
    return Backlog(
        due=within.chats.filter(turn_due_at__isnull=False).count(),
        running=within.turns.filter(state=Turn.State.RUNNING).count(),
        held=_held(within),
        review=review.waiting(within.entries).count(),
        paused_bots=within.bots.filter(paused_at__isnull=False).count(),
        paused_chats=within.chats.filter(paused_at__isnull=False).count(),
        modes=_modes(within),
        stickers_in_review=within.stickers.filter(state=Sticker.State.REVIEW).count(),
        **counted,
    )


def _modes(within: Within) -> dict[str, int]:
    others = within.chats.exclude(delivery_mode=DeliveryMode.LIVE).order_by()
    return dict(others.values_list("delivery_mode").annotate(count=Count("pk")))


def _held(within: Within) -> dict[str, int]:
    held = within.entries.filter(state=_State.PENDING).exclude(held__in=("", "review"))
    return dict(held.order_by("held").values_list("held").annotate(count=Count("pk")))


@dataclass(frozen=True, slots=True)
class Failed:
    """What failed in the last HOURS hours or is unknown since then, by state."""

    turns: Mapping[str, int]
    entries: Mapping[str, int]


def failed(within: Within) -> Failed:
    """Count what went wrong."""
    since = timezone.now() - LATELY
    turns = within.turns.filter(state__in=LOST, ended_at__gte=since, started_at__gte=since - LATELY)
    entries = within.entries.filter(state__in=WENT_WRONG, settled_at__gte=since)
    return Failed(*(_by_state(rows) for rows in (turns, entries)))


def _by_state(rows: QuerySet[Any]) -> dict[str, int]:
    return dict(rows.order_by().values_list("state").annotate(count=Count("pk")))


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from the first item that addressed the bot until its first message was there, without
    the time for which that was held (for review, or where the bot might not speak): the median and the
    95th percentile; None where nothing was answered."""

    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class Hour:
    """What came and went within one hour, and how long answers took to what began in it."""

    start: datetime
    received: int
    sent: int
    latency: Latency


@dataclass(frozen=True, slots=True)
class Traffic:
    """The last HOURS hours, of which the last one still runs, and the last sixty minutes. Latencies are
    those of every `nth` turn."""

    hours: Sequence[Hour]
    received: int
    sent: int
    latency: Latency
    nth: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Model calls and tokens of today for one purpose, and in how many chats the budget is used up."""

    purpose: str
    calls: int
    tokens: int
    chats_at_the_end: int


@dataclass(frozen=True, slots=True)
class Today:
    """What was spent today, by purpose, and the funnel of the stickers."""

    spent: Sequence[Spent]
    funnel: Mapping[str, int]


def traffic(within: Within) -> Traffic:
    """What came and went lately; shared."""
    return _shared(f"traffic:{within.key}", lambda: _traffic(within, timezone.now()))


def today(within: Within) -> Today:
    """What today took so far; shared."""
    return _shared(f"today:{within.key}", lambda: Today(_spent(within), _funnel(within)))


def _shared(key: str, load: Callable[[], Found]) -> Found:
    found: Found | None = cache.get(key)
    if found is None:
        found = load()
        cache.set(key, found, SHARED_SECONDS)
    return found


def _traffic(within: Within, now: datetime) -> Traffic:
    since = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    since -= timedelta(hours=HOURS - 1)
    said = within.entries.filter(SAID)
    received, sent = (
        _by_hour(within.items, "received_at", since),
        _by_hour(said, "settled_at", since),
    )
    answered, nth = _answered(within, since)
    starts = [since + timedelta(hours=number) for number in range(HOURS)]
    last = now - timedelta(hours=1)
    return Traffic(
        hours=[
            Hour(
                start,
                received.get(start, 0),
                sent.get(start, 0),
                _latency(took for at, took in answered if start <= at < start + timedelta(hours=1)),
            )
            for start in starts
        ],
        received=within.items.filter(received_at__gte=last).count(),
        sent=said.filter(settled_at__gte=last).count(),
        latency=_latency(took for at, took in answered if at >= last),
        nth=nth,
    )


def _by_hour(rows: QuerySet[Any], field: str, since: datetime) -> dict[datetime, int]:
    hours = rows.filter(**{f"{field}__gte": since}).order_by()
    counted = hours.annotate(hour=TruncHour(field, tzinfo=UTC)).values_list("hour")
    return dict(counted.annotate(count=Count("*")))


def _answered(within: Within, since: datetime) -> tuple[list[tuple[datetime, float]], int]:
    """When each turn that said something began and how many seconds it took; of every nth turn."""
    turns = within.turns.filter(started_at__gte=since)
    nth = turns.count() // MOST_TURNS + 1
    addressed = (
        InboundItem.objects.filter(
            chat=OuterRef("chat"),
            pk__gte=OuterRef("first_item_id"),
            pk__lte=OuterRef("last_item_id"),
        )
        .exclude(trigger="")
        .order_by("pk")
    )
    said = OutboxEntry.objects.filter(SAID, turn=OuterRef("pk")).order_by("settled_at")
    rows = (
        turns.annotate(rest=F("pk") % nth)
        .filter(rest=0)
        .order_by()
        .values_list(
            "started_at",
            Subquery(addressed.values("received_at")[:1]),
            Subquery(said.values("settled_at")[:1]),
            Subquery(said.annotate(waited=_HELD_FOR).values("waited")[:1]),
        )
    )
    found = [
        (began, max(0.0, (first - asked - held).total_seconds()))
        for began, asked, first, held in rows
        if asked and first
    ]
    return found, nth


def _latency(took: Any) -> Latency:
    ordered = sorted(took)
    if not ordered:
        return Latency()
    return Latency(*(ordered[min(len(ordered) - 1, int(len(ordered) * of))] for of in (0.5, 0.95)))


def _spent(within: Within) -> list[Spent]:
    purpose = ModelCallCount.Purpose
    used_up = {
        purpose.CHAT: Q(calls__gte=F("chat__daily_model_calls")),
        purpose.LEARNING: Q(calls__gte=F("chat__sticker_daily_calls"))
        | Q(tokens__gte=F("chat__sticker_daily_tokens")),
    }
    sums: dict[str, Any] = {}
    for name, is_used_up in used_up.items():
        of = Q(purpose=name)
        sums |= {
            f"{name}_calls": Sum("calls", filter=of, default=0),
            f"{name}_tokens": Sum("tokens", filter=of, default=0),
            f"{name}_chats": Count("pk", filter=of & is_used_up & Q(calls__gt=0)),
        }
    counted = within.calls.filter(day=budgets.today()).aggregate(**sums)
    # By the day are those of turns run again; a conversation's own are counted by its turns.
    counted["chat_tokens"] += _tokens_of_turns(within)
    return [
        Spent(name, counted[f"{name}_calls"], counted[f"{name}_tokens"], counted[f"{name}_chats"])
        for name in used_up
    ]


def _tokens_of_turns(within: Within) -> int:
    # The site's day, as budgets have it; the person who looks may live in another zone.
    now = timezone.localtime(timezone=timezone.get_default_timezone())
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    turns = within.turns.filter(started_at__gte=midnight)
    total: int = turns.aggregate(
        total=Sum("prompt_tokens", default=0) + Sum("completion_tokens", default=0)
    )["total"]
    return total


def _funnel(within: Within) -> dict[str, int]:
    counted = within.funnel.filter(day=budgets.today()).order_by().values_list("name")
    return dict(counted.annotate(total=Sum("times")))
