"""What the worker does for stickers: each a hint with ids, or a look around that beat asks for."""

from celery import shared_task

from stickers import upkeep


@shared_task
def embed_missing() -> None:
    """Embed what has no vector of the active model yet."""
    upkeep.embed_missing()


@shared_task
def index_large_scopes() -> None:
    """Keep an index for each scope that is too large to be compared one by one."""
    upkeep.index_large_scopes()
