"""Trying a search: what the model would be told for some words in a chat, and what the floor keeps
from it."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from core import reach
from core.errors import ModelFailure
from core.models import Chat
from stickers import embeddings, search, upkeep
from stickers.admin import pictures, reasons
from stickers.models import Sticker

_MOST_CHATS = 100
LONGEST_WORDS = 200


def load(request: HttpRequest, reached: QuerySet[Chat]) -> dict[str, Any]:
    """What the page shows; with `chat` and `q` in its address, what is found in one of the chats
    that the person reaches."""
    words = request.GET.get("q", "")[:LONGEST_WORDS].strip()
    chats, chat = _chats(reached, request.GET.get("chat", ""))
    context: dict[str, Any] = {
        "chats": chats,
        "chat": chat,
        "words": words,
        "longest": LONGEST_WORDS,
        "embedder": embeddings.described(),
        "waiting": 0 if reach.of(request.user) else upkeep.waiting(),
    }
    if chat is None or not words:
        return context
    try:
        found = search.preview(chat, words)
    except ModelFailure as failure:
        told = _("The words could not be embedded. %(why)s %(detail)s")
        why = reasons.told(failure.code)
        return context | {"failure": told % {"why": why, "detail": failure.detail}}
    pictures.mark_moving(hit.sticker for hit in found.hits)
    return context | {"found": found}


def _chats(reached: QuerySet[Chat], chosen: str) -> tuple[list[Chat], Chat | None]:
    """The chats to choose from, and the chosen one, which is always among them."""
    own = Sticker.objects.filter(chat=OuterRef("pk"))
    some = reached.filter(Q(sticker_learning=True) | Exists(own))
    chats = list(some[:_MOST_CHATS]) or list(reached[:_MOST_CHATS])
    is_key = chosen.isdecimal() and len(chosen) <= 18
    chat = reached.filter(pk=chosen).first() if is_key else None
    if chat is not None and chat not in chats:
        chats.insert(0, chat)
    return chats, chat
