"""Where learning begins: told of what came in, in its own transaction, it asks the free gates and
hands over what passed them. It waits for nobody, and nothing of a turn waits for it.
"""

import functools
import logging
import threading
from collections import Counter
from collections.abc import Sequence
from functools import partial
from queue import Full, Queue

from django.db import DatabaseError, transaction

from core.database import give_back
from core.inbound import register_listener
from core.models import Chat, InboundItem
from stickers import claims, funnel, gates, tasks
from stickers.models import Picture

logger = logging.getLogger(__name__)
MOST_WAITING = 1000
MOST_OF_A_MESSAGE = 20
Candidate = tuple[int, int]
"""An item's id, and which of its parts it is."""
_waiting: Queue[Candidate] = Queue(MOST_WAITING)


def load() -> None:
    """Have the inlet tell of pictures and stickers; called once, when the app is ready."""
    register_listener("sticker", "image")(told)


def told(items: Sequence[InboundItem]) -> None:
    """Ask the gates of every picture and sticker; a task for each that passed, after the commit."""
    seen: list[tuple[InboundItem, int, str]] = []
    by_chat: dict[Chat, list[InboundItem]] = {}
    for item in items:
        by_chat.setdefault(item.chat, []).append(item)
    for chat, ones in by_chat.items():
        seen += _gated(chat, ones)
    funnel.see(seen)
    candidates = [(item.pk, index) for item, index, name in seen if name == funnel.CANDIDATE]
    if candidates:
        transaction.on_commit(partial(send, candidates), robust=True)


def _gated(chat: Chat, items: Sequence[InboundItem]) -> list[tuple[InboundItem, int, str]]:
    """Each picture of the items with the stage or the reason that it came to."""
    pictures = [
        (item, index, part)
        for item in items
        for index, part in enumerate(item.parts)
        if part["type"] in ("sticker", "image")
    ]
    if reason := gates.closed(chat):
        return [(item, index, reason) for item, index, _part in pictures]
    ids = [gates.stable_id(part) for _item, _index, part in pictures if part["type"] == "sticker"]
    known = claims.by_keys(ids, chat)
    gated = []
    met: set[tuple[int, str]] = set()
    counted: Counter[int] = Counter()
    for item, index, part in pictures:
        key = gates.stable_id(part)
        counted[item.pk] += 1
        if counted[item.pk] > MOST_OF_A_MESSAGE:
            gated.append((item, index, funnel.RATE))
            continue
        if key and (item.pk, key) in met:  # one message that repeats it is one sighting
            gated.append((item, index, funnel.KNOWN))
            continue
        met.add((item.pk, key))
        gated.append((item, index, _passed(chat, item, part, known.get(key))))
    return gated


def _passed(chat: Chat, item: InboundItem, part: gates.Part, picture: Picture | None) -> str:
    """The gates in their order, from what is known of the part by its id alone."""
    if part["type"] != gates.STICKER:
        return funnel.NOT_A_STICKER
    if item.is_old:
        return funnel.OLD
    fate = gates.fate(chat, picture) if picture else gates.Fate()
    if fate.reason:
        return fate.reason
    key = gates.stable_id(part)
    # What has no stable id is counted by its bytes, once they are there.
    if key and gates.sighted(chat, [key])[key] < chat.sticker_sightings:
        return funnel.TOO_FEW_SIGHTINGS
    if not gates.in_pace(chat):
        return funnel.RATE
    return gates.affordable(chat, reuses=fate.reuses) or funnel.CANDIDATE


def send(candidates: Sequence[Candidate]) -> None:
    """Have tasks sent from a thread of its own. A lost one is a lost candidate, and the sticker's
    next sighting brings another, so that a broker that is away holds up nobody."""
    _start()
    for candidate in candidates:
        try:
            _waiting.put_nowait(candidate)
        except Full:
            logger.warning("a sticker of item %s is not learned: too many wait", candidate[0])
            funnel.end(funnel.open_of(*candidate), funnel.NO_WORKER)


@functools.cache
def _start() -> None:
    # Not an executor, which would send all that waits before the process may end.
    threading.Thread(target=_send_waiting, name="stickers", daemon=True).start()


def _send_waiting() -> None:
    while True:
        item_id, index = _waiting.get()
        try:
            tasks.learn.delay(item_id, index)
        except Exception as error:  # noqa: BLE001 - whatever the broker's client raises
            logger.warning("a sticker of item %s is not learned: %s", item_id, error)
            _end(item_id, index)
        finally:
            _waiting.task_done()


def _end(item_id: int, index: int) -> None:
    """Count that nobody could be told; this thread goes on whatever the database says."""
    try:
        funnel.end(funnel.open_of(item_id, index), funnel.NO_WORKER)
    except DatabaseError as error:
        logger.warning("the end of a sighting is not counted: %s", error)
    finally:
        give_back()
