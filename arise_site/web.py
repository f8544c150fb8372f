"""The web process: Daphne, which says goodbye before it hangs up.

Run as `python -m arise_site.web` with Daphne's own flags (arise_site.programs has them).
"""

from daphne.cli import CommandLineInterface
from daphne.server import Server
from twisted.internet import reactor


class WebServer(Server):  # type: ignore[misc]  # Daphne has no types
    """Daphne's server with one option more: autobahn drops the line without a word when a frame is
    too large or not UTF-8, where the protocol has a close code (1009, 1007) that says so."""

    def run(self) -> None:
        reactor.callWhenRunning(lambda: self.ws_factory.setProtocolOptions(failByDrop=False))
        super().run()


class WebInterface(CommandLineInterface):  # type: ignore[misc]  # Daphne has no types
    """Daphne's command line, starting our server."""

    description = "The web process of arise"
    server_class = WebServer


if __name__ == "__main__":
    WebInterface.entrypoint()
