"""Finding a sticker by what one wants to say: among a chat's own and the catalogue's, nothing else.

A search is two moves: `ask` embeds the query and may wait for the endpoint, outside of
transactions; `find` reads the database. The scope stands inside the one statement that `find`
makes; there is no index over the vectors of all chats, in which those of others would crowd out
a chat's own (docs/decisions/0016-sticker-search.md).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.utils import timezone

from core.models import Chat, SentMessage
from core.tools import queries
from stickers import candidates, embeddings, grams, scale
from stickers.embeddings import CATALOGUE, Embedder
from stickers.models import Sticker, StickerVector

MOST_HITS = 5
MOST_SHOWN = 20
_GRAM_WEIGHT = 0.25
_UNREAD_WEIGHT = 0.8
_ENOUGH = 0.9
_PENALTY = 0.15
_RECENT = timedelta(hours=1)
_MOST_RECENT = 20
_FLOOR_OF_ONE = 0.11
_FLOOR_BY_SIZE = 0.116
_LEAST_SIZE, _MOST_SIZE = 10, 2000
_SUPPORT = 3
_ALONE = 0.18
_BELOW = 0.10
_SHARE_OF_BEST = 0.5
_UNMEASURED = 0.04


@dataclass(frozen=True, slots=True)
class Query:
    """A query and its vector by one embedder."""

    text: str
    embedder: Embedder
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class Hit:
    """A sticker that came into question. `score` is how well it fits, about -0.1 to 1.3; the order
    also heeds what was sent here of late. `passes`: whether the model would be told of it."""

    sticker: Sticker
    score: float
    passes: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """What a search would find, for the console: the best of what came into question, and the floor
    that the best ones must reach together; `model` embedded the query."""

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
    found: dict[int, Hit] = {}
    for hit in _ranked(chat, query):
        if hit.passes:  # one picture once, though a chat and the catalogue both have it
            found.setdefault(hit.sticker.picture_id, hit)
    return list(found.values())[:limit]


def search(chat: Chat, text: str, limit: int = MOST_HITS) -> list[Hit]:
    """Both moves at once, for callers outside of transactions; raises ModelFailure."""
    cleaned = queries.clean(text)
    return find(chat, ask(chat, cleaned), limit) if cleaned else []


def preview(chat: Chat, text: str) -> Preview:
    """What the model would find, and what the floor keeps from it; raises ModelFailure."""
    cleaned = queries.clean(text)
    if not cleaned:
        return Preview([], 0.0, embeddings.active().model)
    query = ask(chat, cleaned)
    floor = _floor(chat, query.embedder)
    return Preview(_ranked(chat, query)[:MOST_SHOWN], floor, query.embedder.model)


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
    stretch = scale.stretch(query.embedder, len(query.vector))
    stickers = Sticker.objects.filter(usable(chat), pk__in=cosines).select_related("picture")
    scores = {
        sticker: _score(cosines[sticker.pk], stretch, pieces, sticker) for sticker in stickers
    }
    passing = least(list(scores.values()), _floor(chat, query.embedder))
    late = _lateness(chat, scores)
    ordered = sorted(scores, key=lambda sticker: (late[sticker] - scores[sticker], sticker.pk))
    return [Hit(sticker, scores[sticker], scores[sticker] >= passing) for sticker in ordered]


def _score(cosine: float | None, stretch: float, pieces: list[str], sticker: Sticker) -> float:
    """The cosine, and something for what a query says in the sticker's own words."""
    shared = grams.share(pieces, " ".join([sticker.meaning, *sticker.moods, sticker.words]))
    if cosine is None:
        return _UNREAD_WEIGHT * shared
    return 1 - (1 - cosine) * stretch + _GRAM_WEIGHT * shared


def _floor(chat: Chat, embedder: Embedder) -> float:
    """The more stickers there are, the better is the best of them by chance alone."""
    size = Sticker.objects.filter(usable(chat))[:_MOST_SIZE].count()
    floor = _FLOOR_OF_ONE + _FLOOR_BY_SIZE * math.log10(max(_LEAST_SIZE, size))
    return floor if embedder.is_built_in else floor - _UNMEASURED


def least(scores: Sequence[float], floor: float) -> float:
    """The score from which stickers pass. Where the best ones reach the floor together, those close
    to it, and not far behind the first, pass; else one has to stand out alone: what means nothing is seldom near to several."""
    best = sorted(scores, reverse=True)[:_SUPPORT]
    together = bool(best) and sum(best) / len(best) >= floor
    return max(floor - _BELOW, best[0] * _SHARE_OF_BEST) if together else floor + _ALONE


def _lateness(chat: Chat, stickers: Iterable[Sticker]) -> dict[Sticker, float]:
    """What each loses in the order for having been sent here of late: all of it just now, nothing
    after an hour."""
    now, sent_here = timezone.now(), _sent_here(chat)
    late = {}
    for sticker in stickers:
        own = sticker.last_sent_at if sticker.chat_id is not None else None
        times = [sent for sent in (own, sent_here.get(sticker.picture.sha256)) if sent]
        age = (now - max(times)) / _RECENT if times else 1.0
        late[sticker] = _PENALTY * min(1.0, max(0.0, 1 - age))
    return late


def _sent_here(chat: Chat) -> dict[str, datetime]:
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
