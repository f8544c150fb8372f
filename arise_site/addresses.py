"""Where the site listens: whether the port is free, what to type into a browser, whether it is ready."""

import errno
import http.client
import ipaddress
import socket

from django.conf import settings
from django.utils.translation import gettext as _

GATEWAY_PATH = "/onebot/v11/ws"


def port_trouble(host: str, port: int) -> str:
    """Why nothing can listen there, as one line; empty when something can."""
    try:
        found = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        return _("HOST %(host)s is no address of this machine: %(error)s") % {
            "host": host,
            "error": error,
        }
    family, kind, protocol, _name, address = found[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen(1)
        except OSError as error:
            return _bind_trouble(host, port, error)
    return ""


def _bind_trouble(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return _(
            "port %(port)s on %(host)s is taken: stop what listens there, or set PORT to another"
        ) % {"port": port, "host": host}
    if error.errno == errno.EACCES:
        return _("port %(port)s needs more rights than this user has: set PORT to 1024 or more") % {
            "port": port
        }
    return _("cannot listen on %(host)s, port %(port)s: %(reason)s") % {
        "host": host,
        "port": port,
        "reason": error.strerror,
    }


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def reachable_host(host: str) -> str:
    """The address to connect to from this machine, for one that may mean all addresses."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"}.get(host, host.strip("[]"))  # noqa: S104


def origin() -> str:
    """`host:port` as it stands in a URL."""
    host = reachable_host(settings.ARISE_HOST)
    return f"[{host}]:{settings.ARISE_PORT}" if ":" in host else f"{host}:{settings.ARISE_PORT}"


def console_url() -> str:
    return f"http://{origin()}/admin/"


def websocket_url() -> str:
    return f"ws://{origin()}{GATEWAY_PATH}"


def readiness(timeout_seconds: float = 5) -> str | None:
    """None when /readyz answers 200, else what is not ready."""
    connection = http.client.HTTPConnection(
        reachable_host(settings.ARISE_HOST), settings.ARISE_PORT, timeout=timeout_seconds
    )
    try:
        connection.request("GET", "/readyz", headers={"Host": _allowed_name()})
        answer = connection.getresponse()
        body = answer.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return _("web does not answer (%(error)s)") % {"error": error}
    finally:
        connection.close()
    if answer.status == 200:
        return None
    return " ".join(body.split())[:300] or _("/readyz answers %(status)s") % {
        "status": answer.status
    }


def _allowed_name() -> str:
    """A name under which the site answers, whatever ARISE_ALLOWED_HOSTS leaves of them."""
    host = reachable_host(settings.ARISE_HOST)
    names = [name.removeprefix(".") for name in settings.ALLOWED_HOSTS]
    return host if not names or "*" in names or host in names else names[0]
