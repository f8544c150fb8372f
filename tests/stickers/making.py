"""Rows of stickers for tests."""

import itertools
from typing import Any

from django.utils import timezone

from core.models import Chat
from stickers import embeddings
from stickers.embeddings import Prepared
from stickers.models import Picture, Sticker

_numbers = itertools.count(1)


def make_picture(**fields: Any) -> Picture:
    """A picture that was learned."""
    fields.setdefault("verdict", Picture.Verdict.STORED)
    fields.setdefault("sha256", f"{next(_numbers):064x}")
    fields.setdefault("claimed_at", timezone.now())
    return Picture.objects.create(**fields)


def make_sticker(chat: Chat | None, meaning: str = "thanks a lot", **fields: Any) -> Sticker:
    """A usable sticker of a chat (None: of the catalogue), without a vector."""
    picture = fields.pop("picture", None) or make_picture()
    fields.setdefault("state", Sticker.State.STORED)
    fields.setdefault("file_id", f"md5:{next(_numbers):032x}")
    return Sticker.objects.create(chat=chat, picture=picture, meaning=meaning, **fields)


def embedded(sticker: Sticker, vector: list[float] | None = None, model: str = "") -> Sticker:
    """The same sticker with a vector: of its text by the active embedder, or the given one."""
    text = embeddings.text_of(sticker)
    if vector is None:
        embeddings.write(sticker, embeddings.prepare(text))
    else:
        name = model or embeddings.active().model
        embeddings.write(sticker, Prepared(name, vector, embeddings.digest(text)))
    return sticker
