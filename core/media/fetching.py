"""Getting the bytes of a picture that somebody sent, from wherever its part says they are."""

import base64
import binascii
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urljoin

from core.errors import MediaFailure
from core.media import store, targets

MOST_BYTES = 8 * 1024 * 1024
MOST_SECONDS = 10.0
MOST_REDIRECTS = 3
INLINE = "base64://"
KEPT = "media:"


@dataclass(frozen=True, slots=True)
class Network:
    """How names become addresses, and whose certificates count (None: those of the system)."""

    resolve: targets.Resolve = targets.look_up
    trust: ssl.SSLContext | None = None


WORLD = Network()


def fetch(
    source: str,
    *,
    seconds: float = MOST_SECONDS,
    most_bytes: int = MOST_BYTES,
    network: Network = WORLD,
) -> bytes:
    """The bytes at an `http(s)://` address, in a `base64://` text, or kept as `media:<sha256>`.

    It may wait for `seconds` altogether, and holds no more than `most_bytes`. What the bytes are is
    not looked at. Raises MediaFailure.
    """
    if source.startswith(INLINE):
        return inline(source, most_bytes=most_bytes)
    if source.startswith(KEPT):
        return _kept(source.removeprefix(KEPT), most_bytes)
    if not source:
        raise MediaFailure("no_address", "nothing says where the picture is")
    return _download(source, time.monotonic() + seconds, most_bytes, network)


def inline(source: str, *, most_bytes: int = MOST_BYTES) -> bytes:
    """The bytes of a `base64://` text; refused before it is decoded where they would be too many."""
    text = source.removeprefix(INLINE)
    if len(text) > (most_bytes + 2) // 3 * 4:
        raise MediaFailure("too_large", f"larger than {most_bytes} bytes")
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MediaFailure("broken", f"not base64: {error}") from None
    if len(content) > most_bytes:
        raise MediaFailure("too_large", f"larger than {most_bytes} bytes")
    return content


def _kept(digest: str, most_bytes: int) -> bytes:
    if not store.is_digest(digest):
        raise MediaFailure("bad_address", "not the name of a stored medium")
    content = store.read(digest)
    if content is None:
        raise MediaFailure("no_address", "it is in the media store no more")
    if len(content) > most_bytes:
        raise MediaFailure("too_large", f"larger than {most_bytes} bytes")
    return content


def _download(url: str, deadline: float, most_bytes: int, network: Network) -> bytes:
    from core.media import download  # noqa: PLC0415 - see there

    for _hop in range(MOST_REDIRECTS + 1):
        target = targets.parse(url)
        left = deadline - time.monotonic()
        addresses = targets.resolved(target, network.resolve, seconds=left)
        fetched = download.get(
            target, addresses, deadline=deadline, most_bytes=most_bytes, trust=network.trust
        )
        if not fetched.location:
            return fetched.body
        url = _joined(url, fetched.location)
    raise MediaFailure("http_status", f"more than {MOST_REDIRECTS} redirects")


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise MediaFailure("bad_address", f"a redirect to nowhere: {error}") from None
