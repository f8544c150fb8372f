"""Which connection is live, and when one counts as dead."""

import time

import pytest

from botgateway.calls import Calls
from botgateway.connections import LiveConnection, Registry
from botgateway.dialects import LAGRANGE, NAPCAT, ONEBOTS, Dialect


async def nothing(*_: object) -> None:
    """Neither written nor closed."""


def connection(number: int, role: str = "universal", bot_id: int = 1) -> LiveConnection:
    return LiveConnection(number, bot_id, "10000", role, Calls(nothing), nothing)


@pytest.mark.parametrize(
    ("older", "newer", "replaces"),
    [
        ("universal", "universal", True),
        ("universal", "api", True),
        ("universal", "event", True),
        ("api", "universal", True),
        ("api", "api", True),
        ("api", "event", False),
        ("event", "api", False),
    ],
)
def test_a_newer_connection_replaces_older_ones_of_its_roles(
    older: str, newer: str, replaces: bool
) -> None:
    registry = Registry()
    first, second = connection(1, older), connection(2, newer)
    assert registry.add(first) == []
    assert registry.add(second) == ([first] if replaces else [])


def test_bots_do_not_replace_each_other() -> None:
    registry = Registry()
    registry.add(connection(1, bot_id=1))
    assert registry.add(connection(2, bot_id=2)) == []


def test_the_end_of_an_old_connection_leaves_the_new_one_in_its_place() -> None:
    registry = Registry()
    old, new = connection(1), connection(2)
    registry.add(old)
    registry.add(new)
    registry.remove(old)
    assert registry.senders == {1: new}
    registry.remove(new)
    assert registry.senders == {}


def test_an_older_connection_that_opens_late_does_not_take_over() -> None:
    registry = Registry()
    new = connection(2)
    registry.add(new)
    registry.add(connection(1))
    assert registry.senders == {1: new}


@pytest.mark.parametrize(
    ("heartbeat", "silent", "overdue", "probe"),
    [
        (30, 80, False, False),
        (30, 100, True, False),
        (3, 14, False, False),
        (3, 16, True, False),
        (0, 100, False, False),
        (0, 130, False, True),
    ],
)
def test_three_missing_heartbeats_end_it_and_without_any_it_is_asked(
    heartbeat: float, silent: float, overdue: bool, probe: bool
) -> None:
    live = connection(1)
    live.heartbeat_seconds = heartbeat
    live.last_frame = time.monotonic() - silent
    assert (live.is_overdue(), live.wants_probe()) == (overdue, probe)


@pytest.mark.parametrize(
    ("before", "now", "may"),
    [
        (None, None, True),
        (True, None, True),
        (False, None, False),
        (False, True, True),
        (True, False, False),
    ],
)
def test_reports_of_own_messages_are_expected_as_they_were_until_it_is_known_better(
    before: bool | None, now: bool | None, may: bool
) -> None:
    live = connection(1)
    live.reported_own, live.reports_own = before, now
    assert live.may_report is may


@pytest.mark.parametrize(
    ("dialect", "silent", "may"),
    [(NAPCAT, True, True), (LAGRANGE, True, True), (ONEBOTS, True, False), (ONEBOTS, False, True)],
)
def test_a_new_connection_may_give_evidence_by_history_or_by_reports(
    dialect: Dialect, silent: bool, may: bool
) -> None:
    registry = Registry()
    live = connection(1)
    live.dialect, live.reported_own = dialect, False if silent else None
    registry.add(live)
    assert registry.may_give_evidence(live) is may


def test_it_is_asked_once_for_each_silence() -> None:
    live = connection(1)
    live.last_frame = time.monotonic() - 130
    live.probed = live.last_frame
    assert not live.wants_probe()
