"""What differs between two texts, line by line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_LINES = 2000
_AROUND = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a comparison; the text of a `place` is the number of the old text's next line."""

    kind: Literal["added", "removed", "place", "same"]
    text: str


def compare(old: str, new: str) -> Sequence[Line] | None:
    """The changed lines with those around them; empty: nothing changed; None: too much to compare.

    Only what lies between the common beginning and the common end is compared, since the time
    grows with its square.
    """
    before, after = old.split("\n"), new.split("\n")
    first, last = _common(before, after)
    if max(len(before), len(after)) - first - last > MOST_LINES:
        return None
    start = max(first - _AROUND, 0)
    rest = max(last - _AROUND, 0)
    return list(
        _lines(before[start : len(before) - rest], after[start : len(after) - rest], start + 1)
    )


def _common(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """How many lines both begin with, and how many others both end with."""
    shorter = min(len(before), len(after))
    first = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    others = shorter - first
    last = next((n for n in range(others) if before[-1 - n] != after[-1 - n]), others)
    return first, last


def _lines(before: Sequence[str], after: Sequence[str], start: int) -> Iterator[Line]:
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(_AROUND):
        yield Line("place", str(start + group[0][1]))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (Line("same", text) for text in before[old_from:old_to])
            else:
                yield from (Line("removed", text) for text in before[old_from:old_to])
                yield from (Line("added", text) for text in after[new_from:new_to])
