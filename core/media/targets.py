"""Where a download may lead: addresses of the public internet, and what the operator allows.

A name is resolved once, every address that it has is judged, and the connection goes to one of the
addresses that were judged: a name that answers differently the next time gains nothing.
"""

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from django.conf import settings

from core.errors import MediaFailure

MAX_URL = 4096
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_SAFE = "!#$%&'()*+,/:;=?@[]~-._"
_UNICAST = ipaddress.IPv6Network("2000::/3")
_NOT_ROUTED = (
    ipaddress.IPv6Network("2001::/32"),  # Teredo: it hides an IPv4 address of its own
    ipaddress.IPv6Network("3fff::/20"),  # documentation (RFC 9637), which ipaddress may not know
)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_RELAYS = ipaddress.IPv4Network("192.88.99.0/24")  # 6to4, given up by RFC 7526

Resolve = Callable[[str, int], Sequence[str]]
"""The numeric addresses of a host's name; OSError where it has none."""


@dataclass(frozen=True, slots=True)
class Target:
    """One address of a URL, taken apart once; everything later is made of these fields."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        """What the Host header says: with the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse(url: str) -> Target:
    """Take a URL apart; MediaFailure `bad_address` for whatever is no plain http or https URL."""
    if len(url) > MAX_URL or any(
        ord(character) <= 32 or character in "\\\x7f" for character in url
    ):
        raise _bad("it is too long, or holds characters that no URL has")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _bad(str(error)) from None
    if parts.scheme not in _PORTS:
        raise _bad("it is neither http nor https")
    if "@" in parts.netloc:
        raise _bad("it holds a user's name")
    if port == 0:
        raise _bad("no server has port 0")
    query = f"?{parts.query}" if parts.query else ""
    path = quote((parts.path or "/") + query, safe=_SAFE)
    return Target(parts.scheme, _host(host), port or _PORTS[parts.scheme], path)


def _host(host: str) -> str:
    if ":" in host:
        try:
            return str(ipaddress.IPv6Address(host)) if "%" not in host else _not_a_host(host)
        except ValueError:
            return _not_a_host(host)
    try:
        name = host.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        return _not_a_host(host)
    return name if len(name) <= 253 and _NAME.fullmatch(name) else _not_a_host(host)


def _not_a_host(host: str) -> str:
    raise _bad(f"{host[:100]!r} is no host")


def resolved(target: Target, resolve: Resolve, *, seconds: float) -> Sequence[str]:
    """The addresses of a target, each of which may be connected to.

    Raises MediaFailure `blocked_address` where even one of them is not public and the operator did
    not allow the host; `unreachable` where it has none, `timeout` where nobody knows in time.
    """
    found = _asked(target, resolve, seconds)
    if not found:
        raise MediaFailure("unreachable", f"{target.host} has no address")
    if not _is_allowed(target):
        for address in found:
            if not is_public(address):
                raise MediaFailure("blocked_address", f"{target.host} is {address}, not public")
    return found


def is_public(text: str) -> bool:
    """Whether a numeric address belongs to the public internet, those that it wraps included."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and address not in _RELAYS
    if address.ipv4_mapped is not None:
        return is_public(str(address.ipv4_mapped))
    if address in _TRANSLATED:
        return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    if address.sixtofour is not None:
        return is_public(str(address.sixtofour))
    if address.scope_id is not None or any(address in network for network in _NOT_ROUTED):
        return False
    return address in _UNICAST and address.is_global


def look_up(host: str, port: int) -> Sequence[str]:
    """The system's own resolver, every spelling that it knows of a number included."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _asked(target: Target, resolve: Resolve, seconds: float) -> Sequence[str]:
    """Ask in a thread of its own: the system's resolver can't be told how long it may take."""
    answer: list[Sequence[str]] = []

    def ask() -> None:
        try:
            answer.append(resolve(target.host, target.port))
        except (OSError, UnicodeError):
            answer.append(())

    asking = threading.Thread(target=ask, name="resolving", daemon=True)
    asking.start()
    asking.join(max(0.0, seconds))
    if not answer:
        raise MediaFailure("timeout", f"the name {target.host} was not resolved in time")
    return answer[0]


def _is_allowed(target: Target) -> bool:
    """Whether ARISE_MEDIA_ALLOWED_HOSTS has the host, or the host with this port."""
    allowed: Sequence[str] = settings.ARISE_MEDIA_ALLOWED_HOSTS
    host = f"[{target.host}]" if ":" in target.host else target.host
    return not {target.host, host, f"{host}:{target.port}"}.isdisjoint(allowed)


def _bad(detail: str) -> MediaFailure:
    return MediaFailure("bad_address", f"not an address to fetch from: {detail}")
