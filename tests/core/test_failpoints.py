"""A process dies exactly where it is told to."""

import subprocess
import sys

import pytest

from core import failpoints

DIES = """
import sys, time
from core import failpoints
failpoints.arm(sys.argv[1])
for _ in range(3):
    failpoints.reach("step_written")
    failpoints.reach("step_committed")
    print("passed", flush=True)
time.sleep(3 if "+" in sys.argv[1] else 0)
"""


def run(text: str) -> tuple[int, int]:
    """The exit code, and how often the points were passed."""
    done = subprocess.run(
        [sys.executable, "-c", DIES, text], capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode, done.stdout.count("passed")


@pytest.mark.parametrize(
    ("text", "passed"),
    [("step_written", 0), ("step_committed*3", 2), ("step_written+0.2", 3)],
)
def test_a_process_is_killed_at_its_failpoint(text: str, passed: int) -> None:
    assert run(text) == (-9, passed)


def test_a_process_with_no_failpoint_lives() -> None:
    assert run("") == (0, 3)


@pytest.mark.parametrize("text", ["nowhere", "step_written*0", "step_written *2", "*3"])
def test_a_failpoint_that_nobody_knows_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="failpoint"):
        failpoints.parse(text)
