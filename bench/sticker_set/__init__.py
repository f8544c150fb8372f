"""A fixed set for the search of stickers, written by hand: what stickers say, and what one looks for.

`stickers.jsonl`: 1,104 stickers of 138 things that one says with a sticker (`label`), eight of each,
half of them in Chinese and half in English. `situations.jsonl`: 276 searches, plain and oblique,
with the labels that fit, and 128 where nothing fits. Weights and the floor are chosen by the half
`tuning` alone; a label's situations are all in one half.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
TUNING, HELD_OUT = "tuning", "held_out"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A sticker of the set."""

    label: str
    language: str
    meaning: str
    moods: list[str]
    use_when: str


@dataclass(frozen=True, slots=True)
class Situation:
    """A search, and the labels that fit it; none where nothing does."""

    query: str
    language: str
    fits: list[str]
    half: str


def meanings() -> list[Meaning]:
    """All stickers of the set."""
    return [Meaning(**values) for values in _lines("stickers.jsonl")]


def situations(half: str = "") -> list[Situation]:
    """All searches of the set, or those of one half."""
    read = [Situation(**values) for values in _lines("situations.jsonl")]
    return [one for one in read if half in ("", one.half)]


def by_chance(fitting: int, of: int, drawn: int) -> float:
    """How likely a random draw of so many has at least one that fits."""
    return 1 - comb(of - fitting, drawn) / comb(of, drawn)


def random_draw(
    searches: Sequence[Situation], stickers: Sequence[Meaning], drawn: int = 25
) -> float:
    """How often a random draw has one that fits, on average over the searches. That is generous to
    whoever draws: the one that fits has still to be picked from the draw."""
    shares = [
        by_chance(sum(one.label in search.fits for one in stickers), len(stickers), drawn)
        for search in searches
        if search.fits
    ]
    return sum(shares) / len(shares)


def _lines(name: str) -> list[dict[str, Any]]:
    with (_FOLDER / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
