"""The web process: Daphne, which says goodbye before it hangs up.

Run as `python -m arise_site.web` with Daphne's own flags (arise_site.programs has them).
"""

from typing import Any

from daphne.cli import CommandLineInterface
from daphne.server import Server
from twisted.internet import reactor


class SocketFlow:
    """Lets an application leave a socket unread while it can take no more: Daphne itself reads
    whatever comes into a queue without a bound."""

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol

    def pause(self) -> None:
        self._protocol.transport.pauseProducing()

    def resume(self) -> None:
        self._protocol.transport.resumeProducing()


class WebServer(Server):  # type: ignore[misc]  # Daphne has no types
    """Daphne's server with two things more: autobahn drops the line without a word when a frame is
    too large or not UTF-8, where the protocol has a close code (1009, 1007) that says so; and a
    WebSocket's application is given a SocketFlow as `flow` in its scope."""

    def run(self) -> None:
        reactor.callWhenRunning(lambda: self.ws_factory.setProtocolOptions(failByDrop=False))
        super().run()

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] == "websocket":
            scope["flow"] = SocketFlow(protocol)
        return super().create_application(protocol, scope)


class WebInterface(CommandLineInterface):  # type: ignore[misc]  # Daphne has no types
    """Daphne's command line, starting our server."""

    description = "The web process of arise"
    server_class = WebServer


if __name__ == "__main__":
    WebInterface.entrypoint()
