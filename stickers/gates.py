"""Every free gate before anything that costs: no download, no model call behind a closed one.

They are asked in one order, for what came in and again by the task that learns it: a chat may have
been switched off in between.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection

from core import budgets, capabilities
from core.llm import routing
from core.models import Chat
from stickers import claims, funnel
from stickers.models import Picture, Sticker

STICKER = "sticker"
Part = Mapping[str, Any]
"""A part of an item, as core.messages describes it."""


def stable_id(part: Part) -> str:
    """`mface:…` or `md5:…`, where the part has one."""
    return str(part["data"].get("id") or "")[:140]


def closed(chat: Chat) -> str:
    """The reason for which a chat learns nothing now; the empty string where it does."""
    if not (chat.sticker_learning and chat.enabled and chat.bot.enabled):
        return funnel.OFF
    return "" if capabilities.in_chat(chat).capabilities["sticker"] else funnel.CAPABILITY


@dataclass(frozen=True, slots=True)
class Fate:
    """What is to become of a picture that is known: the reason to stop, or (`reuses`) its meaning
    is to be used in a further chat."""

    reason: str = ""
    reuses: bool = False


def fate(chat: Chat, picture: Picture) -> Fate:
    """What a known picture means for a chat."""
    if picture.verdict in claims.REJECTED:
        return Fate(funnel.KNOWN_REJECTED)
    own = Sticker.objects.filter(picture=picture, chat=chat).values_list("state", flat=True).first()
    if own is not None:
        rejected = own not in (
            Sticker.State.LEARNING,
            Sticker.State.STORED,
            Sticker.State.REVIEW,
        )
        return Fate(funnel.KNOWN_REJECTED if rejected else funnel.KNOWN)
    if picture.verdict == Picture.Verdict.LEARNING:
        return Fate(funnel.KNOWN)
    catalogue = Sticker.objects.filter(picture=picture, chat=None, state=Sticker.State.STORED)
    if catalogue.exists():
        return Fate(funnel.KNOWN)
    if not (picture.shareable and picture.learned):
        return Fate(funnel.NOT_SHARED)
    return Fate(reuses=True)


def affordable(chat: Chat, *, reuses: bool) -> str:
    """The reason for which a sticker can't be learned or reused now, before it is fetched."""
    if not has_room(chat):
        return funnel.NO_ROOM
    if calls_needed(reuses=reuses) and budgets.is_spent(chat, purpose=budgets.Purpose.LEARNING):
        return funnel.BUDGET
    return "" if reuses or routing.first_that_takes(STICKER) else funnel.NO_MODEL


def calls_needed(*, reuses: bool) -> int:
    """How many model calls it takes: one that sees the picture, unless its meaning is known, and
    one of the guard's, where it has a model."""
    return (0 if reuses else 1) + (1 if settings.ARISE_GUARD_MODEL else 0)


def has_room(chat: Chat) -> bool:
    """Whether a further sticker could stay: pinned ones never make room."""
    pinned = Sticker.objects.filter(chat=chat, pinned=True, state__in=Sticker.KEPT)
    return pinned.count() < chat.sticker_cap


def sighted(chat: Chat, keys: list[str]) -> dict[str, int]:
    """Count one sighting of each key in a chat; how often each was seen there by now."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO stickers_sighting AS seen (chat_id, key, times, last_at)
            SELECT %s, key, 1, clock_timestamp() FROM unnest(%s::text[]) AS key
            ON CONFLICT (chat_id, key) DO UPDATE
               SET times = seen.times + 1, last_at = excluded.last_at
            RETURNING key, times
            """,
            [chat.pk, sorted(set(keys))],
        )
        return dict(cursor.fetchall())


def in_pace(chat: Chat) -> bool:
    """Count one more sticker that is tried in this minute; False where the chat's rate is reached."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO stickers_learningpace AS pace (chat_id, minute, tried)
            SELECT %(chat)s, date_trunc('minute', clock_timestamp()), 1 WHERE %(rate)s > 0
            ON CONFLICT (chat_id) DO UPDATE
               SET tried = CASE WHEN pace.minute = excluded.minute THEN pace.tried + 1 ELSE 1 END,
                   minute = excluded.minute
             WHERE pace.minute <> excluded.minute OR pace.tried < %(rate)s
            """,
            {"chat": chat.pk, "rate": chat.sticker_rate},
        )
        return bool(cursor.rowcount)
