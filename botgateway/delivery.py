"""The way out: drains the Outbox of the bots whose connections this process holds.

Woken by hints, by its own timers, and once a second by the table itself.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import ParamSpec

from django.conf import settings
from django.db import InterfaceError, OperationalError

from botgateway import actions, database
from botgateway.actions import UnsendablePart
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection
from core import failpoints, outbox
from core.messages import PlatformId
from core.outbox import Claimed

logger = logging.getLogger(__name__)
P = ParamSpec("P")
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 0.5


class Dispatcher:
    """Claims due entries and sends them, chats side by side, each chat in order."""

    def __init__(self, senders: Mapping[int, LiveConnection]) -> None:
        self._senders = senders
        self._woken: set[int] = set()
        self._wake = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()

    def wake(self, bot_id: int) -> None:
        """Look at this bot's Outbox soon; bots of other processes are ignored."""
        if bot_id in self._senders:
            self._woken.add(bot_id)
            self._wake.set()

    async def run(self) -> None:
        """Drain whoever is woken, and everybody who is due once a second, for ever."""
        loop = asyncio.get_running_loop()
        next_look = loop.time()
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), max(0.0, next_look - loop.time()))
            except TimeoutError:
                next_look = loop.time() + LOOK_SECONDS
                self._woken.update(self._senders)
            self._wake.clear()
            woken, self._woken = self._woken, set()
            try:
                await self._drain(woken)
            except Exception:
                logger.exception("the Outbox could not be read; it is tried again")
                await asyncio.sleep(LOOK_SECONDS)

    async def _drain(self, bot_ids: set[int]) -> None:
        looks = await database.run(outbox.next_look, list(bot_ids))
        for bot_id, seconds in looks.items():
            connection = self._senders.get(bot_id)
            if connection is None:
                continue
            if seconds > 0:
                self._wake_later(bot_id, seconds)
                continue
            claimed = await database.run(outbox.claim, bot_id, connection.number)
            if claimed:
                failpoints.reach("entries_claimed")
            for entry in claimed:
                self._start(connection, entry)

    def _wake_later(self, bot_id: int, seconds: float) -> None:
        # The full look comes every second anyway; a timer serves only what is due before it.
        if seconds < LOOK_SECONDS:
            asyncio.get_running_loop().call_later(seconds, self.wake, bot_id)

    def _start(self, connection: LiveConnection, entry: Claimed) -> None:
        task = asyncio.get_running_loop().create_task(self._send(connection, entry))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, connection: LiveConnection, entry: Claimed) -> None:
        try:
            await deliver(connection, entry)
        except Exception:
            logger.exception("Outbox entry %s: its outcome could not be kept", entry.entry_id)
        self.wake(connection.bot_id)


async def deliver(connection: LiveConnection, entry: Claimed) -> None:
    """Send one claimed entry and keep what became of it. Never sends twice: a frame that was
    handed over and not answered leaves the entry `unknown`."""
    chat_id = PlatformId(entry.chat_external_id, entry.chat_external_id_is_number).wire()
    try:
        call = actions.send_message(entry.chat_kind, chat_id, entry.parts, entry.address)
    except UnsendablePart as part:
        await _keep(
            outbox.mark_failed, entry.entry_id, reason="unsendable", error=f"no segment for {part}"
        )
        return
    failpoints.reach("call_writing")
    try:
        response = await connection.calls.call(
            call,
            echo=f"send-{entry.entry_id}-{connection.number}",
            seconds=settings.ARISE_SEND_TIMEOUT_SECONDS,
        )
    except NotWritten:
        await _keep(outbox.hand_back, entry.entry_id, connection.number)
        return
    except NoAnswer as no_answer:
        await _keep(outbox.mark_unknown, entry.entry_id, reason=no_answer.reason)
        return
    failpoints.reach("answer_read")
    await _keep(settle, entry.entry_id, response)
    failpoints.reach("outcome_kept")


async def _keep(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Keep an outcome, waiting out a database that is away: what is not kept nobody can tell later."""
    while True:
        try:
            await database.run(function, *args, **kwargs)
        except (OperationalError, InterfaceError) as error:
            logger.warning("an outcome waits, the database does not answer: %s", error)
            await asyncio.sleep(PAUSE_SECONDS)
        else:
            return


def settle_late(bot_id: int, entry_id: int, response: actions.Response) -> None:
    """Keep a late answer, where it came from the bot whose send it was."""
    if outbox.is_of_bot(entry_id, bot_id):
        settle(entry_id, response)


def settle(entry_id: int, response: actions.Response) -> None:
    """Keep what an answer says of a send."""
    outcome = actions.send_outcome(response)
    match outcome.state:
        case "sent":
            message_id = outcome.message_id
            outbox.mark_sent(
                entry_id,
                message_id=message_id.value if message_id else "",
                is_number=message_id.is_number if message_id else True,
            )
        case "failed":
            outbox.mark_failed(entry_id, reason="refused", error=outcome.reason)
        case "unknown":
            outbox.mark_unknown(entry_id, reason="unclear_answer", error=outcome.reason)
