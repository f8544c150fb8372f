"""The way out: does what the Outbox has for the bots whose connections this process holds.

Woken by hints, by its own timers, and once a second by the table itself.
"""

import asyncio
import base64
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

from django.db import InterfaceError, OperationalError

from botgateway import actions, database, gestures, platforms, recalling, shared_folder
from botgateway.actions import Call, Response, UnsendablePart
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection, Registry
from core import failpoints, sending
from core.messages import PlatformId
from core.models import OutboxEntry
from core.sending import Claimed

logger = logging.getLogger(__name__)
P = ParamSpec("P")
Parts = Sequence[Mapping[str, Any]]
Action = OutboxEntry.Action
ECHO = re.compile(r"send-([0-9]{1,18})-[0-9]+(?:-again)?")
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 0.5
SENT_AS_TEXT = "Sent as text, since its voice was refused"
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
    try:
        call = await _upload(connection, entry) or _call(connection, entry)
    except UnsendablePart as part:
        await keep(sending.mark_failed, entry.entry_id, reason="unsendable", error=str(part))
        return None
    except OSError as error:
        await keep(sending.mark_failed, entry.entry_id, reason="unsendable", error=str(error))
        return None
    failpoints.reach("call_writing")
    try:
        response = await _ask(connection, entry, call)
        note = ""
        if entry.action == Action.SEND and (parts := await _repaired(connection, entry, response)):
            done = SENT_AS_TEXT if entry.payload else SENT_WITHOUT_REFERENCES
            note = f"{done}: {actions.send_outcome(response).reason}"
            # Kept before it goes out: evidence is looked for by what was said.
            await keep(sending.keep_parts, entry.entry_id, parts)
            response = await _ask(connection, entry, _say(entry, parts), again=True)
    except NotWritten:
        await keep(sending.hand_back, entry.entry_id, connection.number)
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


def _call(connection: LiveConnection, entry: Claimed) -> Call:
    if entry.action in OutboxEntry.GESTURES:
        return gestures.call(connection, entry)
    if entry.target is not None:
        if entry.action == Action.RECALL:
            return actions.delete_msg(entry.target.wire())
        return actions.edit_msg(entry.target.wire(), entry.parts)
    return _say(entry, _parts(entry))


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


def _say(entry: Claimed, parts: Parts) -> Call:
    chat_id = entry.chat_external_id.wire()
    return actions.send_message(entry.chat_kind, chat_id, parts, entry.address)


def _parts(entry: Claimed) -> Parts:
    """The parts as they go out: a voice or a file with its bytes, since an implementation may live
    on another machine."""
    if entry.payload is None:
        return entry.parts
    file = f"base64://{base64.b64encode(entry.payload).decode()}"
    return [
        {**part, "data": {**part["data"], "file": file}}
        if part["type"] in ("voice", "file")
        else part
        for part in entry.parts
    ]


async def _repaired(connection: LiveConnection, entry: Claimed, response: Response) -> Parts:
    """The parts without what they were surely refused for; none where nothing can be left out."""
    parts: Parts = entry.parts
    if actions.is_bad_voice(response):
        return [words for part in parts for words in part["data"].get("instead", ())]
    if actions.is_bad_segment(response):
        parts = actions.without_references(parts)
    elif await _does_not_know_the_quoted(connection, entry, response):
        parts = sending.without_quote(entry.parts)
    return parts if parts != entry.parts else []


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
    connection: LiveConnection, entry: Claimed, call: Call, *, again: bool = False
) -> Response:
    return await connection.calls.call(
        call,
        echo=f"send-{entry.entry_id}-{connection.number}{'-again' if again else ''}",
        seconds=sending.answer_seconds(len(entry.payload or b"")),
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
