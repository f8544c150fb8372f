"""The way out: does what the Outbox has for the bots whose connections this process holds.

Woken by hints, by its own timers, and once a second by the table itself.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec

from django.db import InterfaceError, OperationalError

from botgateway import (
    actions,
    database,
    gestures,
    outgoing,
    platforms,
    recalling,
    shared_folder,
)
from botgateway.actions import Call, Response, UnsendablePart
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection, Registry
from botgateway.outgoing import GonePicture, Parts
from core import failpoints, sending
from core.messages import PlatformId
from core.models import OutboxEntry
from core.sending import Claimed

logger = logging.getLogger(__name__)
P = ParamSpec("P")
Action = OutboxEntry.Action
ECHO = re.compile(r"send-([0-9]{1,18})-[0-9]+(?:-again)?")
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 0.5
VOICE_AS_TEXT = "Sent as text, since its voice was refused"
STICKER_AS_TEXT = "Sent as text, since its sticker was refused"
GONE_AS_TEXT = "Sent as text, since its sticker is gone"
SENT_WITHOUT_REFERENCES = "Sent without its quote and mentions, since it was refused with them"


class Dispatcher:
    """Claims due entries and does them, chats side by side, each chat in order."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._woken: set[int] = set()
        self._wake = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()

    def wake(self, bot_id: int) -> None:
        """Look at this bot's Outbox soon; bots of other processes are ignored."""
        if bot_id in self._registry.senders:
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
                self._woken.update(self._registry.senders)
            self._wake.clear()
            woken, self._woken = self._woken, set()
            try:
                await self._drain(woken)
            except Exception:
                logger.exception("the Outbox could not be read; it is tried again")
                await asyncio.sleep(LOOK_SECONDS)

    async def _drain(self, bot_ids: set[int]) -> None:
        looks = await database.run(sending.next_look, list(bot_ids))
        for bot_id, seconds in looks.items():
            connection = self._registry.senders.get(bot_id)
            if connection is None:
                continue
            if seconds > 0:
                self._wake_later(bot_id, seconds)
                continue
            claimed = await database.run(sending.claim, bot_id, connection.number)
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
            evidence = self._registry.gives_evidence(connection, entry)
            response = await deliver(connection, entry, evidence=evidence)
            if entry.action == Action.SEND and response is not None and response.ok:
                self._registry.was_sent(connection.bot_id)
        except Exception:
            logger.exception("Outbox entry %s: its outcome could not be kept", entry.entry_id)
        self.wake(connection.bot_id)


