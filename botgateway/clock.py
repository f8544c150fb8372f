"""The time as a connection's other side has it, so that replayed messages are known as old."""

import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from botgateway.events import Event, HeartbeatEvent, LifecycleEvent

_WINDOW_SECONDS = 120.0
_MAX_SAMPLES = 64


class ConnectionClock:
    """Learns the platform's time from the lifecycle and heartbeat events of one connection.

    An event tells that the platform's clock showed at least its time when it came in; it may have
    waited in a queue (go-cqhttp flushes old heartbeats after a reconnect, go-cqhttp issue 275), so
    the highest of the last two minutes counts, and a wrong one is forgotten after that. Without
    any, our own clock serves. Times are seconds since the epoch.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._monotonic = monotonic
        self._now = now
        self._samples: deque[tuple[float, float]] = deque(maxlen=_MAX_SAMPLES)

    def learn(self, event: Event) -> None:
        """Takes in a lifecycle or heartbeat event; every other event is passed over."""
        if isinstance(event, LifecycleEvent | HeartbeatEvent) and event.time is not None:
            at = self._monotonic()
            self._samples.append((at, event.time - at))

    def platform_now(self) -> float:
        """The platform's time as best known."""
        if not self._samples:
            return self._now()
        at = self._monotonic()
        # The newest always counts, however long ago it came: some send no heartbeats at all.
        while len(self._samples) > 1 and at - self._samples[0][0] > _WINDOW_SECONDS:
            self._samples.popleft()
        return at + max(ahead for _, ahead in self._samples)

    def is_old(self, sent_at_seconds: float | None, stale_seconds: float) -> bool:
        """Whether something was sent longer ago than that; what bears no time is not old."""
        if sent_at_seconds is None:
            return False
        return self.platform_now() - sent_at_seconds > stale_seconds

    def received_at(self) -> datetime:
        """Our own time, in UTC."""
        return datetime.fromtimestamp(self._now(), UTC)
