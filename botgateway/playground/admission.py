"""Who may connect from the page: a session of the console, from the console's own origin, with the
ticket that the page was given.

A browser sends cookies along with a WebSocket from any site, and no CSRF token: the origin and the
ticket stand for it. The page is asked for through every middleware (a second factor, say), so that a
session that has not seen it has no ticket.
"""

from importlib import import_module
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.contrib import auth as accounts
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.cookie import parse_cookie
from django.utils.crypto import constant_time_compare, salted_hmac

from botgateway import auth
from botgateway.auth import Admission, Handshake
from botgateway.models import Connection
from botgateway.playground import bots
from core.models import Bot

_SALT = "botgateway.playground"


def ticket(session_key: str, person: User) -> str:
    """What the page of a session shows when it connects; it is worth nothing in another session."""
    return salted_hmac(_SALT, f"{session_key} {person.pk}", algorithm="sha256").hexdigest()


def admit(handshake: Handshake, *, process: str) -> Admission | str:
    """Admit the page of a person to his own bot and make it the live connection, or say why not."""
    bot = bot_behind(handshake)
    if isinstance(bot, str):
        return bot
    return auth.open_connection(bot, Connection.Role.UNIVERSAL, handshake, process=process)


def bot_behind(handshake: Handshake) -> Bot | str:
    """The playground bot of the person whose page this is, or why it may not be spoken as."""
    if not _is_same_origin(handshake):
        return "foreign_origin"
    session_key, person = _person(handshake)
    if person is None:
        return "nobody"
    shown = parse_qs(handshake.query).get("ticket", [""])[0]
    if not constant_time_compare(shown, ticket(session_key, person)):
        return "wrong_ticket"
    if not bots.may_use(person):
        return "no_permission"
    bot = bots.bot_of(person)
    if bot is None or not bots.is_reached(person, bot):
        return "no_bot"
    return bot if bot.enabled else "disabled_bot"


def _is_same_origin(handshake: Handshake) -> bool:
    """Whether the page came from where the WebSocket leads; every browser says so."""
    try:
        origin = urlsplit(handshake.headers.get("origin", ""))
    except ValueError:  # no browser's
        return False
    host = handshake.headers.get("host", "")
    return origin.scheme in {"http", "https"} and bool(host) and origin.netloc == host


def _person(handshake: Handshake) -> tuple[str, User | None]:
    cookies = parse_cookie(handshake.headers.get("cookie", ""))
    key = cookies.get(settings.SESSION_COOKIE_NAME, "")
    if "\0" in key:  # a cookie may escape it, and Postgres can't be asked for it
        return key, None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key or None)
    person = accounts.get_user(request)
    return key, person if isinstance(person, User) else None