async def deliver(
    connection: LiveConnection, entry: Claimed, *, evidence: bool = True
) -> Response | None:
    """Do one claimed entry and keep what became of it; the answer, where one came. Never does it
    twice: a frame that was handed over and not answered leaves the entry `unknown`. `evidence`:
    whether the implementation may still give some."""
    prepared = await _make_ready(connection, entry)
    if prepared is None:
        return None
    failpoints.reach("call_writing")
    call, note = prepared.call, prepared.note
    try:
        response = await _ask(connection, entry, prepared)
        if entry.action == Action.SEND and not note:
            repair = await _repair(connection, entry, response)
            if repair is not None:
                note = f"{repair.note}: {actions.send_outcome(response).reason}"
                # Kept before it goes out: evidence is looked for by what was said.
                await keep(sending.keep_parts, entry.entry_id, repair.parts)
                again = await _say(connection, entry, repair.parts)
                response = await _ask(connection, entry, again, again=True)
    except NotWritten:
        await keep(sending.hand_back, entry.entry_id, connection.number)
        return None
    except UnsendablePart as part:
        await keep(sending.mark_failed, entry.entry_id, reason="unsendable", error=str(part))
        return None
    except NoAnswer as no_answer:
        await keep(sending.mark_unknown, entry.entry_id, reason=no_answer.reason, evidence=evidence)
        return None
    failpoints.reach("answer_read")
    if actions.is_unknown_action(response):
        await keep(platforms.learn_missing, connection.bot_id, call.action)
    if entry.action == Action.RECALL:
        outcome = await recalling.outcome(connection, entry, response)
        await keep(recalling.settle, entry.entry_id, outcome)
    elif entry.action in OutboxEntry.GESTURES:
        await keep(gestures.settle, entry.entry_id, call, response)
    else:
        await keep(settle, entry.entry_id, entry.action, response, note=note, evidence=evidence)
    failpoints.reach("outcome_kept")
    return response


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that does an entry, and how many bytes of media are in it; `note`: what is already
    different from what was written."""

    call: Call
    media_bytes: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """Other parts for an entry that was surely refused with its own, and what is said of that."""

    parts: Parts
    note: str


async def _make_ready(connection: LiveConnection, entry: Claimed) -> Prepared | None:
    """The call that does the entry; None where there is none, and it is kept what became of it."""
    try:
        return await _prepared(connection, entry)
    except (UnsendablePart, OSError) as error:
        await keep(sending.mark_failed, entry.entry_id, reason="unsendable", error=str(error))
    except (OperationalError, InterfaceError):
        # Nothing of it left: it is taken up again.
        await keep(sending.hand_back, entry.entry_id, connection.number)
    return None


async def _prepared(connection: LiveConnection, entry: Claimed) -> Prepared:
    if entry.action in OutboxEntry.GESTURES:
        return Prepared(gestures.call(connection, entry))
    if entry.target is not None:
        if entry.action == Action.RECALL:
            return Prepared(actions.delete_msg(entry.target.wire()))
        return Prepared(actions.edit_msg(entry.target.wire(), entry.parts))
    upload = await _upload(connection, entry)
    if upload is not None:
        return Prepared(upload, len(entry.payload or b""))
    try:
        return await _say(connection, entry, entry.parts)
    except GonePicture:
        words = sending.words_of(entry.parts)
        if not words:
            raise
        await keep(sending.keep_parts, entry.entry_id, words)
        return await _say(connection, entry, words, note=GONE_AS_TEXT)


async def _upload(connection: LiveConnection, entry: Claimed) -> Call | None:
    """The call that sends a file by the folder that both sides see; None where another way is
    taken, or no file is sent."""
    is_file = entry.action == Action.SEND and any(part["type"] == "file" for part in entry.parts)
    if not is_file or not connection.dialect.uploads_own_files or not shared_folder.is_named():
        return None
    name = str(entry.parts[0]["data"]["name"])
    path = await asyncio.to_thread(shared_folder.put, entry.entry_id, name, entry.payload or b"")
    chat_id = entry.chat_external_id.wire()
    return actions.upload_file(entry.chat_kind, chat_id, path, name)


async def _say(
    connection: LiveConnection, entry: Claimed, parts: Parts, *, note: str = ""
) -> Prepared:
    made = await outgoing.of(connection.dialect, entry, parts)
    chat_id = entry.chat_external_id.wire()
    call = actions.send_message(entry.chat_kind, chat_id, made.parts, entry.address)
    return Prepared(call, made.media_bytes, note)


async def _repair(connection: LiveConnection, entry: Claimed, response: Response) -> Repair | None:
    """The entry without what it was surely refused for; None where nothing can be left out."""
    if await _does_not_know_the_quoted(connection, entry, response):
        return Repair(sending.without_quote(entry.parts), SENT_WITHOUT_REFERENCES)
    kinds = {part["type"] for part in entry.parts}
    parts: Parts = []
    note = SENT_WITHOUT_REFERENCES
    if "sticker" in kinds:
        if actions.is_bad_sticker(response):
            parts, note = sending.words_of(entry.parts), STICKER_AS_TEXT
    elif actions.is_bad_voice(response):
        parts, note = sending.words_of(entry.parts), VOICE_AS_TEXT
    elif actions.is_bad_segment(response):
        parts = actions.without_references(entry.parts)
    return Repair(parts, note) if parts and parts != entry.parts else None


async def _does_not_know_the_quoted(
    connection: LiveConnection, entry: Claimed, response: Response
) -> bool:
    """Whether something was thrown, as Lagrange does before anything leaves where it does not know
    what a message quotes (Lagrange issue 887): asked for that message, it has none."""
    quoted = next((part["data"]["id"] for part in entry.parts if part["type"] == "reply"), "")
    if not (quoted and connection.dialect.fails_unknown_quotes and actions.was_thrown(response)):
        return False
    message_id = int(quoted) if quoted.removeprefix("-").isdecimal() else quoted
    try:
        found = await connection.calls.call(
            actions.get_msg(message_id), seconds=sending.answer_seconds()
        )
    except (NoAnswer, NotWritten):
        return False
    return not found.ok


async def _ask(
    connection: LiveConnection, entry: Claimed, prepared: Prepared, *, again: bool = False
) -> Response:
    return await connection.calls.call(
        prepared.call,
        echo=f"send-{entry.entry_id}-{connection.number}{'-again' if again else ''}",
        seconds=sending.answer_seconds(prepared.media_bytes),
    )


async def keep(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Keep an outcome, waiting out a database that is away: what is not kept nobody can tell later."""
    while True:
        try:
            await database.run(function, *args, **kwargs)
        except (OperationalError, InterfaceError) as error:
            logger.warning("an outcome waits, the database does not answer: %s", error)
            await asyncio.sleep(PAUSE_SECONDS)
        else:
            return


async def take_late(bot_id: int, response: Response) -> None:
    """An answer that nobody waits for any more is evidence, where it answers an entry."""
    found = ECHO.fullmatch(response.echo or "")
    if found:
        await keep(settle_late, bot_id, int(found[1]), response)


def settle_late(bot_id: int, entry_id: int, response: Response) -> None:
    """Keep a late answer, where it came from the bot whose entry it was. A gesture's is no use: what
    is unknown of one stays so."""
    action = sending.action_of(entry_id, bot_id)
    if action == Action.RECALL:
        recalling.settle_late(bot_id, entry_id, response)
    elif action is not None and action not in OutboxEntry.GESTURES:
        settle(entry_id, action, response)


def settle(
    entry_id: int, action: str, response: Response, *, note: str = "", evidence: bool = True
) -> None:
    """Keep what an answer says of a send or an edit."""
    outcome = actions.send_outcome(response)
    match outcome.state:
        case "sent" if action == Action.EDIT:
            sending.confirm(entry_id)
        case "sent":
            wire = outcome.message_id
            message_id = PlatformId(wire.value, wire.is_number) if wire else None
            sending.mark_sent(entry_id, message_id, note=note)
        case "failed":
            sending.mark_failed(entry_id, reason="refused", error=outcome.reason)
        case "unknown":
            sending.mark_unknown(
                entry_id, reason="unclear_answer", error=outcome.reason, evidence=evidence
            )
