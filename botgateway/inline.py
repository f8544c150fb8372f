"""Pictures whose bytes came in their frame: into the media store, where they are of use; no item is
stored with them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from botgateway.parts import INLINE
from core import showing
from core.errors import MediaFailure
from core.media import fetching, references, store
from core.messages import Part, Received, ReceivedItem
from core.models import Bot, Chat

logger = logging.getLogger(__name__)
ChatKey = tuple[int, str, str]


def characters(one: Received) -> int:
    """How many characters of pictures a received item carries."""
    if not isinstance(one, ReceivedItem):
        return 0
    return sum(len(part.data["url"]) for part in one.parts if _is_inline(part))


def without(one: Received) -> Received:
    """The item with nothing of its pictures but what they are called."""
    return _changed(one, {}) if isinstance(one, ReceivedItem) and characters(one) else one


def put_away(batch: Sequence[Received]) -> list[Received]:
    """The batch with references to the media store in place of pictures. A picture that is of no
    use in its chat, or no picture's text at all, is dropped. One query, where there is any."""
    inline = [one for one in batch if isinstance(one, ReceivedItem) and characters(one)]
    if not inline:
        return list(batch)
    chats = _chats(inline)
    return [
        _put_away(one, chats[_key(one)])
        if isinstance(one, ReceivedItem) and characters(one)
        else one
        for one in batch
    ]


def _put_away(item: ReceivedItem, chat: Chat) -> ReceivedItem:
    kept = {
        index: _kept(part)
        for index, part in enumerate(item.parts)
        if _is_inline(part) and showing.is_wanted(chat, part.type)
    }
    return _changed(item, kept)


def _kept(part: Part) -> str:
    """The reference to a picture's bytes; empty where they can't be kept."""
    try:
        return references.SCHEME + store.spool(fetching.inline(part.data["url"]))
    except MediaFailure as failure:
        logger.info("a picture in a frame is not taken: %s", failure)
    except OSError:
        logger.exception("a picture in a frame could not be kept")
    return ""


def _changed(item: ReceivedItem, urls: Mapping[int, str]) -> ReceivedItem:
    """The item with other addresses, or none, for its inline pictures."""
    parts = tuple(
        replace(part, data=_with_url(part.data, urls.get(index, ""))) if _is_inline(part) else part
        for index, part in enumerate(item.parts)
    )
    return replace(item, parts=parts)


def _with_url(data: Mapping[str, Any], url: str) -> dict[str, Any]:
    others = {key: value for key, value in data.items() if key != "url"}
    return {**others, "url": url} if url else others


def _is_inline(part: Part) -> bool:
    return str(part.data.get("url", "")).startswith(INLINE)


def _key(item: ReceivedItem) -> ChatKey:
    return item.bot_id, item.chat.kind, item.chat.external_id.value


def _chats(items: Sequence[ReceivedItem]) -> dict[ChatKey, Chat]:
    """The chats of items as they are, or as they will be made."""
    keys = {_key(item) for item in items}
    rows = Chat.objects.select_related("bot").filter(
        bot__in={bot for bot, _, _ in keys}, external_id__in={number for _, _, number in keys}
    )
    found = {(row.bot_id, row.kind, row.external_id): row for row in rows}
    missing = keys - found.keys()
    bots = Bot.objects.in_bulk({bot for bot, _, _ in missing}) if missing else {}
    for bot, kind, number in missing:
        enabled = bots[bot].enables_new(kind)
        found[bot, kind, number] = Chat(
            bot=bots[bot], kind=kind, external_id=number, enabled=enabled
        )
    return found
