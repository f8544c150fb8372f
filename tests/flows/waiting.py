"""Waiting for what the site does in its own time: bounded, never a fixed sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from core.database import give_back
from core.models import Bot, Turn

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
