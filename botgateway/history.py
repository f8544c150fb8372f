"""A chat's history as the implementation has it: evidence of sends whose outcome is unknown, and
what was said while the bot was not connected."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from botgateway import actions, database, event_parser, fields, ingest, parts
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection, Registry
from botgateway.events import MessageEvent
from botgateway.inlet import Inlet
from botgateway.segments import text_of
from core import backfill, evidence
from core.backfill import Gap
from core.evidence import Sought, Told
from core.messages import PlatformId

logger = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
ANSWER_SECONDS = 15.0
EVIDENCE_COUNT = 30
BACKFILL_COUNT = 50
MOST_PAGES = 20
FILL_ATTEMPTS = 3
FILL_AGAIN_SECONDS = 10.0
STORED_LOOKS, STORED_LOOK_SECONDS = 50, 0.2


class EvidenceWatch:
    """Asks the histories of chats that have sends of unknown outcome, bots and chats side by side."""

    def __init__(self, registry: Registry, wake: Callable[[int], None]) -> None:
        self._registry = registry
        self._wake = wake
        self._looks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Look for evidence once a second, for ever."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except Exception:
                logger.exception("evidence could not be looked for; it is tried again")

    async def look(self) -> None:
        """Begin to ask for every bot that has something to be settled. What is being asked for is not
        sought again so soon (core.evidence.seek)."""
        able = {
            bot_id: connection
            for bot_id, connection in self._registry.senders.items()
            if _kinds(connection)
        }
        for bot_id in await database.run(evidence.seekers, list(able)):
            look = asyncio.get_running_loop().create_task(self._ask(able[bot_id]))
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)

    async def _ask(self, connection: LiveConnection) -> None:
        try:
            await self._ask_chats(connection)
        except Exception:
            logger.exception("bot %s: its histories could not be asked", connection.self_id)

    async def _ask_chats(self, connection: LiveConnection) -> None:
        by_chat: dict[int, list[Sought]] = defaultdict(list)
        for sought in await database.run(evidence.seek, connection.bot_id, _kinds(connection)):
            by_chat[sought.chat_id].append(sought)
        looks = (_look_at(connection, entries) for entries in by_chat.values())
        if any(await asyncio.gather(*looks)):
            self._wake(connection.bot_id)


async def _look_at(connection: LiveConnection, entries: Sequence[Sought]) -> int:
    """Settle what one chat's history tells of; how many sends that was."""
    chat_kind, chat_id = entries[0].chat_kind, entries[0].chat_external_id
    events = await _page(connection, chat_kind, chat_id, EVIDENCE_COUNT)
    told = [_told(connection, event) for event in events or ()]
    return await database.run(evidence.read_history, entries, told)


async def fill_gaps(connection: LiveConnection, inlet: Inlet) -> None:
    """Fetch what was said in the bot's groups while it was not connected, as far as the groups' own
    sequence shows a gap, and let it in through the same door as everything else."""
    if not connection.dialect.tells_sequence or not _action(connection, "group"):
        return
    for attempt in range(FILL_ATTEMPTS):
        if attempt:
            await asyncio.sleep(FILL_AGAIN_SECONDS)
        gaps = await database.run(backfill.owed, connection.bot_id)
        filled = [await _fill(connection, inlet, gap) for gap in gaps]
        if all(filled) or connection.closing:
            return


async def _fill(connection: LiveConnection, inlet: Inlet, gap: Gap) -> bool:
    """Fetch what is missing of one group; whether the gap is closed by it."""
    missing = await _missing(connection, gap)
    if missing is None:
        return False
    for number in sorted(missing):
        item = ingest.received_item(
            missing[number],
            bot_id=connection.bot_id,
            self_id=connection.event_self_id or connection.self_id,
            clock=connection.clock,
        )
        if item is not None:
            await inlet.put(item)
    # The bot's own words are evidence, and never stored.
    found = [number for number, event in missing.items() if not event.is_own]
    for _ in range(STORED_LOOKS):
        if await database.run(backfill.close, gap, found):
            return True
        await asyncio.sleep(STORED_LOOK_SECONDS)
    return False


async def _missing(connection: LiveConnection, gap: Gap) -> dict[int, MessageEvent] | None:
    """What a group's history has above where the gap begins and is not stored, by sequence. None
    where the history did not come; what it does not reach back to is lost."""
    found: dict[int, MessageEvent] = {}
    start: int | str | None = None
    for _ in range(MOST_PAGES):
        events = await _page(connection, "group", gap.group_id, BACKFILL_COUNT, start)
        if events is None:
            return None
        numbered = {int(event.sequence): event for event in events if event.sequence.isdecimal()}
        found |= {
            number: event
            for number, event in numbered.items()
            if number > gap.after and number not in gap.stored and event.segments
        }
        oldest = min(numbered, default=None)
        if oldest is None or oldest <= gap.after + 1:
            break
        at = _start(connection, numbered[oldest])
        if at is None or at == start:
            break
        start = at
    return found


def _start(connection: LiveConnection, event: MessageEvent) -> int | str | None:
    """What a dialect takes as the message from which its history goes back."""
    if connection.dialect.history_value == "message_id":
        return event.message_id.wire() if event.message_id else None
    return int(event.sequence) if event.sequence.isdecimal() else None


async def _page(
    connection: LiveConnection,
    kind: str,
    chat_id: PlatformId,
    count: int,
    start: int | str | None = None,
) -> list[MessageEvent] | None:
    """One answer of a chat's history; None where none came."""
    is_by_sequence = connection.dialect.history_parameter == "message_seq"
    ask = actions.get_group_msg_history if kind == "group" else actions.get_friend_msg_history
    call = ask(
        chat_id.wire(),
        count,
        message_seq=start if is_by_sequence else None,
        message_id=None if is_by_sequence else start,
    )
    try:
        response = await connection.calls.call(call, seconds=ANSWER_SECONDS)
    except (NotWritten, NoAnswer):
        return None
    if not response.ok:
        logger.warning(
            "bot %s: no history of %s %s: %s",
            connection.self_id,
            kind,
            chat_id.value,
            response.message,
        )
        return None
    frames = fields.mapping(response.data).get("messages")
    read = [_event(connection, frame) for frame in frames] if isinstance(frames, list) else []
    return [event for event in read if event is not None]


def _event(connection: LiveConnection, frame: Any) -> MessageEvent | None:
    """A message of a history as the event that it was: some leave out what events begin with."""
    common = {"post_type": "message", "self_id": connection.event_self_id or connection.self_id}
    event = event_parser.parse({**common, **fields.mapping(frame)})
    return event if isinstance(event, MessageEvent) else None


def _kinds(connection: LiveConnection) -> list[str]:
    """The kinds of chats of which the implementation has a history."""
    return [kind for kind in ("group", "private") if _action(connection, kind)]


def _action(connection: LiveConnection, kind: str) -> str:
    dialect = connection.dialect
    return dialect.group_history_action if kind == "group" else dialect.private_history_action


def _told(connection: LiveConnection, event: MessageEvent) -> Told:
    ahead = timedelta(seconds=connection.clock.platform_now() - timezone.now().timestamp())
    at = datetime.fromtimestamp(event.time, UTC) - ahead if event.time else timezone.now()
    kinds = [part.type for part in parts.from_segments(event.segments)]
    return Told(
        message_id=event.message_id.value if event.message_id else "",
        is_number=event.message_id.is_number if event.message_id else True,
        is_own=event.is_own
        or (event.user_id is not None and event.user_id.value == connection.self_id),
        said=evidence.likeness(text_of(event.segments), kinds),
        sent_at=at,
    )
