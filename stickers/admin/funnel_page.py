"""The funnel: what became of the pictures that were seen, and what learning took, by day."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import budgets, reach
from core.models import Chat, ModelCallCount
from stickers import funnel
from stickers.models import FunnelCount, OpenSighting

PERIODS: Mapping[str | Promise, int] = {
    gettext_lazy("today"): 1,
    gettext_lazy("last 7 days"): 7,
    gettext_lazy("last 30 days"): 30,
}
"""Days of each column, today among them: counts are kept by day."""
_MOST_CHATS = 20
_OF_CHATS = {
    "seen": (funnel.SEEN,),
    "paid": (funnel.PAID,),
    "stored": (funnel.STORED, funnel.REUSED),
    "sent": (funnel.SENT,),
}
_GROUPS: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    (gettext_lazy("On the way"), (funnel.CANDIDATE, funnel.PAID)),
    (gettext_lazy("Later"), (funnel.EVICTED, funnel.OFFERED, funnel.SENT)),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A number, and how long its bar is, in percent of the longest one of the column."""

    count: int
    percent: int


@dataclass(frozen=True, slots=True)
class Row:
    """A stage or a reason, with a cell for each period."""

    name: str | Promise
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat's figures of the longest period."""

    chat: Chat
    seen: int
    paid: int
    stored: int
    sent: int
    calls: int
    tokens: int


def load(request: HttpRequest, reached: QuerySet[Chat]) -> dict[str, Any]:
    """What the page shows: of one chat where the address names one, else of all that the person
    reaches."""
    chosen = request.GET.get("chat", "")
    chat = None
    if chosen:
        is_key = chosen.isdecimal() and len(chosen) <= 18
        chat = get_object_or_404(reached, pk=chosen if is_key else 0)
    counts = reach.narrowed(FunnelCount.objects.all(), reach.to_chat(), request.user)
    calls = reach.narrowed(
        ModelCallCount.objects.filter(purpose=budgets.Purpose.LEARNING),
        reach.to_chat(),
        request.user,
    )
    if chat is not None:
        counts, calls = counts.filter(chat=chat), calls.filter(chat=chat)
    under_way = reach.narrowed(OpenSighting.objects.all(), reach.to_chat(), request.user)
    if chat is not None:
        under_way = under_way.filter(chat=chat)
    return {
        "chat": chat,
        "is_limited": reach.of(request.user) is not None,
        "periods": list(PERIODS),
        "groups": list(_groups(_totals(counts), _under_way(under_way))),
        "spent": _spent(calls),
        "chats": [] if chat else _chats(counts, calls),
    }


def _since() -> list[date]:
    """The first day of each period."""
    return [budgets.today() - timedelta(days=days - 1) for days in PERIODS.values()]


def _sums(field: str) -> dict[str, Sum]:
    """Sums of a field by period, as `period0` and so on."""
    return {
        f"{field}{number}": Sum(field, filter=Q(day__gte=start))
        for number, start in enumerate(_since())
    }


def _totals(counts: QuerySet[FunnelCount]) -> list[dict[str, int]]:
    """For each period the totals by name, in one query."""
    rows: Any = counts.filter(day__gte=min(_since())).order_by().values("name")
    summed: list[dict[str, Any]] = list(rows.annotate(**_sums("times")))
    return [
        {row["name"]: row[f"times{number}"] or 0 for row in summed}
        for number in range(len(PERIODS))
    ]


def _under_way(sightings: QuerySet[OpenSighting]) -> list[int]:
    """How many of each period have not ended yet."""
    since = enumerate(_since())
    found = sightings.aggregate(
        **{f"n{number}": Count("pk", filter=Q(day__gte=start)) for number, start in since}
    )
    return [found[f"n{number}"] for number in range(len(PERIODS))]


def _groups(
    totals: Sequence[Mapping[str, int]], under_way: Sequence[int]
) -> Iterable[tuple[str | Promise, Sequence[Row]]]:
    longest = [max([1, *counts.values()]) for counts in totals]

    def cells(counts: Sequence[int]) -> list[Cell]:
        return [Cell(n, _percent(n, most)) for n, most in zip(counts, longest, strict=True)]

    def row(name: str) -> Row:
        return Row(funnel.label(name), cells([counts.get(name, 0) for counts in totals]))

    whole = totals[-1]
    drops = sorted(set(whole) - set(funnel.STAGES), key=lambda name: (-whole[name], name))
    yield _("Seen"), [row(funnel.SEEN)]
    # What was seen is the sum of what stands below, up to what is still under way.
    yield _("Went no further"), [row(name) for name in drops]
    yield _("What became of the others"), [row(name) for name in funnel.ENDS]
    yield _("Not ended yet"), [Row(_("still under way"), cells(under_way))]
    for heading, names in _GROUPS:
        yield heading, [row(name) for name in names]


def _percent(count: int, most: int) -> int:
    """Of what is there at all, something is to be seen."""
    return max(1, round(100 * count / most)) if count else 0


def _spent(calls: QuerySet[ModelCallCount]) -> Sequence[Row]:
    """Calls and tokens that learning took."""
    sums = calls.aggregate(**_sums("calls"), **_sums("tokens"))
    labels = {"calls": _("model calls"), "tokens": _("tokens")}
    return [
        Row(label, [Cell(sums[f"{field}{number}"] or 0, 0) for number in range(len(PERIODS))])
        for field, label in labels.items()
    ]


def _chats(counts: QuerySet[FunnelCount], calls: QuerySet[ModelCallCount]) -> Sequence[ChatRow]:
    """The chats in which most was seen."""
    since = min(_since())
    sums = {field: Sum("times", filter=Q(name__in=names)) for field, names in _OF_CHATS.items()}
    counted: Any = counts.filter(day__gte=since).order_by().values("chat").annotate(**sums)
    rows: list[dict[str, Any]] = list(
        counted.filter(seen__gt=0).order_by("-seen", "chat")[:_MOST_CHATS]
    )
    chats = Chat.objects.in_bulk([row["chat"] for row in rows])
    of_chats = calls.filter(day__gte=since, chat__in=chats).order_by().values("chat")
    took = of_chats.annotate(all_calls=Sum("calls"), all_tokens=Sum("tokens"))
    spent = {row["chat"]: (row["all_calls"], row["all_tokens"]) for row in took}
    return [
        ChatRow(
            chats[row["chat"]],
            row["seen"],
            row["paid"] or 0,
            row["stored"] or 0,
            row["sent"] or 0,
            *spent.get(row["chat"], (0, 0)),
        )
        for row in rows
    ]
