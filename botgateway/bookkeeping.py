"""What is kept of connections, for the console and for the processes that hold them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from botgateway.connections import ROLES, LiveConnection
from botgateway.models import ABANDONED_SECONDS, Connection

REPLACED = "replaced by a newer connection"
BOT_DISABLED = "the bot was disabled"
BOT_GONE = "the bot was removed"
ABANDONED = "its process ended"
SILENT = "nothing heard for too long"
UNANSWERING = "no answer to get_status"


@dataclass(frozen=True, slots=True)
class Sign:
    """What a process knows of one of its connections."""

    number: int
    bot_id: int
    role: str
    last_frame_at: datetime
    online: bool | None
    reports_own: bool | None


def sign_of(connection: LiveConnection) -> Sign:
    """The connection's signs of life, in wall time."""
    heard = timezone.now() - timedelta(seconds=connection.silent_seconds())
    return Sign(
        connection.number,
        connection.bot_id,
        connection.role,
        heard,
        connection.online,
        connection.reports_own,
    )


def introduced(number: int, nickname: str, implementation: str, version: str) -> None:
    """Keep who is there, as get_login_info and get_version_info told."""
    Connection.objects.filter(pk=number).update(
        nickname=nickname, implementation=implementation, version=version
    )


def closed(number: int, reason: str) -> None:
    """Keep that a connection ended, and why; the first reason stays."""
    Connection.objects.filter(pk=number, closed_at__isnull=True).update(
        closed_at=timezone.now(), close_reason=reason[:100]
    )


def look_after(signs: Sequence[Sign]) -> dict[int, str]:
    """Keep the signs of life; return the connections that are over, with the reason of each.

    A connection is over where a newer one of the same bot and role was opened, maybe in another
    process, or its bot was disabled or removed. Rows that nobody looks after any more are closed.
    """
    now = timezone.now()
    bots = {sign.bot_id for sign in signs}
    rows = Connection.objects.filter(bot_id__in=bots).filter(
        Q(closed_at__isnull=True) | Q(pk__in=[sign.number for sign in signs])
    )
    by_number = {row.pk: row for row in rows.select_related("bot")}
    over: dict[int, str] = {}
    for sign in signs:
        row = by_number.get(sign.number)
        reason = _why_over(row, by_number.values()) if row else BOT_GONE
        if reason:
            over[sign.number] = reason
    _keep([sign for sign in signs if sign.number not in over])
    Connection.objects.filter(
        closed_at__isnull=True, kept_at__lt=now - timedelta(seconds=ABANDONED_SECONDS)
    ).update(closed_at=now, close_reason=ABANDONED)
    return over


KEEP = """
UPDATE botgateway_connection AS row
   SET last_frame_at = sign.last_frame_at, online = sign.online, reports_own = sign.reports_own,
       kept_at = now(), closed_at = NULL, close_reason = ''
  FROM unnest(%s::bigint[], %s::timestamptz[], %s::boolean[], %s::boolean[])
       AS sign(id, last_frame_at, online, reports_own)
 WHERE row.id = sign.id AND (row.closed_at IS NULL OR row.close_reason = %s)
"""


def _keep(signs: Sequence[Sign]) -> None:
    """Keep signs in one statement. It reopens what was taken for abandoned, and nothing else: a
    connection that ended while we looked stays ended."""
    if not signs:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            KEEP,
            [
                [sign.number for sign in signs],
                [sign.last_frame_at for sign in signs],
                [sign.online for sign in signs],
                [sign.reports_own for sign in signs],
                ABANDONED,
            ],
        )


def _why_over(row: Connection, known: Iterable[Connection]) -> str:
    if not row.bot.enabled:
        return BOT_DISABLED
    if row.role != Connection.Role.EVENT and row.bot.connection_number > row.pk:
        # Also where the newer one has gone again: sending is its right alone, so this one is mute.
        return REPLACED
    newer = any(
        other.pk > row.pk
        and other.bot_id == row.bot_id
        and other.closed_at is None
        and ROLES[Connection.Role(other.role)] & ROLES[Connection.Role(row.role)]
        for other in known
    )
    return REPLACED if newer else ""
