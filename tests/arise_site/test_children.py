"""Pauses between restarts, and the lines of a program on their way to the screen."""

import os
import sys

from arise_site.children import GOOD_LIFE_SECONDS, Child, Pauses
from arise_site.processes import how_it_ended
from arise_site.programs import Program
from tests.arise_site.running import wait_until


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pauses_grow_to_their_limit_and_a_good_life_ends_that() -> None:
    clock = Clock()
    pauses = Pauses(clock)
    seen = []
    for _ in range(7):
        pauses.started()
        seen.append(pauses.ended())
    assert seen == [1, 2, 4, 8, 16, 30, 30]
    pauses.started()
    clock.now += GOOD_LIFE_SECONDS
    assert pauses.ended() == 1


def test_output_is_shown_line_by_line_the_unfinished_one_at_the_end() -> None:
    shown: list[tuple[str, str]] = []
    code = "import sys; sys.stdout.buffer.write(b'one\\ntw\\xffo\\nthree'); sys.exit(3)"
    program = Program("web", [sys.executable, "-c", code], 1, dict(os.environ))
    child = Child(program, lambda name, line: shown.append((name, line)))
    child.start()
    wait_until(lambda: child.ended() is not None, "the end")
    child.read()
    child.close()
    assert shown == [("web", "one"), ("web", "tw\ufffdo"), ("web", "three")]
    assert how_it_ended(child.ended() or 0) == "exit code 3"


def test_a_program_that_ignores_the_request_is_killed_when_hurried() -> None:
    shown: list[str] = []
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('deaf', flush=True); time.sleep(600)"
    )
    program = Program("worker", [sys.executable, "-c", code], 600, dict(os.environ))
    child = Child(program, lambda _, line: shown.append(line))
    child.start()

    def deaf() -> bool:
        child.read()
        return shown == ["deaf"]

    wait_until(deaf, "the program")
    process = child.process
    child.stop(hurry=lambda: True)
    assert process
    assert process.returncode == -9
