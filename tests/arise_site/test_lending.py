"""manage.py commands and the embedded database: started on demand, shared, given back."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.arise_site.running import CHECKOUT, environment, manage, processes_of, temporary_home

COUNT = "from django.contrib.auth.models import User; print(User.objects.count())"
BOTS = "from core.models import Bot; print(*Bot.objects.values_list('self_id', flat=True))"
LINGER = (
    "import sys; from django.contrib.auth.models import User;"
    "print('in', flush=True); sys.stdin.readline(); print(User.objects.count())"
)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as folder:
        yield folder


def test_a_command_before_any_start_makes_and_migrates_the_database(home: Path) -> None:
    ran = manage(home, "shell", "--no-imports", "-c", COUNT)
    assert ran.stdout == "0\n"
    assert "creating the database" in ran.stderr
    assert "migrating the database" in ran.stderr
    assert processes_of(home) == []


def test_two_commands_at_once_share_it_and_the_starter_waits_for_the_other(home: Path) -> None:
    with linger(home) as first, linger(home) as second:
        assert {line(first), line(second)} == {"in"}
        # Whichever of them started the servers, the other still has them after its end.
        for command in (first, second):
            assert command.stdin
            command.stdin.write("go\n")
            command.stdin.flush()
            assert line(command) == "0"
        assert (first.wait(30), second.wait(30)) == (0, 0)
    assert processes_of(home) == []


def linger(home: Path) -> "subprocess.Popen[str]":
    """A command that uses the database only after it is told to go on."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", LINGER],
        cwd=CHECKOUT,
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_command_of_an_app_gets_it_too(home: Path) -> None:
    ran = manage(home, "addbot", "10000")
    assert (ran.returncode, ran.stderr) == (0, "")
    listed = manage(home, "shell", "--no-imports", "-c", BOTS)
    assert listed.stdout == "10000\n"


@pytest.mark.parametrize("arguments", [["check"], ["help"], ["up", "--help"], ["nonsense"]])
def test_what_needs_no_database_starts_none(arguments: list[str]) -> None:
    with temporary_home() as untouched:
        manage(untouched, *arguments)
        assert not (untouched / "pg").exists()


def test_a_wrong_setting_is_told_in_one_line() -> None:
    with temporary_home() as untouched:
        for command in ("up", "check", "shell"):
            ran = manage(untouched, command, PORT="eighty")
            assert ran.returncode == 1
            assert ran.stderr.startswith("arise: PORT: ")
            assert ran.stderr.count("\n") == 1


def test_a_home_that_can_not_be_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        for command in ("up", "shell"):
            ran = manage(home, command)
            assert ran.returncode == 1
            assert ran.stderr.startswith(f"arise: {home}")
            assert ran.stderr.count("\n") == 1
