"""What a message shows that is no words, by who has it: a sticker's picture, say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.safestring import SafeString

from core.models import OutboxEntry

Part = Mapping[str, Any]
Preview = Callable[[Sequence[Part]], Sequence[SafeString | str]]
_previews: dict[str, Preview] = {}


def register(kind: str) -> Callable[[Preview], Preview]:
    """Have an app show parts of a kind to whoever reviews them, in their order; empty: nothing to show.
    It is asked once a page."""

    def register(preview: Preview) -> Preview:
        _previews[kind] = preview
        return preview

    return register


def of(entries: Sequence[OutboxEntry]) -> Mapping[int, SafeString | str]:
    found: dict[int, SafeString | str] = {}
    for kind, preview in _previews.items():
        parts = {
            entry.pk: part for entry in entries for part in entry.parts if part["type"] == kind
        }
        if parts:
            found |= zip(parts, preview(list(parts.values())), strict=True)
    return found
