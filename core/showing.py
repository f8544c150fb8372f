"""Which of the pictures and stickers that people sent a chat's model is shown.

The newest few of the kinds that the model takes; what could not be fetched, and what was taken back,
is not among them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from core.llm import routing
from core.models import Chat, InboundItem, ItemMedia

MOST_SHOWN = 4
KINDS = (routing.IMAGE, routing.STICKER)


@dataclass(frozen=True, slots=True)
class Place:
    """A picture or sticker: one part of an item."""

    item: InboundItem
    index: int

    @property
    def part(self) -> dict[str, Any]:
        part: dict[str, Any] = self.item.parts[self.index]
        return part

    @property
    def key(self) -> tuple[int, int]:
        """As rows of ItemMedia name it."""
        return self.item.pk, self.index


def model_of(chat: Chat) -> str:
    """The model that chats there."""
    return chat.bot.chat_model or settings.ARISE_CHAT_MODEL


def kinds(chat: Chat) -> frozenset[str]:
    """What the chat's model is shown; asks the settings alone."""
    model = model_of(chat)
    return frozenset(kind for kind in KINDS if routing.takes(model, kind))


def is_wanted(chat: Chat, kind: str) -> bool:
    """Whether a picture or sticker said in the chat is of any use there: shown, or learned."""
    is_learned = kind == routing.STICKER and chat.sticker_learning
    return chat.enabled and (is_learned or kind in kinds(chat))


def places(items: Iterable[InboundItem], kinds: Iterable[str]) -> list[Place]:
    """The parts of these kinds in items, in their order; none of an item that was taken back."""
    return [
        Place(item, index)
        for item in items
        if item.recalled_at is None
        for index, part in enumerate(item.parts)
        if part["type"] in kinds
    ]


def views(chat: Chat, items: Sequence[InboundItem]) -> dict[tuple[int, int], str]:
    """The digests of the views that the chat's model is shown of these items (the oldest first), by
    item and part. One query where it takes any that is there, else none."""
    found = places(items, kinds(chat))
    if not found:
        return {}
    rows = ItemMedia.objects.filter(item__in={place.item.pk for place in found}).exclude(view="")
    seen = {(item, index): view for item, index, view in rows.values_list("item", "index", "view")}
    newest = [place.key for place in reversed(found) if place.key in seen][:MOST_SHOWN]
    return {key: seen[key] for key in reversed(newest)}
