"""Frames as implementations send them, each understood as stated."""

from pathlib import Path

import pytest

from tests.botgateway.observing import observe
from tests.botgateway.onebot_expected import EXPECTED

FRAMES = Path(__file__).parent.parent / "fixtures" / "onebot"


def test_every_frame_has_an_expectation_and_none_is_missing() -> None:
    assert {path.stem for path in FRAMES.glob("*.json")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_golden_frame_is_understood_as_stated(name: str) -> None:
    raw = (FRAMES / f"{name}.json").read_bytes()
    expected = EXPECTED[name]
    observed = observe(raw)
    assert {key: observed.get(key) for key in expected} == expected
    assert observe(raw.decode()) == observed
