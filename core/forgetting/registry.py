"""What apps keep of a chat, or make of what people send: they say here how it is forgotten."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.models import InboundItem

Counts = Mapping[str, int]
"""How many rows went, by the name of their kind."""


@dataclass(frozen=True)
class Part:
    """One app's part. `labels` has what each of its kinds is called.

    Both functions run in a transaction that holds the chat's row, and may be called again for what
    they have done. `of_chat` removes some of what a chat has, a bounded number of rows; it is called
    until it finds nothing. `of_items` removes what was made from items that a person sent, before
    these are deleted.
    """

    labels: Mapping[str, str | Promise]
    of_chat: Callable[[int], Counts]
    of_items: Callable[[int, Sequence[InboundItem]], Counts] | None = None


_CORE: Mapping[str, str | Promise] = {
    "chats": _("chats"),
    "items": _("items"),
    "media": _("pictures and files of items"),
    "decisions": _("decisions"),
    "turns": _("turns"),
    "sent_messages": _("messages of the bot"),
    "gestures": _("gestures of the bot"),
    "members": _("members"),
    "turns_emptied": _("turns whose words were emptied"),
    "words_emptied": _("messages and gestures of the bot that were emptied"),
    "mentions": _("items of others in which the account was named"),
}
_parts: list[Part] = []


def register(part: Part) -> None:
    """Add an app's part; called once, when the app is ready."""
    _parts.append(part)


def parts() -> Sequence[Part]:
    """The parts of all apps."""
    return _parts


def labels() -> dict[str, str | Promise]:
    """What each kind of row is called."""
    named = dict(_CORE)
    for part in _parts:
        named.update(part.labels)
    return named


def told(went: Counts) -> dict[str, int]:
    """Counts of all kinds, in the order of their labels."""
    return {kind: went.get(kind, 0) for kind in labels()}
