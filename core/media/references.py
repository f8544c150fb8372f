"""Pictures in a model request: stored as references to the media store, sent as their bytes."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from core.media import store

SCHEME = "media:"
MOST_BYTES = 3 * 1024 * 1024
MISSING = "[图片]"
Message = dict[str, Any]


def part(sha256: str) -> dict[str, Any]:
    """The part of a message's content that shows a stored picture."""
    return {"type": "image_url", "image_url": {"url": SCHEME + sha256}}


def data_url(content: bytes) -> str:
    """A picture inside its own address, as models take it; a PNG or a JPEG."""
    kind = "png" if content.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def filled(messages: Sequence[Message]) -> list[Message]:
    """The request as it goes out: each reference by its picture, MOST_BYTES of them altogether. One
    that is gone from the store, or too much, is words. Reads files, holds nothing else."""
    pictures = _Pictures()
    return [
        message | {"content": list(pictures.fill(message["content"]))}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


class _Pictures:
    """What is left of the bound while a request is filled."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def fill(self, content: Sequence[Any]) -> Iterator[Any]:
        for one in content:
            sha256 = digest(one)
            if not sha256:
                yield one
            elif (picture := store.read(sha256)) and len(picture) <= self._left:
                self._left -= len(picture)
                yield {"type": "image_url", "image_url": {"url": data_url(picture)}}
            else:
                yield {"type": "text", "text": MISSING}


def digest(one: Any) -> str:
    """Which stored picture a part of a content refers to; empty: none."""
    shown = one.get("image_url") if isinstance(one, dict) else None
    url = str(shown.get("url", "")) if isinstance(shown, dict) else ""
    return url.removeprefix(SCHEME) if url.startswith(SCHEME) else ""
