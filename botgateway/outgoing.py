"""Stored parts as they go out over one connection: media with their bytes, a sticker the best way
that the implementation has, and words in the place of what can't go out."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botgateway import database
from botgateway.actions import UnsendablePart
from botgateway.dialects import Dialect
from core.media import store
from core.sending import Claimed

Parts = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What segments are made of, and how many bytes of media are in it."""

    parts: Parts
    media_bytes: int = 0


class GonePicture(UnsendablePart):
    """A sticker whose bytes are in the media store no more."""


async def of(dialect: Dialect, entry: Claimed, parts: Parts) -> Outgoing:
    """What goes out for `parts`, the entry's own or others in their place; raises GonePicture."""
    sticker = next((part["data"] for part in parts if part["type"] == "sticker"), None)
    if sticker is not None:
        return await _of_sticker(dialect, parts, sticker)
    payload = entry.payload
    if payload is None:
        return Outgoing(parts)
    file = as_file(payload)
    filled = [
        {**part, "data": {**part["data"], "file": file}}
        if part["type"] in ("voice", "file")
        else part
        for part in parts
    ]
    return Outgoing(filled, len(payload))


async def _of_sticker(dialect: Dialect, parts: Parts, sticker: Mapping[str, Any]) -> Outgoing:
    """One of the platform's own faces as such, which is a message by itself; all others as pictures,
    as they were: a scaled or still one would be another sticker."""
    face = sticker.get("market_face") or {}
    if dialect.market_faces and _is_whole(face):
        return Outgoing([{"type": "sticker", "data": face}])
    content = await database.run(store.read, str(sticker["sha256"]))
    if content is None:
        raise GonePicture("the sticker's picture is gone")
    picture = {"type": "sticker", "data": {"file": as_file(content)}}
    before = [part for part in parts if part["type"] == "reply"]
    return Outgoing([*before, picture], len(content))


def _is_whole(face: Mapping[str, Any]) -> bool:
    """Whether all is there without which a face can't be sent; its key can't be guessed."""
    package_id = face.get("emoji_package_id")
    is_number = isinstance(package_id, int) and not isinstance(package_id, bool)
    return is_number and bool(face.get("emoji_id")) and bool(face.get("key"))


def as_file(content: bytes) -> str:
    """Bytes as a segment has them, since an implementation may live on another machine."""
    return f"base64://{base64.b64encode(content).decode()}"
