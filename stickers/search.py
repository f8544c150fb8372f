"""Finding a sticker by what one wants to say: among a chat's own and the catalogue's, nothing else.

A search is two moves: `ask` embeds the query and may wait for the endpoint, outside of
transactions; `find` reads the database. The scope stands inside the one statement that `find`
makes; there is no index over the vectors of all chats, in which those of others would crowd out
a chat's own (docs/decisions/0016-sticker-search.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from core.models import Chat, SentMessage
from core.tools import queries
from stickers import candidates, embeddings, grams
from stickers.embeddings import CATALOGUE, Embedder
from stickers.models import Sticker, StickerVector

MOST_HITS = 5
MOST_SHOWN = 20
FLOOR = 0.30
_GRAM_WEIGHT = 0.25
_UNREAD_WEIGHT = 0.8
_ENOUGH = 0.9
_PENALTY = 0.15
_RECENT = timedelta(hours=1)
_MOST_RECENT = 20


@dataclass(frozen=True, slots=True)
class Query:
    """A query and its vector by one embedder."""

    text: str
    embedder: Embedder
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class Hit:
    """A sticker that was found. `score` is how well it fits, about -0.1 to 1.3; the order also heeds what
    was sent here lately. `passes`: whether the model would be told of it."""

    sticker: Sticker
    score: float
    passes: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """What a search would find, for the console: all that came into question, best first."""

    hits: list[Hit]
    floor: float
    model: str


def usable(chat: Chat) -> Q:
    """The stickers that a chat may use."""
    return Q(state=Sticker.State.STORED) & (Q(chat=chat) | Q(chat=None))


def ask(chat: Chat, text: str) -> Query:
    """Embed a cleaned query by whoever embedded most of the chat's stickers; raises ModelFailure."""
    embedder = _embedder(chat)
    (vector,) = embeddings.embed([text], embedder)
    return Query(text, embedder, vector)


def find(chat: Chat, query: Query, limit: int = MOST_HITS) -> list[Hit]:
    """The stickers that fit, best first; none where nothing fits well enough."""
    return [hit for hit in _ranked(chat, query) if hit.passes][:limit]


def search(chat: Chat, text: str, limit: int = MOST_HITS) -> list[Hit]:
    """Both moves at once, for callers outside of transactions; raises ModelFailure."""
    cleaned = queries.clean(text)
    return find(chat, ask(chat, cleaned), limit) if cleaned else []


def preview(chat: Chat, text: str) -> Preview:
    """What the model would find, and what the floor keeps from it; raises ModelFailure."""
    cleaned = queries.clean(text)
    if not cleaned:
        return Preview([], FLOOR, embeddings.active().model)
    query = ask(chat, cleaned)
    return Preview(_ranked(chat, query)[:MOST_SHOWN], FLOOR, query.embedder.model)


def _embedder(chat: Chat) -> Embedder:
    """The embedder of the settings. After these were changed, the built-in one goes on serving a chat
    until the new one's vectors are there: it costs nothing, and vectors of two can't be compared."""
    active = embeddings.active()
    if active.is_built_in:
        return active
    scopes = [chat.pk, CATALOGUE]
    kept = StickerVector.objects.filter(scope__in=scopes, model=embeddings.BUILT_IN.model)
    if not kept.exists():
        return active
    models = [active.model, embeddings.BUILT_IN.model]
    counted = StickerVector.objects.filter(scope__in=scopes, model__in=models)
    counts = dict(counted.values_list("model").annotate(Count("pk")))
    enough = _ENOUGH * counts.get(embeddings.BUILT_IN.model, 0)
    return active if counts.get(active.model, 0) >= enough else embeddings.BUILT_IN


def _ranked(chat: Chat, query: Query) -> list[Hit]:
    pieces = grams.of(query.text)
    cosines = candidates.find(chat.pk, query.embedder.model, query.vector, pieces)
    stickers = Sticker.objects.filter(usable(chat), pk__in=cosines).select_related("picture")
    now, sent_here = timezone.now(), _sent_here(chat)
    ranked = []
    for sticker in stickers:
        score = _score(cosines[sticker.pk], pieces, sticker)
        sent_at = sent_here.get(sticker.picture.sha256)
        if sticker.chat_id is not None and sticker.last_sent_at is not None:
            sent_at = max(filter(None, (sent_at, sticker.last_sent_at)))
        age = (now - sent_at) / _RECENT if sent_at else 1.0
        ranked.append((score - _PENALTY * max(0.0, 1 - age), Hit(sticker, score, score >= FLOOR)))
    ranked.sort(key=lambda pair: (-pair[0], pair[1].sticker.pk))
    return [hit for _, hit in ranked]


def _score(cosine: float | None, pieces: list[str], sticker: Sticker) -> float:
    """The cosine, and something for what a query says in the sticker's own words."""
    shared = grams.share(pieces, " ".join([sticker.meaning, *sticker.moods, sticker.words]))
    return _UNREAD_WEIGHT * shared if cosine is None else cosine + _GRAM_WEIGHT * shared


def _sent_here(chat: Chat) -> dict[str, Any]:
    """When pictures were sent in this chat of late, by their sha256."""
    recent = SentMessage.objects.filter(
        chat=chat, kind=SentMessage.Kind.STICKER, created_at__gt=timezone.now() - _RECENT
    )
    sent = recent.order_by("-pk").values_list("entry__parts", "created_at")[:_MOST_RECENT]
    return {
        part.get("data", {}).get("sha256", ""): sent_at
        for parts, sent_at in reversed(sent)
        for part in parts or ()
    }
