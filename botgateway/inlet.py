"""The way in: many bots' items, stored in the order of arrival, many at a time where many arrive."""

import asyncio
import logging

from django.db import InterfaceError, OperationalError

from botgateway import database, inline, interactions
from core import failpoints, inbound, tasks
from core.inbound import DueChat
from core.messages import Received

logger = logging.getLogger(__name__)
MOST_WAITING = 10_000
MOST_PER_BATCH = 200
MOST_INLINE = 64 * 1024 * 1024
"""Characters of pictures in frames that wait; what comes beyond is stored without its pictures."""
PAUSE_SECONDS = 0.5
LINGER_SECONDS = 0.004


class Inlet:
    """Items that wait to be stored, and timers of the chats that became due by them.

    The queue is bounded: while the database is away the sockets are not read, and the platform's
    own buffers hold what is said.
    """

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Received] = asyncio.Queue(MOST_WAITING)
        self._inline = 0
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._hints: set[asyncio.Task[None]] = set()

    async def put(self, item: Received) -> None:
        """Queue an item; waits while the queue is full."""
        if self._inline + inline.characters(item) > MOST_INLINE:
            item = inline.without(item)
        size = inline.characters(item)
        self._inline += size
        try:
            await self._waiting.put(item)
        except BaseException:  # whoever waited for room was told to stop
            self._inline -= size
            raise

    async def run(self) -> None:
        """Store what is queued, for ever."""
        while True:
            batch = [await self._waiting.get()]
            # Others that come at the same time share its statements.
            await asyncio.sleep(LINGER_SECONDS)
            while len(batch) < MOST_PER_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            for due in await self._store(batch):
                self._set_timer(due)
            self._inline -= sum(map(inline.characters, batch))

    async def _store(self, batch: list[Received]) -> list[DueChat]:
        """Store a batch, waiting out a database that is away. An item that alone can't be stored
        is dropped with a line in the log, so that it does not hold up the others."""
        while True:
            try:
                due = await database.run_in_order(_receive, batch)
            except (OperationalError, InterfaceError) as error:
                logger.warning("items wait, the database does not answer: %s", error)
                await asyncio.sleep(PAUSE_SECONDS)
            except Exception:
                if len(batch) == 1:
                    logger.exception("an item of bot %s can't be stored", batch[0].bot_id)
                    return []
                return [due for item in batch for due in await self._store([item])]
            else:
                failpoints.reach("items_stored")
                return due

    def _set_timer(self, due: DueChat) -> None:
        """Hint at the chat when it becomes due; a later due time replaces the earlier one."""
        loop = asyncio.get_running_loop()
        if earlier := self._timers.pop(due.chat_id, None):
            earlier.cancel()
        self._timers[due.chat_id] = loop.call_later(due.seconds, self._fire, due.chat_id)

    def _fire(self, chat_id: int) -> None:
        self._timers.pop(chat_id, None)
        hint = asyncio.get_running_loop().create_task(_hint(chat_id))
        self._hints.add(hint)
        hint.add_done_callback(self._hints.discard)


def _receive(batch: list[Received]) -> list[DueChat]:
    wanted = inline.put_away(interactions.let_in(batch))
    return inbound.receive(wanted) if wanted else []


async def _hint(chat_id: int) -> None:
    """A lost hint is no harm: the sweep finds every chat that is due."""
    try:
        await database.run_for_broker(tasks.run_turn.delay, chat_id)
    except Exception as error:  # noqa: BLE001  (whatever the broker raises, the sweep makes it good)
        logger.warning("the hint for chat %s was lost, the sweep makes it good: %s", chat_id, error)
