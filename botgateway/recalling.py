"""Whether a message that was to be recalled is really gone.

An `ok` of delete_msg is enough, but for dialects and versions that said so and recalled nothing.
What stays in doubt is looked for: the recall notice first, then the message itself. A message that
may still stand is never followed by its next version.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings

from botgateway import actions, database, fields, platforms
from botgateway.actions import Response
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection
from core import sending
from core.sending import Claimed

NOTICE_SECONDS = 5.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a recall, and why where it is not done."""

    state: Literal["done", "failed", "unknown"]
    reason: str = ""
    error: str = ""


async def outcome(connection: LiveConnection, entry: Claimed, response: Response) -> Outcome:
    """What an answer to delete_msg means; asks on where it leaves that open."""
    said = actions.plain_outcome(response)
    if said.state == "failed":
        return Outcome("failed", "recall_refused", said.reason)
    is_trusted = not connection.dialect.recall_untrusted(connection.version)
    if said.state == "sent" and is_trusted:
        return Outcome("done")
    if await _told_of(entry):
        return Outcome("done")
    return await _looked_up(connection, entry, said_ok=said.state == "sent", error=said.reason)


async def _told_of(entry: Claimed) -> bool:
    """Whether the recall notice comes in time: the door in confirms the entry by it, also where
    events come over another connection."""
    loop = asyncio.get_running_loop()
    end = loop.time() + NOTICE_SECONDS
    while loop.time() < end:
        if not await database.run(sending.is_open, entry.entry_id):
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return False


async def _looked_up(
    connection: LiveConnection, entry: Claimed, *, said_ok: bool, error: str
) -> Outcome:
    assert entry.target is not None  # noqa: S101 - a recall has one
    try:
        response = await connection.calls.call(
            actions.get_msg(entry.target.wire()), seconds=settings.ARISE_SEND_TIMEOUT_SECONDS
        )
    except (NoAnswer, NotWritten):
        return Outcome("unknown", "unclear_answer", error)  # NapCat issue 1729
    if response.ok:
        if _is_gone(fields.mapping(response.data)):
            return Outcome("done")
        return Outcome("failed", "not_recalled", error)
    # Not to be found may also mean that its id was forgotten (NapCat, after a restart): alone it
    # proves nothing, with an `ok` it does.
    if said_ok and actions.is_not_found(response):
        return Outcome("done")
    return Outcome("unknown", "unclear_answer", error or response.message)


def _is_gone(message: Mapping[str, Any]) -> bool:
    """LLOneBot says `deleted`, NapCat tells the message without its content (NapCat issue 641)."""
    return message.get("status") == "deleted" or not message.get("message")


def settle(entry_id: int, outcome: Outcome) -> None:
    """Keep what became of a recall."""
    match outcome.state:
        case "done":
            sending.confirm(entry_id)
        case "failed":
            sending.mark_failed(entry_id, reason=outcome.reason, error=outcome.error)
        case "unknown":
            sending.mark_unknown(entry_id, reason=outcome.reason, error=outcome.error)


def settle_late(bot_id: int, entry_id: int, response: Response) -> None:
    """Keep a late answer to delete_msg, as far as it says something for sure."""
    said = actions.plain_outcome(response)
    if said.state == "failed":
        sending.mark_failed(entry_id, reason="recall_refused", error=said.reason)
    elif said.state == "sent" and platforms.trusts_recalls(bot_id):
        sending.confirm(entry_id)
