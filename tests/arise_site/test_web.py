"""The brake before Daphne's queue: what is not taken is not read on."""

import asyncio
from typing import Any

from arise_site import web
from arise_site.web import SocketFlow


class Transport:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def pauseProducing(self) -> None:
        self.told.append("pause")

    def resumeProducing(self) -> None:
        self.told.append("resume")


class Socket:
    """A protocol with a flow before its queue."""

    def __init__(self) -> None:
        self.transport = Transport()
        self.queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.flow = SocketFlow(self).before(self.queue)

    def come_in(self, count: int, characters: int) -> None:
        for _ in range(count):
            self.flow.put_nowait({"type": "websocket.receive", "text": "x" * characters})

    def take(self, count: int) -> None:
        for _ in range(count):
            self.queue.get_nowait()
            self.flow.taken()


def test_many_messages_that_nobody_takes_pause_the_socket_until_most_are_taken() -> None:
    socket = Socket()
    socket.come_in(web.MOST_MESSAGES, 10)
    assert socket.transport.told == []
    socket.come_in(2, 10)
    assert socket.transport.told == ["pause"]
    socket.take(10)
    assert socket.transport.told == ["pause"]
    socket.take(web.MOST_MESSAGES - 10)
    assert socket.transport.told == ["pause", "resume"]


def test_few_large_messages_do_so_too() -> None:
    socket = Socket()
    socket.come_in(2, web.MOST_CHARACTERS // 2 + 1)
    assert socket.transport.told == ["pause"]
    socket.take(2)
    assert socket.transport.told == ["pause", "resume"]


async def test_the_application_tells_what_it_takes_and_other_scopes_are_left_alone() -> None:
    socket = Socket()
    socket.come_in(web.MOST_MESSAGES + 1, 10)

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        assert "flow" not in scope
        for _ in range(web.MOST_MESSAGES + 1):
            await receive()

    await web.telling_what_is_taken(application)({"flow": socket.flow}, socket.queue.get, None)
    assert socket.transport.told == ["pause", "resume"]
