"""What the worker does for stickers: each a hint with ids, or a look around that beat asks for. They
have a queue of their own, so that a crowd of stickers stands before no turn."""

from celery import shared_task

from core.database import give_back
from stickers import funnel, learning, upkeep

MOST_TRIES = 4
_PAUSES = (10, 40, 90)
"""Seconds before each further try of what surely cost nothing."""


@shared_task
def learn(item_id: int, index: int, tries: int = 1) -> None:
    """Learn a part of an item. Only what surely cost nothing is tried again, a few times; then the
    sticker's next sighting begins anew."""
    try:
        may_try_again = learning.learn(item_id, index, is_last=tries >= MOST_TRIES)
    finally:
        give_back()
    if may_try_again:
        learn.apply_async((item_id, index, tries + 1), countdown=_PAUSES[tries - 1])


@shared_task
def embed_missing() -> None:
    """Embed what has no vector of the active model yet."""
    upkeep.embed_missing()


@shared_task
def index_large_scopes() -> None:
    """Keep an index for each scope that is too large to be compared one by one."""
    upkeep.index_large_scopes()


@shared_task
def prune() -> None:
    """Remove counts that have had their time, and end sightings that nobody ends any more."""
    funnel.prune()
