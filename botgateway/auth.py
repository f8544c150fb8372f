"""Who may connect: one cheap look-up before the handshake is answered.

Implementations give up after 2 s, so nothing else happens here. Tokens come as `Bearer T`,
`Token T` (go-cqhttp) or `?access_token=T` (onebots); an empty one is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from django.db.models import F
from django.utils import timezone

from botgateway import platforms
from botgateway.dialects import Dialect
from botgateway.models import Connection, RefusedConnection
from core import tokens
from core.models import Bot
from core.text import clean_text

Reason = RefusedConnection.Reason
MOST_REFUSALS_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a WebSocket request says of itself: header names in lower case."""

    headers: Mapping[str, str]
    query: str
    remote_address: str

    @property
    def self_id(self) -> str:
        return clean_text(self.headers.get("x-self-id", "").strip())[:64]

    @property
    def user_agent(self) -> str:
        return clean_text(self.headers.get("user-agent", ""))[:200]

    @property
    def token(self) -> str:
        """The access token, or the empty string."""
        scheme, _, rest = self.headers.get("authorization", "").strip().partition(" ")
        if scheme.lower() in {"bearer", "token"}:
            return rest.strip() or self._query_token
        return scheme or self._query_token

    @property
    def _query_token(self) -> str:
        return parse_qs(self.query).get("access_token", [""])[0].strip()


@dataclass(frozen=True, slots=True)
class Admission:
    """A bot that may connect, the row of its new connection, the implementation that it was
    connected with before, and whether that one told of the bot's own messages (None: not known)."""

    bot_id: int
    self_id: str
    role: str
    connection_number: int
    dialect: Dialect
    version: str
    reported_own: bool | None


def admit(handshake: Handshake, *, process: str) -> Admission | str:
    """Admit a connection and make it the bot's live one, or keep and return why it is refused."""
    role = handshake.headers.get("x-client-role", "universal").strip().lower() or "universal"
    bot = Bot.objects.filter(self_id=handshake.self_id).first() if handshake.self_id else None
    reason = _refusal(handshake, bot, role)
    if reason or bot is None:
        _keep_refusal(handshake, reason)
        return reason
    return open_connection(bot, role, handshake, process=process)


def open_connection(bot: Bot, role: str, handshake: Handshake, *, process: str) -> Admission:
    """Keep a new connection of a bot that was admitted, and make it the live one."""
    known = Connection.objects.filter(bot=bot, reports_own__isnull=False).order_by("-pk")
    reported_own = known.values_list("reports_own", flat=True).first()
    connection = Connection.objects.create(
        bot=bot,
        role=role,
        process=process,
        remote_address=handshake.remote_address,
        user_agent=handshake.user_agent,
        last_frame_at=timezone.now(),
    )
    if role != Connection.Role.EVENT:
        Bot.objects.filter(pk=bot.pk, connection_number__lt=connection.pk).update(
            connection_number=connection.pk
        )
    return Admission(
        bot.pk,
        bot.self_id,
        role,
        connection.pk,
        dialect=platforms.dialect_of(bot),
        version=bot.platform.get("app_version") or "",
        reported_own=reported_own,
    )


def _refusal(handshake: Handshake, bot: Bot | None, role: str) -> str:
    # Compared also for unknown bots, so that the time taken tells nothing.
    token_hash = bot.token_hash if bot and not bot.is_playground else ""
    matches = tokens.matches(token_hash, handshake.token)
    if not handshake.self_id:
        return Reason.NO_SELF_ID
    if bot is None:
        return Reason.UNKNOWN_BOT
    if not handshake.token:
        return Reason.NO_TOKEN
    if not matches:
        return Reason.WRONG_TOKEN
    if not bot.enabled:
        return Reason.DISABLED_BOT
    return "" if role in Connection.Role.values else Reason.UNKNOWN_ROLE


def _keep_refusal(handshake: Handshake, reason: str) -> None:
    """Count the attempt for the console; what a flood adds is bounded."""
    same = {
        "self_id": handshake.self_id,
        "reason": reason,
        "remote_address": handshake.remote_address,
    }
    now = timezone.now()
    again = RefusedConnection.objects.filter(**same).update(
        attempts=F("attempts") + 1, last_at=now, user_agent=handshake.user_agent
    )
    if not again:
        # The oldest make way: a flood of invented accounts must not hide who comes after it.
        newest = RefusedConnection.objects.order_by("-last_at")[: MOST_REFUSALS_KEPT - 1]
        if RefusedConnection.objects.count() >= MOST_REFUSALS_KEPT:
            RefusedConnection.objects.exclude(pk__in=newest.values("pk")).delete()
        RefusedConnection.objects.get_or_create(
            **same, defaults={"last_at": now, "user_agent": handshake.user_agent}
        )
