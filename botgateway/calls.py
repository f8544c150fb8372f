"""Calls of the platform's actions over one connection: matched to their answers by echo alone."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from botgateway.actions import Call, Response
from core import failpoints


class NotWritten(Exception):
    """The connection was gone before the frame was handed to it: surely nothing was done."""


class NoAnswer(Exception):
    """The frame was handed over and nothing came back: it may have been done.

    `reason` is `no_answer` or `connection_lost`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Calls:
    """The calls of one connection that wait for their answers."""

    def __init__(self, send_text: Callable[[str], Awaitable[None]]) -> None:
        self._send_text = send_text
        self._waiting: dict[str, asyncio.Future[Response]] = {}
        self._numbers = itertools.count(1)
        self._closed = False

    async def call(self, call: Call, *, seconds: float, echo: str = "") -> Response:
        """Make a call and wait up to so many seconds for its answer, whatever it says.

        Raises NotWritten or NoAnswer. `echo` must be unique in this connection; one is made
        where none is given.
        """
        if self._closed:
            raise NotWritten
        named = bool(echo)
        echo = echo or f"call-{next(self._numbers)}"
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[echo] = answer
        try:
            await self._send_text(call.frame(echo))
            if named:
                failpoints.reach("call_written")
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise NoAnswer("no_answer") from None
        finally:
            self._waiting.pop(echo, None)

    async def data(self, call: Call, *, seconds: float) -> Any:
        """The data of the answer to a question; None where it was refused, or nothing came."""
        try:
            response = await self.call(call, seconds=seconds)
        except (NotWritten, NoAnswer):
            return None
        return response.data if response.ok else None

    def resolve(self, response: Response) -> bool:
        """Hand an answer to whoever waits for it; False where nobody does (late, or not ours)."""
        answer = self._waiting.get(response.echo or "")
        if answer is None or answer.done():
            return False
        answer.set_result(response)
        return True

    def close(self) -> None:
        """The connection is gone: nothing more is written, and whoever waits is told."""
        self._closed = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(NoAnswer("connection_lost"))
