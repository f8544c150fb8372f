"""What a message's text becomes: the parts that go out, its tags rendered by the host."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from core import tags
from core.capabilities import Effective
from core.models import Chat
from core.tags import TagRenderer, TextPiece

PartJson = Mapping[str, Any]
Renderers = Mapping[str, TagRenderer[PartJson]]
Source = Callable[[Chat, Collection[str]], Renderers]
_source: Source | None = None


def register_source(source: Source) -> Source:
    """Set the host's answer to "how are these tags rendered in this chat?" (usable as a decorator)."""
    global _source
    _source = source
    return source


def renderers(chat: Chat, effective: Effective) -> Renderers:
    """The tags that work in a chat now: what its platform can't do, or its operator switched off,
    is not among them."""
    allowed = [name for name, holds in effective.tags.items() if holds]
    return _source(chat, allowed) if _source and allowed else {}


def parts(text: str, renderers: Renderers) -> list[dict[str, Any]]:
    """The parts of a message; empty where nothing but white space is left of it."""
    made: list[dict[str, Any]] = [
        {"type": "text", "data": {"text": piece.text}}
        if isinstance(piece, TextPiece)
        else dict(piece.value)
        for piece in tags.render(text, renderers)
    ]
    return made if any(map(_says_something, made)) else []


def _says_something(part: PartJson) -> bool:
    return part["type"] != "text" or bool(part["data"]["text"].strip())
