"""HTTP servers that behave as badly as a test says, on sockets of their own."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

Behaviour = Callable[[socket.socket], None]
"""What is written to a connection after its request was read; returning closes it."""


class Server:
    """Answers each path as `paths` says, and remembers who came.

    `connections` counts accepted sockets, `requests` has what was sent up to the empty line.
    """

    def __init__(self, address: str = "127.0.0.1", trust: ssl.SSLContext | None = None) -> None:
        self.paths: dict[str, Behaviour] = {}
        self.connections = 0
        self.requests: list[str] = []
        self.sent = 0
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listening = socket.create_server((address, 0), family=family)
        self._tls = trust
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(connection):
            plain = connection
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            request = b""
            while b"\r\n\r\n" not in request:
                if not (data := connection.recv(65536)):
                    return
                request += data
            self.requests.append(request.decode("latin-1"))
            path = request.split(b" ")[1].decode("latin-1")
            self.paths[path](connection)
            self._open.discard(plain)
            with contextlib.closing(connection):
                connection.shutdown(socket.SHUT_WR)

    def endless(self, head: bytes, piece: bytes) -> Behaviour:
        """`head`, then `piece` again and again; `sent` counts the bytes that were taken."""

        def behave(connection: socket.socket) -> None:
            connection.sendall(head)
            while True:
                connection.sendall(piece)
                self.sent += len(piece)

        return behave


def answer(body: bytes = b"", status: str = "200 OK", *headers: str) -> Behaviour:
    """A well-behaved answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    return raw(head + body)


def redirect(location: str, status: str = "302 Found") -> Behaviour:
    """An answer that says to look elsewhere."""
    return answer(b"elsewhere", status, f"Location: {location}")


def raw(data: bytes) -> Behaviour:
    """These bytes, and the end."""
    return lambda connection: connection.sendall(data)


def drip(head: bytes, piece: bytes, gone: threading.Event, seconds: float = 0.01) -> Behaviour:
    """`head`, then `piece` every so often until `gone` is set."""

    def behave(connection: socket.socket) -> None:
        connection.sendall(head)
        while not gone.wait(seconds):
            connection.sendall(piece)

    return behave


def silent(gone: threading.Event) -> Behaviour:
    """Nothing at all until `gone` is set."""

    def behave(_connection: socket.socket) -> None:
        gone.wait(30)

    return behave


@contextlib.contextmanager
def running(address: str = "127.0.0.1", trust: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(address, trust)
    try:
        yield server
    finally:
        server.stop()
