"""Which model is shown what: the declared models in their order, which is their priority.

A model that takes pictures takes stickers too, which go over the wire as pictures do; one that was
declared for stickers alone was not declared for photographs.
"""

from collections.abc import Iterator

from django.conf import settings

IMAGE = "image"
STICKER = "sticker"
_COVERED_BY = {STICKER: (STICKER, IMAGE)}


def first_that_takes(kind: str) -> str:
    """The first declared model that takes media of a kind; empty: none does."""
    return next((model for model, kinds in _declared() if _covers(kinds, kind)), "")


def takes(model: str, kind: str) -> bool:
    """Whether a model that chats is shown media of a kind.

    ARISE_CHAT_MODEL_KINDS speaks for the models that bots have of their own, too.
    """
    if model == settings.ARISE_VISION_MODEL and _covers((IMAGE,), kind):
        return True
    return _covers(settings.ARISE_CHAT_MODEL_KINDS, kind)


def _declared() -> Iterator[tuple[str, tuple[str, ...]]]:
    if settings.ARISE_VISION_MODEL:
        yield settings.ARISE_VISION_MODEL, (IMAGE,)
    yield settings.ARISE_CHAT_MODEL, tuple(settings.ARISE_CHAT_MODEL_KINDS)


def _covers(kinds: tuple[str, ...] | list[str], kind: str) -> bool:
    return any(one in kinds for one in _COVERED_BY.get(kind, (kind,)))
