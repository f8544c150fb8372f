"""Stickers as core knows them: one that the model names by its ref can be sent, and whoever has the
stickers (an app) says which one that is and is told once it was sent."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from core.models import Chat, OutboxEntry

logger = logging.getLogger(__name__)
KIND = "sticker"
OF_STICKER: list[dict[str, Any]] = [{"type": KIND}]
"""What the parts of an entry contain that sends one, for `parts__contains`."""


@dataclass(frozen=True, slots=True)
class Sendable:
    """A sticker that may be sent in a chat: its bytes stand in the media store under `sha256`.

    `market_face` has `emoji_id`, `emoji_package_id`, `key` and `summary` where it is one of the
    platform's own; it may lack any of them.
    """

    ref: str
    sha256: str
    market_face: Mapping[str, Any] = field(default_factory=dict)


Source = Callable[[Chat, str], Sendable | None]
SentListener = Callable[[OutboxEntry, str], None]
_source: Source | None = None
_sent_listener: SentListener | None = None


def register_source(source: Source) -> Source:
    """Set the answer to "which sticker has this ref in this chat?", None for none (usable as a
    decorator)."""
    global _source
    _source = source
    return source


def register_sent(listener: SentListener) -> SentListener:
    """Have a function told of an entry that sent a sticker, with its ref, once, in the transaction
    in which that is kept (usable as a decorator). It touches the database alone."""
    global _sent_listener
    _sent_listener = listener
    return listener


def are_there() -> bool:
    """Whether any app has stickers at all."""
    return _source is not None


def find(chat: Chat, ref: str) -> Sendable | None:
    """The sticker of this ref that may be sent in this chat."""
    return _source(chat, ref) if _source else None


def tell_sent(entry: OutboxEntry) -> None:
    """Tell of an entry that became `sent`, where it sent a sticker: what went out as words is none."""
    listener = _sent_listener
    refs = [str(part["data"].get("ref", "")) for part in entry.parts if part["type"] == KIND]
    if listener is None:
        return
    for ref in refs:
        try:
            with transaction.atomic():
                listener(entry, ref)
        except Exception:  # it was sent, whatever is made of it
            logger.exception("Outbox entry %s: that its sticker was sent is not counted", entry.pk)
