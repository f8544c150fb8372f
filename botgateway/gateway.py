"""What one web process runs for all its bots: the inlet, the dispatcher, and the watch over sockets.

It starts with the first connection, in the event loop that serves it.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import redis.asyncio
from django.conf import settings
from redis.exceptions import RedisError

from botgateway import actions, bookkeeping, database, delivery, history, introduction, places
from botgateway.actions import Response
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection, Registry
from botgateway.delivery import Dispatcher
from botgateway.events import BanEvent
from botgateway.fields import WireId
from botgateway.inlet import Inlet
from core import backfill, sending, wake

logger = logging.getLogger(__name__)
REPLACED = 4000
SILENT = 4001
WITHDRAWN = 4003
WATCH_SECONDS = 5.0
PROBE_SECONDS = 10.0
RECONNECT_SECONDS = 1.0


class Gateway:
    """The gateway's part of this process."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.inlet = Inlet()
        self.dispatcher = Dispatcher(self.registry)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start the long-running tasks, in the running event loop."""
        self._spawn(self.inlet.run())
        self._spawn(self.dispatcher.run())
        self._spawn(self._listen())
        self._spawn(self._watch())
        self._spawn(history.EvidenceWatch(self.registry, self.dispatcher.wake).run())

    async def open(self, connection: LiveConnection) -> None:
        """Take a connection in: it replaces older ones, and what those were sending is unknown now."""
        for older in self.registry.add(connection):
            self._spawn(self._end(older, REPLACED, bookkeeping.REPLACED))
        if connection.is_sender:
            evidence = self.registry.may_give_evidence(connection)
            await delivery.keep(
                sending.connected, connection.bot_id, connection.number, evidence=evidence
            )
            await database.run(backfill.begin, connection.bot_id)
            self._spawn(self._introduce(connection))
            self.dispatcher.wake(connection.bot_id)

    def take_late(self, connection: LiveConnection, response: Response) -> None:
        """An answer that came too late; the socket is read on meanwhile."""
        self._spawn(delivery.take_late(connection.bot_id, response))

    async def close(self, connection: LiveConnection, code: int) -> None:
        """Let a connection go: its calls are over, and only its own place is freed."""
        connection.calls.close()
        self.registry.remove(connection)
        reason = connection.closing or f"closed by the other side ({code})"
        await database.run(bookkeeping.closed, connection.number, reason)

    async def _end(self, connection: LiveConnection, code: int, reason: str) -> None:
        """Close a socket from our side; what was under way on it ends at once."""
        connection.closing = connection.closing or reason
        connection.calls.close()
        self.registry.remove(connection)
        await connection.close(code, reason)

    async def _introduce(self, connection: LiveConnection) -> None:
        """Learn who is there, then fetch what was missed."""
        await introduction.introduce(connection)
        await history.fill_gaps(connection, self.inlet)

    def learn_place(self, connection: LiveConnection, group_id: WireId) -> None:
        """Ask the bot's sending connection for its place in a group, where nobody asked yet."""
        sender = self.registry.senders.get(connection.bot_id)
        if sender is not None and group_id.value not in sender.places_asked:
            sender.places_asked.add(group_id.value)
            self._spawn(self._learn_place(sender, group_id))

    def learn_again(self, connection: LiveConnection, group_id: WireId) -> None:
        """The bot came into a group anew: whatever it was there before is over."""
        sender = self.registry.senders.get(connection.bot_id)
        if sender is not None:
            sender.places_asked.discard(group_id.value)
            self.learn_place(connection, group_id)

    def learn_mute(self, connection: LiveConnection, event: BanEvent) -> None:
        """What is told of a mute counts more than what is answered. Where that of a whole group is
        over, one of the bot alone may remain: its place is asked for again."""
        sender = self.registry.senders.get(connection.bot_id)
        concerns_bot = event.user_id is None or event.is_self(event.user_id)
        if sender is None or event.group_id is None or not concerns_bot:
            return
        if not event.lifted:
            sender.mutes_told.add(event.group_id.value)
        elif event.user_id is None:
            sender.places_asked.discard(event.group_id.value)
            self.learn_place(connection, event.group_id)

    async def _learn_place(self, sender: LiveConnection, group_id: WireId) -> None:
        """Through the inlet, so that the group is known by what was said in it."""
        for told in await places.ask(sender, group_id):
            await self.inlet.put(told)

    async def _listen(self) -> None:
        """Wake the dispatcher by the workers' hints, for ever; without Redis it looks by itself."""
        while True:
            # No socket_timeout: redis-py's own 5 s would end an idle subscription.
            client = redis.asyncio.Redis.from_url(
                settings.REDIS_URL, socket_timeout=None, socket_connect_timeout=5
            )
            try:
                async with client.pubsub(ignore_subscribe_messages=True) as hints:
                    await hints.subscribe(wake.CHANNEL)
                    async for hint in hints.listen():
                        self.dispatcher.wake(int(hint["data"]))
            except (RedisError, OSError, ValueError) as error:
                logger.warning("no hints from the broker, trying again: %s", error)
            finally:
                await client.aclose()
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _watch(self) -> None:
        """Keep the rows of the connections, and end those that are over, for ever."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await self._watch_once()
            except Exception:
                logger.exception("the connections could not be looked after; it is tried again")

    async def _watch_once(self) -> None:
        connections = list(self.registry.all)
        for connection in connections:
            connection.learn_reports()
        signs = [bookkeeping.sign_of(connection) for connection in connections]
        over = await database.run(bookkeeping.look_after, signs)
        for connection in connections:
            if connection.number in over:
                reason = over[connection.number]
                code = REPLACED if reason == bookkeeping.REPLACED else WITHDRAWN
                self._spawn(self._end(connection, code, reason))
            elif connection.is_overdue():
                self._spawn(self._end(connection, SILENT, bookkeeping.SILENT))
            elif connection.wants_probe():
                connection.probed = connection.last_frame
                self._spawn(self._probe(connection))

    async def _probe(self, connection: LiveConnection) -> None:
        """Ask a silent connection that sends no heartbeats whether it lives."""
        try:
            await connection.calls.call(actions.get_status(), seconds=PROBE_SECONDS)
        except (NotWritten, NoAnswer):
            await self._end(connection, SILENT, bookkeeping.UNANSWERING)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("a task of the gateway failed", exc_info=error)


_gateways: dict[asyncio.AbstractEventLoop, Gateway] = {}


def running() -> Gateway:
    """The gateway of the running event loop, started at the first call."""
    loop = asyncio.get_running_loop()
    if loop not in _gateways:
        _gateways[loop] = Gateway()
        _gateways[loop].start()
    return _gateways[loop]
