"""Waiting for what the site does in its own time: bounded, never a fixed sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from arise_site.openai_server import Reply
from botgateway.models import Connection
from core.database import give_back
from core.models import Bot, Turn
from tests.fakes.model import ToolCallSpec, assistant, says

T = TypeVar("T")


async def in_database(function: Callable[[], T]) -> T:
    """Run `function` outside the event loop; its connection goes back at once."""

    def call() -> T:
        try:
            return function()
        finally:
            give_back()

    return await sync_to_async(call)()


async def rows(query: Any) -> list[Any]:
    """The rows of a query, as they are now."""
    return await in_database(lambda: list(query.all()))


async def eventually(look: Callable[[], Awaitable[T]], timeout: float = 15) -> T:  # noqa: ASYNC109
    """The first true-like answer of `look`; an AssertionError where none comes in time."""
    end = time.monotonic() + timeout
    while not (found := await look()):
        assert time.monotonic() < end, f"nothing came of it in {timeout} s, last: {found!r}"
        await asyncio.sleep(0.05)
    return found


async def ended_turns(bot: Bot, count: int, timeout: float = 15) -> list[Turn]:  # noqa: ASYNC109
    """The bot's turns, once so many have ended and their words are out; fails where there are more."""

    async def look() -> list[Turn] | None:
        turns = await rows(Turn.objects.filter(chat__bot=bot).order_by("pk"))
        on_their_way = await rows(bot.outbox.filter(state__in=("pending", "sending")))
        ended = sum(turn.ended_at is not None for turn in turns) >= count
        return turns if ended and not on_their_way else None

    turns = await eventually(look, timeout)
    assert turns is not None
    assert len(turns) == count
    return turns


async def introduced(bot: Bot) -> Connection:
    """The bot's newest connection, once the gateway knows which implementation it is."""

    async def look() -> Connection | None:
        newest = (await rows(Connection.objects.filter(bot=bot).order_by("-pk")[:1]))[0]
        return newest if newest.implementation and newest.closed_at is None else None

    found = await eventually(look)
    assert found is not None
    return found


def entries(bot: Bot) -> list[str]:
    """The bot's Outbox entries in the order written: what each does, how it stands, what it says."""
    found = bot.outbox.order_by("pk")
    return [f"{entry.action} {entry.state} {entry.content}".strip() for entry in found]


async def entries_become(bot: Bot, *expected: str) -> None:
    """Waits until the bot's Outbox entries are exactly these."""

    async def look() -> list[str]:
        return await in_database(lambda: entries(bot))

    end = time.monotonic() + 15
    while (found := await look()) != list(expected):
        assert time.monotonic() < end, f"the entries stayed {found}"
        await asyncio.sleep(0.05)


def once(holds: Callable[[], object], *calls: ToolCallSpec) -> Callable[[dict[str, Any]], Reply]:
    """A model's reply that comes only once something holds in the database, so that a step is
    taken in the moment that a test wants."""

    def reply(_request: dict[str, Any]) -> Reply:
        end = time.monotonic() + 8
        while not _looked(holds):
            assert time.monotonic() < end, "what the next step waits for did not come about"
            time.sleep(0.02)
        return says(assistant(tool_calls=calls))

    return reply


def _looked(holds: Callable[[], object]) -> bool:
    try:
        return bool(holds())
    finally:
        give_back()
