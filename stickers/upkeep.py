"""What is mended in the background: vectors that are missing, those of another model, and an index
for a scope that is too large to be compared one by one."""

import contextlib
import hashlib
import logging
import random
from collections.abc import Iterator, Sequence

from django.db import connection, transaction
from django.db.models import Count, Exists, Func, IntegerField, OuterRef, QuerySet

from core.errors import ModelFailure
from stickers import candidates, embeddings
from stickers.embeddings import Embedder, Prepared
from stickers.models import Sticker, StickerVector

logger = logging.getLogger(__name__)
_BATCH = 64
_MOST_BATCHES = 100  # a run; the next one goes on
_MOST_FAILURES = 3
_MOST_DROPPED = 10_000
_ENDS = 64
_LARGEST_INDEXED = 4000  # numbers of a vector


def embed_missing() -> int:
    """Embed the usable stickers that have no vector of the active model, and then drop those of
    other models, and of another size than the model gives now; how many were embedded.

    Runs in one process at a time, in bounded batches; search goes on meanwhile. What fails is
    tried again by the next run.
    """
    with _alone("stickers.embed_missing") as alone:
        if not alone:
            return 0
        embedder = embeddings.active()
        embedded = _embed(embedder)
        if not _missing(embedder.model).exists():
            _drop_others(embedder.model)
            _drop_other_sizes(embedder)
        return embedded


def waiting() -> int:
    """How many usable stickers have no vector of the active model."""
    return _missing(embeddings.active().model).count()


def _embed(embedder: Embedder) -> int:
    embedded, failures, size = 0, 0, _BATCH
    for _ in range(_MOST_BATCHES):
        stickers = _some(_missing(embedder.model), size, anywhere=failures > 0)
        if not stickers:
            break
        texts = [embeddings.text_of(sticker) for sticker in stickers]
        try:
            vectors = embeddings.embed(texts, embedder)
        except ModelFailure as failure:
            logger.warning("%s meanings were not embedded: %s", len(texts), failure)
            failures += 1
            if failures >= _MOST_FAILURES:
                break
            size = max(1, size // 8)  # one text that is refused must not keep all others waiting
            continue
        embedded += _write(embedder.model, stickers, texts, vectors)
    return embedded


def _missing(model: str) -> QuerySet[Sticker]:
    have = StickerVector.objects.filter(sticker=OuterRef("pk"), model=model)
    return Sticker.objects.filter(~Exists(have), state=Sticker.State.STORED)


def _some(missing: QuerySet[Sticker], size: int, *, anywhere: bool) -> list[Sticker]:
    """The next ones, or some from anywhere: what failed stands not in front of them again."""
    start = random.randrange(missing.count() or 1) if anywhere else 0  # noqa: S311  (no secret)
    return list(missing.order_by("pk")[start : start + size])


def _write(
    model: str, stickers: Sequence[Sticker], texts: Sequence[str], vectors: Sequence[list[float]]
) -> int:
    """Keep the vectors of those whose text is still the same; how many."""
    made = {
        sticker.pk: Prepared(model, vector, embeddings.digest(text))
        for sticker, text, vector in zip(stickers, texts, vectors, strict=True)
    }
    with transaction.atomic():
        now = Sticker.objects.select_for_update().filter(pk__in=made, state=Sticker.State.STORED)
        for sticker in now.order_by("pk"):
            embeddings.write(sticker, made[sticker.pk])
    return len(made)


def _drop_others(model: str) -> None:
    others = StickerVector.objects.exclude(model=model).values_list("pk", flat=True)
    StickerVector.objects.filter(pk__in=list(others[:_MOST_DROPPED])).delete()


def _drop_other_sizes(embedder: Embedder) -> None:
    """An endpoint may give another size one day: what can't be compared any more is made anew by the
    next run. The oldest and the newest vectors tell; only where they differ it is asked."""
    sized = StickerVector.objects.filter(model=embedder.model).annotate(size=_Size("vector"))
    ends = [sized.order_by(order).values_list("size", flat=True)[:_ENDS] for order in ("pk", "-pk")]
    if len({size for end in ends for size in end}) < 2:
        return
    try:
        (vector,) = embeddings.embed(["size"], embedder)
    except ModelFailure as failure:
        logger.warning("vectors of two sizes, and none can be made: %s", failure)
        return
    others = sized.exclude(size=len(vector)).values_list("pk", flat=True)
    dropped, _rows = StickerVector.objects.filter(pk__in=list(others[:_MOST_DROPPED])).delete()
    logger.warning("%s vectors of another size are made anew", dropped)


class _Size(Func):
    function = "vector_dims"
    output_field = IntegerField()


def index_large_scopes() -> list[str]:
    """Make an index for each scope with more than candidates.LARGE vectors of the active model, and
    drop those of scopes that shrank and of other models; the indexes that there are then.

    Made beside searches and writes (CONCURRENTLY), so not inside a transaction.
    """
    with _alone("stickers.index_large_scopes") as alone:
        if alone:
            wanted = {
                _name(scope, model, size): (scope, model, size) for scope, model, size in _large()
            }
            there = _indexes()
            for name, is_valid in there.items():
                if name not in wanted or not is_valid:  # one whose making broke off is not valid
                    _run(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"')
            for name, place in wanted.items():
                if not there.get(name):
                    _make(name, *place)
        return sorted(_indexes())


_PREFIX = "vector_near_"


def _large() -> list[tuple[int, str, int]]:
    model = embeddings.active().model
    counted = StickerVector.objects.filter(model=model).values_list("scope")
    large = counted.annotate(count=Count("pk")).filter(count__gt=candidates.LARGE)
    places = []
    for scope, _count in large:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT vector_dims(vector) FROM stickers_stickervector"
                " WHERE scope = %s AND model = %s ORDER BY id DESC LIMIT 1",
                [scope, model],
            )
            (size,) = cursor.fetchone()
        if size <= _LARGEST_INDEXED:
            places.append((scope, model, size))
    return places


def _name(scope: int, model: str, size: int) -> str:
    return f"{_PREFIX}{scope}_{hashlib.sha256(model.encode()).hexdigest()[:8]}_{size}"


def _indexes() -> dict[str, bool]:
    """Our indexes, and whether each is valid."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE i.indrelid = 'stickers_stickervector'::regclass AND starts_with(c.relname::text, %s)",
            [_PREFIX],
        )
        return dict(cursor.fetchall())


def _make(name: str, scope: int, model: str, size: int) -> None:
    kind = candidates.kind(size)
    logger.info(
        "an index is made for the %s", f"stickers of chat {scope}" if scope else "catalogue"
    )
    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '256MB'")
        try:
            cursor.execute(
                f'CREATE INDEX CONCURRENTLY "{name}" ON stickers_stickervector'
                f" USING hnsw ((vector::{kind}({size})) {kind}_cosine_ops)"
                f" WHERE scope = {int(scope)} AND model = %s AND vector_dims(vector) = {size}",
                [model],
            )
        finally:
            cursor.execute("RESET maintenance_work_mem")


def _run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@contextlib.contextmanager
def _alone(name: str) -> Iterator[bool]:
    """Whether nobody else is at it, on any machine; held on a connection of its own, since it is
    held over waits and outlasts transactions."""
    own = connection.copy()
    try:
        with own.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name])
            (taken,) = cursor.fetchone()
            try:
                yield taken
            finally:
                if taken:
                    cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])
    finally:
        own.close()
