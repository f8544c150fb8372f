"""Looking at what people sent before a turn is judged: nothing is held while it is fetched.

A chat's pictures are fetched only where its model is shown any and would be asked now; what they
show is kept as a view, and what stood in the way as a failure, so that each is fetched once.
"""

import contextlib
import hashlib
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError

from core import budgets, context, showing, standing
from core.database import database_now, give_back
from core.errors import MediaFailure
from core.media import fetching, pictures, references, store
from core.media.pictures import View
from core.models import Chat, InboundItem, ItemMedia, Turn
from core.showing import Place

logger = logging.getLogger(__name__)
MOST_SECONDS = 6.0


def look(chat_id: int) -> None:
    """Fetch the newest pictures that a turn in this chat would show; MOST_SECONDS at most.

    Whatever fails, the turn goes on without them. Where no model takes pictures it does nothing.
    """
    if not (settings.ARISE_CHAT_MODEL_KINDS or settings.ARISE_VISION_MODEL):
        return
    try:
        wanted = _wanted(chat_id)
        if wanted:
            give_back()
            _keep(wanted, _seen(wanted))
    except Exception:
        logger.exception("chat %s: its pictures could not be looked at", chat_id)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A picture that would be shown and has no view yet; `sha256` where its bytes are known already,
    to whoever learns stickers, say."""

    place: Place
    sha256: str

    @property
    def sources(self) -> list[str]:
        """Where its bytes may be, the nearest first."""
        kept = [references.SCHEME + self.sha256] if self.sha256 else []
        return [*kept, str(self.place.part["data"].get("url", ""))]


def _wanted(chat_id: int) -> list[Wanted]:
    chat = Chat.objects.select_related("bot").get(pk=chat_id)
    kinds = showing.kinds(chat)
    if not kinds or not _may_be_asked(chat):
        return []
    items = InboundItem.objects.filter(chat=chat).only("kind", "parts", "recalled_at")
    latest = list(items.order_by("-pk")[: context.NEW_ITEMS + context.EARLIER_ITEMS])
    new = [item for item in latest if item.pk > chat.judged_item_id][: context.NEW_ITEMS]
    told = latest[: len(new) + context.EARLIER_ITEMS]
    newest = showing.places(told[::-1], kinds)[-showing.MOST_SHOWN :]
    if not newest:
        return []
    rows = ItemMedia.objects.filter(item__in={place.item.pk for place in newest})
    known = {(row.item_id, row.index): row for row in rows}
    return [
        Wanted(place, row.sha256 if row else "")
        for place in newest
        if (row := known.get(place.key)) is None or not (row.view or row.failure)
    ]


def _may_be_asked(chat: Chat) -> bool:
    """Whether the gate will likely say that the model is asked, and its call be allowed: what it
    will not answer is not fetched."""
    if not (chat.enabled and chat.bot.enabled) or standing.silence(chat, now=database_now()):
        return False
    gathered = InboundItem.objects.filter(chat=chat, pk__gt=chat.judged_item_id)
    asked = gathered.exclude(trigger="").filter(recalled_at=None, is_old=False)
    if not asked.exists() or budgets.is_spent(chat, purpose=budgets.Purpose.CHAT):
        return False
    return not Turn.objects.filter(chat=chat, state=Turn.State.RUNNING).exists()


@dataclass(frozen=True, slots=True)
class Sight:
    """The digest of what was fetched and what is shown of it."""

    sha256: str
    view: View


def _seen(wanted: Sequence[Wanted]) -> Mapping[tuple[int, int], Future[Sight]]:
    """Fetch and examine all of them at once; what is not there in time is not waited for."""
    threads = ThreadPoolExecutor(len(wanted), thread_name_prefix="looking")
    futures = {one.place.key: threads.submit(_look_at, one.sources) for one in wanted}
    threads.shutdown(wait=False)
    wait(futures.values(), timeout=MOST_SECONDS)
    return futures


def _look_at(sources: Sequence[str]) -> Sight:
    content = _first_of(sources)
    examined = pictures.examine(content, wait_seconds=MOST_SECONDS)
    return Sight(hashlib.sha256(content).hexdigest(), examined.view)


def _first_of(sources: Sequence[str]) -> bytes:
    *others, last = sources
    for source in others:
        with contextlib.suppress(MediaFailure):
            return fetching.fetch(source)
    return fetching.fetch(last, seconds=MOST_SECONDS)


def _keep(wanted: Sequence[Wanted], futures: Mapping[tuple[int, int], Future[Sight]]) -> None:
    rows = [_row(one, futures[one.place.key]) for one in wanted]
    try:
        ItemMedia.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["item", "index"],
            # Whoever learned it meanwhile has told by which bytes it is known.
            update_fields=["view", "failure"],
        )
    except IntegrityError:
        logger.info("what was looked at was forgotten meanwhile")


def _row(wanted: Wanted, future: Future[Sight]) -> ItemMedia:
    place = wanted.place
    row = ItemMedia(item=place.item, index=place.index, sha256=wanted.sha256)
    if not future.done():
        row.failure = "timeout"
    elif isinstance(failure := future.exception(), MediaFailure):
        logger.info("item %s: part %s is not shown: %s", *place.key, failure)
        row.failure = failure.code
    else:
        sight = future.result()
        row.sha256, row.view = sight.sha256, store.put_view(sight.view)
    return row
