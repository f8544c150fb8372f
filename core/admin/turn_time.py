"""Where the time of a turn went, as a bar and in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.translation import gettext as _

from core.models import InboundItem, OutboxEntry, Turn, TurnStep

WIDTH = 1000
"""Of the bar, in its own units."""
_LEAST = 3


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch: its colour in conversation.css, what it was, and its place in the bar."""

    kind: str
    name: str
    seconds: float
    x: int
    width: int


class _Stretch(NamedTuple):
    kind: str
    name: str
    began: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        return max(0.0, (self.ended - self.began).total_seconds())


def spans(
    turn: Turn,
    items: Sequence[InboundItem],
    steps: Sequence[TurnStep],
    entries: Sequence[OutboxEntry],
) -> Sequence[Span]:
    """From the first word that addressed the bot to the last that left; nothing for a turn of which
    no step is committed."""
    stretches = [*_waiting(turn, items), *_thinking(turn, steps), *_sending(turn, steps, entries)]
    total = sum(stretch.seconds for stretch in stretches)
    if not steps or not total:
        return []
    shown: list[Span] = []
    x = 0
    for stretch in stretches:
        width = max(_LEAST, round(WIDTH * stretch.seconds / total))
        width = min(width, WIDTH - x)
        shown.append(Span(stretch.kind, stretch.name, stretch.seconds, x, width))
        x += width
    return shown


def _waiting(turn: Turn, items: Sequence[InboundItem]) -> Iterator[_Stretch]:
    addressed = [item.received_at for item in items if item.trigger]
    if not addressed:
        return
    last = max(items[-1].received_at, addressed[0])
    if last > addressed[0]:
        yield _Stretch("gathering", _("people went on writing"), addressed[0], last)
    yield _Stretch("waiting", _("waiting for quiet, then for a worker"), last, turn.started_at)


def _thinking(turn: Turn, steps: Sequence[TurnStep]) -> Iterator[_Stretch]:
    before = turn.started_at
    for step in steps:
        number = step.index + 1
        answered = step.started_at + timedelta(seconds=step.model_seconds)
        yield _Stretch("between", _("before step %(n)d") % {"n": number}, before, step.started_at)
        yield _Stretch("model", _("model, step %(n)d") % {"n": number}, step.started_at, answered)
        done = max(step.committed_at, answered)
        yield _Stretch("between", _("tools of step %(n)d") % {"n": number}, answered, done)
        before = done


def _sending(
    turn: Turn, steps: Sequence[TurnStep], entries: Sequence[OutboxEntry]
) -> Iterator[_Stretch]:
    settled = [entry.settled_at for entry in entries if entry.settled_at]
    if settled and steps:
        began = steps[-1].committed_at
        ended = max(*settled, began)
        for name, until in _held(entries, began, ended):
            yield _Stretch("waiting", name, began, until)
            began = until
        yield _Stretch("sending", _("typing and sending"), began, ended)


def _held(
    entries: Sequence[OutboxEntry], began: datetime, ended: datetime
) -> Iterator[tuple[str, datetime]]:
    """Why entries that were due did not leave, and until when that takes the bar from `began` on:
    those that were held at the same time are counted once."""
    counted, until = began, began
    for entry in entries:
        reviewed = None if entry.by_hand else entry.approved_at
        for name, freed in (
            (_("waiting for review"), reviewed),
            (_("held while it might not speak"), entry.released_at),
        ):
            since = max(entry.due_at, counted)
            if freed is not None and since < min(freed, ended):
                until += min(freed, ended) - since
                counted = min(freed, ended)
                yield name, until
