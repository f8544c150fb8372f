"""The web process: Daphne, which says goodbye before it hangs up.

Run as `python -m arise_site.web` with Daphne's own flags (arise_site.programs has them).
"""

from collections import deque
from typing import Any

from daphne.cli import CommandLineInterface
from daphne.server import Server
from twisted.internet import reactor

MOST_MESSAGES = 256
MOST_CHARACTERS = 4 * 1024 * 1024


class SocketFlow:
    """Leaves a socket unread while its application has not taken what came in.

    Daphne reads into a queue without a bound, so a platform that talks faster than its words can
    be stored would fill the memory; unread, it waits in the network's own buffers. This stands
    before that queue and is told of each message that is taken from it.
    """

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._queue: Any = None
        self._sizes: deque[int] = deque()
        self._characters = 0
        self._paused = False

    def before(self, queue: Any) -> "SocketFlow":
        self._queue = queue
        return self

    def put_nowait(self, message: dict[str, Any]) -> None:
        size = len(message.get("text") or message.get("bytes") or "")
        self._sizes.append(size)
        self._characters += size
        self._queue.put_nowait(message)
        full = len(self._sizes) > MOST_MESSAGES or self._characters > MOST_CHARACTERS
        if full and not self._paused:
            self._paused = True
            self._protocol.transport.pauseProducing()

    def taken(self) -> None:
        """The application took the oldest message."""
        if self._sizes:
            self._characters -= self._sizes.popleft()
        empty = len(self._sizes) <= MOST_MESSAGES // 4 and self._characters <= MOST_CHARACTERS // 4
        if empty and self._paused:
            self._paused = False
            self._protocol.transport.resumeProducing()


def telling_what_is_taken(application: Any) -> Any:
    """The application, with its SocketFlow told of each message that it takes."""

    async def called(scope: dict[str, Any], receive: Any, send: Any) -> None:
        flow = scope.pop("flow", None)

        async def take() -> Any:
            message = await receive()
            if flow is not None:
                flow.taken()
            return message

        await application(scope, take, send)

    return called


class WebServer(Server):  # type: ignore[misc]  # Daphne has no types
    """Daphne's server with two things more: autobahn drops the line without a word when a frame is
    too large or not UTF-8, where the protocol has a close code (1009, 1007) that says so; and each
    WebSocket has a SocketFlow."""

    def run(self) -> None:
        self.application: Any = telling_what_is_taken(self.application)
        reactor.callWhenRunning(lambda: self.ws_factory.setProtocolOptions(failByDrop=False))
        super().run()

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] != "websocket":
            return super().create_application(protocol, scope)
        flow = scope["flow"] = SocketFlow(protocol)
        queue = super().create_application(protocol, scope)
        return None if queue is None else flow.before(queue)


class WebInterface(CommandLineInterface):  # type: ignore[misc]  # Daphne has no types
    """Daphne's command line, starting our server."""

    description = "The web process of arise"
    server_class = WebServer


if __name__ == "__main__":
    WebInterface.entrypoint()
