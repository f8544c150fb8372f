"""A small WebSocket server in the gateway's place, so that the platform's side is tested alone."""

import asyncio
import http
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response


class GatewayStub:
    """Takes one connection after the other, keeps its events, makes calls."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.refuse_with: http.HTTPStatus | None = None
        self._connection: ServerConnection | None = None
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._changed = asyncio.Event()
        self.url = ""

    async def event(self, number: int) -> dict[str, Any]:
        """The event of that number, counted from 0, once it is here."""
        async with asyncio.timeout(5):
            while len(self.events) <= number:
                self._changed.clear()
                await self._changed.wait()
        return self.events[number]

    async def call(self, action: str, timeout: float = 5, **params: Any) -> dict[str, Any]:  # noqa: ASYNC109
        """Calls an action and gives the response."""
        assert self._connection is not None
        echo = f"e{len(self._waiting)}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[echo] = future
        await self._connection.send(json.dumps({"action": action, "params": params, "echo": echo}))
        async with asyncio.timeout(timeout):
            return await future

    async def close_connection(self, code: int, reason: str) -> None:
        """Closes the newest connection."""
        assert self._connection is not None
        await self._connection.close(code, reason)

    def answer_handshake(self, connection: ServerConnection, _request: Request) -> Response | None:
        """Refuses when told so."""
        return connection.respond(self.refuse_with, "no\n") if self.refuse_with else None

    async def handle(self, connection: ServerConnection) -> None:
        """Reads one connection."""
        assert connection.request is not None
        self._connection = connection
        self.headers.append(dict(connection.request.headers.raw_items()))
        self.paths.append(connection.request.path)
        async for raw in connection:
            frame = json.loads(raw)
            if "post_type" in frame:
                self.events.append(frame)
            elif not self._waiting[frame["echo"]].done():
                self._waiting[frame["echo"]].set_result(frame)
            self._changed.set()


@asynccontextmanager
async def gateway_stub() -> AsyncIterator[GatewayStub]:
    """A running stub; its `url` is where a bot connects."""
    stub = GatewayStub()
    server: Server
    async with serve(
        stub.handle, "127.0.0.1", 0, process_request=stub.answer_handshake, close_timeout=1
    ) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        stub.url = f"ws://127.0.0.1:{port}/onebot/v11/ws"
        yield stub
