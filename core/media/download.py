"""One HTTP GET to an address that was judged before, bounded in time and in size.

Importing httpcore2 takes a while, so only core.media.fetching imports this module, when something
is fetched for the first time.
"""

import functools
import socket
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import httpcore2
import httpx2

from core.errors import MediaFailure
from core.media.targets import Target

_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; arise)",
    "Accept": "image/png,image/jpeg,image/gif,image/webp,*/*;q=0.1",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
_REDIRECTS = {301, 302, 303, 307, 308}
_ROOM_FOR_HEADERS = 256 * 1024
_MOST_ADDRESSES = 3


@dataclass(frozen=True, slots=True)
class Fetched:
    """The body of an answer, or where it says to look instead."""

    body: bytes
    location: str = ""


@functools.cache
def certificates() -> ssl.SSLContext:
    """Whom to trust, without a look at the environment."""
    return httpx2.create_ssl_context(trust_env=False)


def get(
    target: Target,
    addresses: Sequence[str],
    *,
    deadline: float,
    most_bytes: int,
    trust: ssl.SSLContext | None,
) -> Fetched:
    """Ask one of `addresses` for the target, until `deadline` (time.monotonic).

    Raises MediaFailure.
    """
    url = httpcore2.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )
    backend = _Pinned(addresses, deadline, most_bytes + _ROOM_FOR_HEADERS)
    connection = httpcore2.HTTPConnection(
        url.origin,
        ssl_context=(trust or certificates()) if target.scheme == "https" else None,
        network_backend=backend,
    )
    request = httpcore2.Request(
        "GET", url, headers=list((_HEADERS | {"Host": target.host_header}).items())
    )
    try:
        response = connection.handle_request(request)
        headers = _headers(response.headers)
        if response.status in _REDIRECTS and headers.get("location"):
            return Fetched(b"", headers["location"])
        _check(response.status, headers, most_bytes)
        return Fetched(_body(response.stream, most_bytes))
    except httpcore2.TimeoutException as error:
        raise MediaFailure("timeout", f"{target.host} did not answer in time: {error}") from None
    except (
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
        OSError,
        ValueError,
    ) as error:
        raise MediaFailure("unreachable", f"{target.host}: {error}") from None
    finally:
        connection.close()


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


def _check(status: int, headers: Mapping[str, str], most_bytes: int) -> None:
    """Whether an answer is worth reading, by what it says of itself."""
    if status != 200:
        raise MediaFailure("http_status", f"HTTP {status}")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise MediaFailure("broken", "packed, though it was asked for as it is")
    announced = headers.get("content-length", "")
    if announced.isdecimal() and len(announced) < 20 and int(announced) > most_bytes:
        raise _too_large(most_bytes)


def _body(stream: object, most_bytes: int) -> bytes:
    kept = bytearray()
    if not isinstance(stream, Iterable):
        raise TypeError("a synchronous connection has a synchronous stream")
    for chunk in stream:
        kept += chunk
        if len(kept) > most_bytes:
            raise _too_large(most_bytes)
    return bytes(kept)


def _too_large(most_bytes: int) -> MediaFailure:
    return MediaFailure("too_large", f"larger than {most_bytes} bytes")


class _Pinned(httpcore2.NetworkBackend):
    """Connects to the judged addresses, whatever name the connection is for."""

    def __init__(self, addresses: Sequence[str], deadline: float, most_bytes: int) -> None:
        self._addresses = addresses[:_MOST_ADDRESSES]
        self._deadline = deadline
        self._most_bytes = most_bytes

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: httpcore2.NetworkError | httpcore2.TimeoutException | None = None
        for place, address in enumerate(self._addresses):
            left = _left(self._deadline, httpcore2.ConnectTimeout)
            share = left / (len(self._addresses) - place)
            try:
                stream = httpcore2.SyncBackend().connect_tcp(_numeric(address), port, timeout=share)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _Bounded(stream, self._deadline, self._most_bytes)
        raise failure or httpcore2.ConnectError("no address to connect to")


def _numeric(address: str) -> str:
    """The address itself; ValueError for a name, which would be resolved once more."""
    socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    return address


class _Bounded(httpcore2.NetworkStream):
    """A stream all of which, its TLS handshake and headers included, ends by a deadline and a size."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float, room: int) -> None:
        self._stream = stream
        self._deadline = deadline
        self._room = room

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _left(self._deadline, httpcore2.ReadTimeout)
        data = self._stream.read(max_bytes, timeout=left)
        self._room -= len(data)
        if self._room < 0:
            raise MediaFailure("too_large", "more was sent than may be read")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=_left(self._deadline, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(self._deadline, httpcore2.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=left)
        return _Bounded(stream, self._deadline, self._room)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _left(deadline: float, error: type[httpcore2.TimeoutException]) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise error("the time is over")
    return left
