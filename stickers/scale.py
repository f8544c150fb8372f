"""What the cosines of a model are worth: some give 0.1 to texts that have nothing in common, some 0.8."""

import time

from django.db import connection

from stickers.embeddings import Embedder

BUILT_IN_BACKGROUND = 0.17
"""Between meanings that have nothing in common, by the built-in encoder: what the floor is measured by."""
_SAMPLE = 400
_LEAST_SAMPLE = 50
_KEPT_SECONDS = 600.0
# The mean of all vectors tells the mean of the cosines of all pairs: its length, squared.
_BACKGROUND = """
SELECT count(*), vector_norm(avg(l2_normalize(vector))) ^ 2
  FROM (SELECT vector FROM stickers_stickervector
         WHERE model = %s AND vector_dims(vector) = %s LIMIT %s) sample
"""
_known: dict[tuple[str, int], tuple[float, float]] = {}


def stretch(embedder: Embedder, size: int) -> float:
    """By how much distances (1 - cosine) of a model are to be multiplied to be the built-in's.

    Told by a sample of the stored vectors; 1 while there are too few of them.
    """
    if embedder.is_built_in:
        return 1.0
    until, known = _known.get((embedder.model, size), (0.0, 1.0))
    if time.monotonic() < until:
        return known
    with connection.cursor() as cursor:
        cursor.execute(_BACKGROUND, [embedder.model, size, _SAMPLE])
        count, squared = cursor.fetchone()
    if count < _LEAST_SAMPLE:
        return 1.0
    background = (count * squared - 1) / (count - 1)  # without each one's pair with itself
    found: float = min(6.0, max(0.5, (1 - BUILT_IN_BACKGROUND) / max(0.001, 1 - background)))
    _known[embedder.model, size] = (time.monotonic() + _KEPT_SECONDS, found)
    return found
