"""Whether two pictures are the same one, however each was encoded: told from their grey samples.

A difference hash finds candidates and can't decide: two captions of one template may have the same
one. What decides is the brightness of 16×16 blocks. The numbers below come from an experiment that
docs/decisions/0015-stickers.md tells of.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

SIDE = 64
GRID = 16
NEAR_BITS = 8
"""Candidates differ in at most so many of a frame's 64 bits."""
MARGIN = 6.5
"""Of 255 steps of grey: where a block differs by more, it is another picture."""
SLACK = 0.08
"""How far towards its neighbours' brightness a block may be off unnoticed: scaling moves edges."""
_STEP = SIDE // GRID
_HASH_ROWS, _HASH_COLUMNS = 8, 9
_STRIP = SIDE // _HASH_COLUMNS
_NOISE = 2 * (SIDE // _HASH_ROWS) * _STRIP
"""Two steps of grey, over a field of the hash: plain areas are not told apart by their noise."""


@dataclass(frozen=True, slots=True)
class Look:
    """A picture in numbers: 64 bits (signed, as Postgres has them) and 256 blocks a frame."""

    hashes: tuple[int, ...]
    blocks: bytes


def look_of(samples: Sequence[bytes]) -> Look:
    """The look of a picture whose frames were sampled as 64×64 bytes of grey each."""
    if not samples or any(len(sample) != SIDE * SIDE for sample in samples):
        raise ValueError("samples are 64×64 bytes each")
    return Look(tuple(map(_hash, samples)), b"".join(map(_blocks, samples)))


def same(one: Look, other: Look) -> bool:
    """Whether two looks are of one picture: of as many frames, no block of which differs."""
    if len(one.hashes) != len(other.hashes):
        return False
    bits = (_bits_apart(a, b) for a, b in zip(one.hashes, other.hashes, strict=True))
    return max(bits) <= NEAR_BITS and difference(one, other) <= MARGIN


def difference(one: Look, other: Look) -> float:
    """By how much the block that differs most does, over all frames; both have as many of them."""
    frames = range(0, len(one.blocks), GRID * GRID)
    cut = [(_frame(one, start), _frame(other, start)) for start in frames]
    return max(min(_largest(a, b), _largest(b, a)) for a, b in cut)


def find(look: Look) -> int | None:
    """The id of the picture that has this look, whatever became of it; the oldest, where several
    do. Reads the whole of a narrow table."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT picture_id, hashes, blocks FROM stickers_fingerprint
             WHERE cardinality(hashes) = cardinality(%(hashes)s::bigint[])
               AND bit_count((hashes[1] # (%(hashes)s::bigint[])[1])::bit(64)) <= %(near)s
             ORDER BY picture_id
            """,
            {"hashes": list(look.hashes), "near": NEAR_BITS},
        )
        rows = cursor.fetchall()
    return next(
        (pk for pk, hashes, blocks in rows if same(look, Look(tuple(hashes), bytes(blocks)))), None
    )


def _bits_apart(one: int, other: int) -> int:
    return ((one ^ other) & (1 << 64) - 1).bit_count()


def _hash(sample: bytes) -> int:
    """64 bits: whether each of 8×9 fields is darker than the one to its right."""
    bits = 0
    for row in range(_HASH_ROWS):
        fields = [
            _sum(sample, column * _STRIP, row * _STEP * 2, _STRIP, _STEP * 2)
            for column in range(_HASH_COLUMNS)
        ]
        for left, right in itertools.pairwise(fields):
            bits = bits << 1 | (right > left + _NOISE)
    return bits - (1 << 64) if bits >> 63 else bits


def _blocks(sample: bytes) -> bytes:
    return bytes(
        round(_sum(sample, column * _STEP, row * _STEP, _STEP, _STEP) / _STEP**2)
        for row in range(GRID)
        for column in range(GRID)
    )


def _sum(sample: bytes, left: int, top: int, width: int, height: int) -> int:
    starts = range(top * SIDE + left, (top + height) * SIDE + left, SIDE)
    return sum(sum(sample[start : start + width]) for start in starts)


def _frame(look: Look, start: int) -> bytes:
    return look.blocks[start : start + GRID * GRID]


def _largest(one: bytes, other: bytes) -> float:
    """How far a block of `one` is at most beyond what `other` has there, with its slack."""
    largest = 0.0
    for row in range(GRID):
        rows = range(max(0, row - 1), min(GRID, row + 2))
        for column in range(GRID):
            here = other[row * GRID + column]
            left, right = max(0, column - 1), column + 2
            around = [
                other[line * GRID + left : min(line * GRID + right, (line + 1) * GRID)]
                for line in rows
            ]
            low = here + SLACK * (min(map(min, around)) - here)
            high = here + SLACK * (max(map(max, around)) - here)
            value = one[row * GRID + column]
            largest = max(largest, low - value, value - high)
    return largest
