"""The connections that this process holds: which one is live, and whether it still lives."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from botgateway.calls import Calls
from botgateway.clock import ConnectionClock
from botgateway.dialects import DEFAULT, Dialect
from botgateway.models import Connection
from core.sending import Claimed

API = frozenset({"api"})
EVENT = frozenset({"event"})
MIN_SILENCE_SECONDS = 15.0
PROBE_AFTER_SECONDS = 120.0
REPORT_SECONDS = 10.0
ROLES = {
    Connection.Role.UNIVERSAL: API | EVENT,
    Connection.Role.API: API,
    Connection.Role.EVENT: EVENT,
}


@dataclass(eq=False, slots=True)
class LiveConnection:
    """One accepted WebSocket. `number` only rises; `close(code, reason)` ends the socket.

    `reports_own`: whether its events tell of the bot's own messages (None: not known yet);
    `reported_own`: whether those of the connection before did;
    `sent_at`: when the first message that it could have told of was sent (monotonic; 0: none).
    `places_asked`: groups of which the bot's place was asked; `mutes_told`: those of which this
    connection told that the bot may not speak; `lists_members`: False once a list was not answered,
    `listing`: held while one is asked for.
    """

    number: int
    bot_id: int
    self_id: str
    role: str
    calls: Calls
    close: Callable[[int, str], Awaitable[None]]
    clock: ConnectionClock = field(default_factory=ConnectionClock)
    event_self_id: str = ""
    online: bool | None = None
    heartbeat_seconds: float = 0
    last_frame: float = field(default_factory=time.monotonic)
    probed: float = 0
    closing: str = ""
    user_agent: str = ""
    dialect: Dialect = DEFAULT
    version: str = ""
    reports_own: bool | None = None
    reported_own: bool | None = None
    sent_at: float = 0
    places_asked: set[str] = field(default_factory=set)
    mutes_told: set[str] = field(default_factory=set)
    lists_members: bool = True
    listing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def roles(self) -> frozenset[str]:
        return ROLES[Connection.Role(self.role)]

    @property
    def is_sender(self) -> bool:
        return "api" in self.roles

    def silent_seconds(self) -> float:
        """Seconds since the last frame of any kind: any frame is a sign of life."""
        return time.monotonic() - self.last_frame

    def is_overdue(self) -> bool:
        """Whether three of its heartbeats failed to come (Lagrange and LLOneBot flush late)."""
        if not self.heartbeat_seconds:
            return False
        return self.silent_seconds() > max(3 * self.heartbeat_seconds, MIN_SILENCE_SECONDS)

    def learn_reports(self) -> None:
        """Take it for silent about the bot's own messages, where one was sent and not told of."""
        waited = time.monotonic() - self.sent_at if self.sent_at else 0
        if self.reports_own is None and waited > REPORT_SECONDS:
            self.reports_own = False

    @property
    def may_report(self) -> bool:
        """Whether it may yet tell of the bot's own messages, as far as is known."""
        known = self.reported_own if self.reports_own is None else self.reports_own
        return known is not False

    def wants_probe(self) -> bool:
        """Whether it sends no heartbeats (NapCat 0, go-cqhttp -1, onebots) and has long been still."""
        still = not self.heartbeat_seconds and self.silent_seconds() > PROBE_AFTER_SECONDS
        return still and self.is_sender and self.probed != self.last_frame


class Registry:
    """The live connections of this process, by bot and role; the newest wins."""

    def __init__(self) -> None:
        self.senders: dict[int, LiveConnection] = {}
        self.all: set[LiveConnection] = set()

    def add(self, connection: LiveConnection) -> list[LiveConnection]:
        """Make a connection the live one; returns those that it replaces."""
        replaced = [
            other
            for other in self.all
            if other.bot_id == connection.bot_id
            and other.number < connection.number
            and other.roles & connection.roles
        ]
        self.all.add(connection)
        current = self.senders.get(connection.bot_id)
        if connection.is_sender and (current is None or current.number < connection.number):
            self.senders[connection.bot_id] = connection
        return replaced

    def was_sent(self, bot_id: int) -> None:
        """The bot said something: connections that carry events should tell of it soon."""
        for connection in self._tellers(bot_id):
            connection.sent_at = connection.sent_at or time.monotonic()

    def gives_evidence(self, connection: LiveConnection, entry: Claimed) -> bool:
        """Whether a send whose outcome is unknown may still be settled by what the implementation
        tells: by the chat's history, or by reports of the bot's own messages."""
        dialect = connection.dialect
        is_group = entry.chat_kind == "group"
        history = dialect.group_history_action if is_group else dialect.private_history_action
        return bool(history) or self._may_report(connection.bot_id)

    def may_give_evidence(self, connection: LiveConnection) -> bool:
        """The same of a new connection, for whatever the ones before it were sending."""
        dialect = connection.dialect
        history = dialect.group_history_action or dialect.private_history_action
        return bool(history) or self._may_report(connection.bot_id)

    def _may_report(self, bot_id: int) -> bool:
        return any(teller.may_report for teller in self._tellers(bot_id))

    def _tellers(self, bot_id: int) -> list[LiveConnection]:
        return [other for other in self.all if other.bot_id == bot_id and "event" in other.roles]

    def remove(self, connection: LiveConnection) -> None:
        """Forget a connection; one that came after it stays."""
        self.all.discard(connection)
        if self.senders.get(connection.bot_id) is connection:
            del self.senders[connection.bot_id]
