"""What `manage.py doctor` says of each bot's connection."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _

from botgateway import own_reports
from botgateway.models import Connection, RefusedConnection
from botgateway.simulator import bots
from core import doctor
from core.doctor import Finding
from core.models import Bot

_QUIET = timedelta(
    minutes=3
)  # implementations send a heartbeat every few seconds, some each minute
_RECENT = timedelta(minutes=10)


@doctor.register
def connections() -> Iterable[Finding]:
    """One line for each enabled bot but the playground's, which are connected while their page is open."""
    try:
        bots = list(Bot.objects.filter(enabled=True))
        found = [_bot(bot, timezone.now()) for bot in bots if not bot.is_playground]
    except DatabaseError:
        yield Finding(_("bots"), "warning", _("can't be looked up"), _("see database"))
        return
    if not bots:
        yield Finding(
            "bots", "warning", _("no enabled bot"), _("manage.py addbot SELF_ID makes one")
        )
    yield from found


def _bot(bot: Bot, now: datetime) -> Finding:
    name = _("bot %(self_id)s") % {"self_id": bot.self_id}
    live = list(Connection.objects.live().filter(bot=bot).order_by("-id"))
    if not live:
        return Finding(name, "warning", _not_connected(bot, now), _how_to_connect(bot))
    roles = {connection.role for connection in live}
    newest = live[0]
    who = " ".join(filter(None, (newest.implementation, newest.version))) or _("an implementation")
    if Connection.Role.UNIVERSAL not in roles and len(roles) < 2:
        message = _("%(who)s is connected as %(role)s only") % {
            "who": who,
            "role": newest.get_role_display(),
        }
        return Finding(
            name, "warning", message, _("connect as Universal, or the other role as well")
        )
    return _liveness(name, who, live, now)


def _liveness(name: str, who: str, live: list[Connection], now: datetime) -> Finding:
    heard_at = max(connection.last_frame_at or connection.connected_at for connection in live)
    age = max(now - heard_at, timedelta(0))
    message = _("%(who)s connected, last frame %(seconds).0f s ago") % {
        "who": who,
        "seconds": age.total_seconds(),
    }
    if any(connection.online is False for connection in live):
        advice = _("log the account in again in its implementation")
        return Finding(
            name,
            "warning",
            _("%(message)s; the account is logged out") % {"message": message},
            advice,
        )
    if age > _QUIET:
        return Finding(name, "warning", message, _("see whether the implementation still runs"))
    return _own_reports(name, message, live)


def _own_reports(name: str, message: str, live: list[Connection]) -> Finding:
    """A warning only where a setting mends it: nobody can do anything about the others."""
    silent = own_reports.silent(live)
    if silent is None:
        return Finding(name, "ok", message)
    message = _("%(message)s; it does not report the bot's own messages") % {"message": message}
    if not own_reports.setting(silent):
        return Finding(name, "ok", message)
    return Finding(name, "warning", message, own_reports.advice(silent))


def _not_connected(bot: Bot, now: datetime) -> str:
    """With the last time that it was turned away, where that is recent enough to be the reason."""
    recent = RefusedConnection.objects.filter(self_id=bot.self_id, last_at__gt=now - _RECENT)
    last = recent.order_by("-last_at").first()
    if last is None:
        return _("not connected")
    return _("not connected; refused %(count)d times: %(reason)s") % {
        "count": last.attempts,
        "reason": last.get_reason_display(),
    }


def _how_to_connect(bot: Bot) -> str:
    if bot.self_id == bots.SELF_ID:
        return _("it is the simulator's: manage.py simulate connects it")
    host = settings.ARISE_HOST if settings.ARISE_HOST not in {"0.0.0.0", "::"} else "ADDRESS"  # noqa: S104
    url = f"ws://{f'[{host}]' if ':' in host else host}:{settings.ARISE_PORT}/onebot/v11/ws"
    return _(
        "in its implementation add a WebSocket client (reverse WebSocket) to %(url)s "
        "with the bot's token as access token; manage.py addbot %(self_id)s --rotate "
        "makes a new token"
    ) % {"url": url, "self_id": bot.self_id}
