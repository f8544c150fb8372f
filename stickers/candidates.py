"""The one statement that a search makes: which stickers come into question, and how near they are.

The scope, a chat's own stickers and the catalogue, stands in each part of it. Within a scope the
comparison is exact; a scope that is LARGE has an approximate index of its own (stickers.upkeep),
which the planner takes for that scope alone.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction

from stickers.embeddings import CATALOGUE

LARGE = 20_000
"""Vectors of a scope that are compared one by one within some 30 ms."""
NEAREST = 60  # of each scope are ranked
_MOST_UNREAD = 200
_READ_WHOLE = 2000
_TUNED = """
SELECT set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.ef_search', '200', true)
"""
# The order is written as the index of a large scope has it. The condition on the size keeps the
# cast, which fails for vectors of another size, from those.
_NEAR = """
(SELECT v.sticker_id, {order} AS distance
   FROM stickers_stickervector v JOIN stickers_sticker s ON s.id = v.sticker_id
  WHERE v.scope = {scope} AND v.model = %(model)s AND vector_dims(v.vector) = {size}
    AND s.state = 'stored' AND s.chat_id {chat}
  ORDER BY distance LIMIT %(nearest)s)
"""
# What has no vector that can be compared yet is found by its letters, in a scope small enough to be read whole.
_UNREAD = """
(SELECT s.id, NULL::float8
   FROM stickers_sticker s
  WHERE s.state = 'stored' AND s.chat_id {chat}
    AND (SELECT count(*) FROM (SELECT 1 FROM stickers_sticker one
                                WHERE one.state = 'stored' AND one.chat_id {chat}
                                LIMIT %(whole)s + 1) counted) <= %(whole)s
    AND (SELECT vector_dims(v.vector) FROM stickers_stickervector v
          WHERE v.sticker_id = s.id AND v.model = %(model)s) IS DISTINCT FROM {size}
    AND concat_ws(' ', s.meaning, array_to_string(s.moods, ' '), s.words) ILIKE ANY (%(likes)s)
  ORDER BY s.id DESC LIMIT %(unread)s)
"""


def find(
    chat_id: int, model: str, vector: Sequence[float], pieces: Sequence[str]
) -> dict[int, float | None]:
    """The nearest stickers that a chat may use, by key: the cosine of their vector and the given
    one, of the same model; None for those without such a vector that have one of the pieces."""
    sql, values = statement(chat_id, model, vector, pieces)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_TUNED)
        cursor.execute(sql, values)
        return {key: None if far is None else 1 - far for key, far in cursor.fetchall()}


def statement(
    chat_id: int, model: str, vector: Sequence[float], pieces: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    """The statement and its values."""
    size = len(vector)
    order = f"v.vector::{kind(size)}({size}) <=> %(vector)s::{kind(size)}({size})"
    near = {"order": order, "size": size}
    parts = [
        _NEAR.format(scope=int(chat_id), chat=f"= {int(chat_id)}", **near),
        _NEAR.format(scope=CATALOGUE, chat="IS NULL", **near),
    ]
    if pieces:
        parts += [_UNREAD.format(chat=chat, size=size) for chat in (f"= {int(chat_id)}", "IS NULL")]
    values = {
        "model": model,
        "vector": f"[{','.join(f'{number:.9g}' for number in vector)}]",  # of 32 bits each
        "nearest": NEAREST,
        "likes": [f"%{_escaped(piece)}%" for piece in pieces],
        "whole": _READ_WHOLE,
        "unread": _MOST_UNREAD,
    }
    return " UNION ALL ".join(parts), values


def kind(size: int) -> str:
    """The type by which vectors of that size are compared: an index has whole numbers up to 2,000
    of them, and halves up to 4,000."""
    return "vector" if size <= 2000 else "halfvec"


def _escaped(piece: str) -> str:
    return piece.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
