"""Charts as pictures that need no script: bars by the hour, drawn as SVG, and the same as a table.

The drawing is stretched to the width there is, so that words stand beside it and not in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import formats, timezone

from core.admin import display

HEIGHT = 100
HOUR = 20
"""The drawing's own units: its height, and the width of an hour."""
_GAP = 2
_LEAST = 1.5


@dataclass(frozen=True, slots=True)
class Series:
    """One figure by the hour; `look` names its colour in console.css, None is nothing known."""

    name: str
    look: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from the bottom up, in the drawing's units."""

    look: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """An hour: its bars, and its figures in words."""

    start: datetime
    x: int
    bars: Sequence[Bar]
    told: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Chart:
    """Series over the same hours. Bars stand side by side, or with `overlaid` in front of each other,
    the last series foremost."""

    name: str
    title: str
    hours: Sequence[datetime]
    series: Sequence[Series]
    digits: int = 0
    overlaid: bool = False

    @property
    def highest(self) -> float:
        """The value at the top; 0 where there is nothing to draw."""
        return max((value or 0 for one in self.series for value in one.values), default=0)

    @property
    def top(self) -> str:
        """The same in words."""
        return self._told(self.highest)

    @property
    def width(self) -> int:
        return HOUR * len(self.hours)

    @property
    def height(self) -> int:
        return HEIGHT

    @property
    def column_width(self) -> int:
        return HOUR

    @property
    def ticks(self) -> Sequence[datetime]:
        """Hours that are named under the drawing."""
        middle = len(self.hours) // 2
        return [self.hours[0], self.hours[middle], self.hours[-1]]

    @property
    def columns(self) -> Iterator[Column]:
        """One for each hour, the oldest first."""
        for number, start in enumerate(self.hours):
            cells = [self._told(one.values[number]) for one in self.series]
            named = display.listed(
                f"{one.name} {cell}" for one, cell in zip(self.series, cells, strict=True)
            )
            hour = timezone.localtime(start).strftime("%H:%M")
            yield Column(
                start, number * HOUR, list(self._bars(number)), display.titled(hour, named), cells
            )

    def _bars(self, number: int) -> Iterator[Bar]:
        side_by_side = 1 if self.overlaid else len(self.series)
        width = (HOUR - _GAP) / side_by_side
        for place, one in enumerate(self.series):
            value = one.values[number]
            if not value:
                continue
            height = round(max(_LEAST, HEIGHT * value / self.highest), 1)
            x = number * HOUR + _GAP / 2 + (0 if self.overlaid else place * width)
            yield Bar(one.look, x, round(HEIGHT - height, 1), width, height)

    def _told(self, value: float | None) -> str:
        return "–" if value is None else str(formats.number_format(value, self.digits))
