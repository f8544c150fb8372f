"""A connection's own time, learned from its lifecycle and heartbeats."""

from botgateway.clock import ConnectionClock
from botgateway.events import HeartbeatEvent, LifecycleEvent, OtherEvent


class Hands:
    """Our own clocks, moved by hand."""

    def __init__(self) -> None:
        self.monotonic = 50.0
        self.now = 2_000_000_000.0

    def pass_seconds(self, seconds: float) -> None:
        self.monotonic += seconds
        self.now += seconds


def _clock() -> tuple[ConnectionClock, Hands]:
    hands = Hands()
    return ConnectionClock(lambda: hands.monotonic, lambda: hands.now), hands


def test_without_any_event_our_own_clock_serves() -> None:
    clock, _ = _clock()
    clock.learn(OtherEvent(time=1, name="x"))
    assert not clock.is_old(1_999_999_980, 30)
    assert clock.is_old(1_999_999_960, 30)
    assert not clock.is_old(None, 30)


def test_the_lifecycle_event_tells_the_platforms_time() -> None:
    clock, hands = _clock()
    clock.learn(LifecycleEvent(time=1_760_000_000, sub_type="connect"))
    hands.pass_seconds(10)
    assert clock.platform_now() == 1_760_000_010
    assert not clock.is_old(1_760_000_000, 30)
    assert clock.is_old(1_759_999_900, 30)


def test_our_own_clock_may_jump_meanwhile() -> None:
    clock, hands = _clock()
    clock.learn(LifecycleEvent(time=1_760_000_000))
    hands.now -= 3600
    assert clock.platform_now() == 1_760_000_000


def test_heartbeats_that_waited_in_a_queue_do_not_turn_time_back() -> None:
    clock, hands = _clock()
    clock.learn(LifecycleEvent(time=1_760_000_000))
    for minutes_ago in range(30, 0, -1):
        clock.learn(HeartbeatEvent(time=1_760_000_000 - 60 * minutes_ago))
    hands.pass_seconds(1)
    assert clock.is_old(1_760_000_000 - 60, 30)


def test_a_platform_clock_that_was_set_back_is_followed() -> None:
    clock, hands = _clock()
    clock.learn(LifecycleEvent(time=1_760_003_600))
    for _ in range(5):
        hands.pass_seconds(30)
        clock.learn(HeartbeatEvent(time=int(1_760_000_000 + hands.monotonic - 50)))
    assert clock.platform_now() == 1_760_000_150
    assert not clock.is_old(1_760_000_149, 30)
