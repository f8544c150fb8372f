"""Stickers with real pictures, for the console's tests."""

import itertools
from typing import Any

from django.utils import timezone

from core.media import store
from core.media.pictures import Examined, View
from core.models import Chat
from stickers.models import Picture, Sticker
from tests.core.media.drawing import animation, picture

_numbers = itertools.count(1)


def keep(content: bytes, media_type: str = "image/png", frames: int = 1) -> str:
    """Put bytes into the media store as if they had been examined."""
    view = View(media_type, content)
    return store.put(content, Examined(media_type, 30, 20, frames, (), view))


def shown(chat: Chat | None = None, meaning: str = "thanks a lot", **fields: Any) -> Sticker:
    """A stored sticker (of the catalogue without a chat) with a picture of its own in the store;
    `moving` for an animation, `content=b""` for none."""
    number = next(_numbers)
    color = (number % 256, number // 256 % 256, 77)
    moving = fields.pop("moving", False)
    content = fields.pop("content", None)
    if content is None:
        content = animation(frames=4 + number) if moving else picture(color=color)
    kind, frames = ("image/gif", 4) if moving else ("image/png", 1)
    given = fields.pop("picture", None) or {}
    if not isinstance(given, Picture):
        sha256 = keep(content, kind, frames) if content else ""
        made = {"verdict": "stored", "claimed_at": timezone.now(), "sha256": sha256}
        given = Picture.objects.create(**made | given)
    fields.setdefault("state", Sticker.State.STORED)
    fields.setdefault("file_id", f"md5:{number:032x}")
    return Sticker.objects.create(chat=chat, picture=given, meaning=meaning, **fields)
