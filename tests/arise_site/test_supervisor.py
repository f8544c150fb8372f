"""`manage.py up` as a process: what it prints, what it refuses, what it restarts, what it leaves."""

import http.client
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from arise_site import runfile
from tests.arise_site.running import (
    Up,
    free_port,
    manage,
    processes_of,
    temporary_home,
    wait_until,
)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as folder:
        yield folder


@pytest.fixture(scope="module")
def up(home: Path) -> Iterator[Up]:
    with Up(home) as running:
        running.wait_for("Ctrl-C stops it")
        yield running


def test_it_prints_what_an_operator_needs_once_ready(up: Up) -> None:
    text = up.text()
    for words in (
        "creating the database",
        "migrating the database",
        f"http://127.0.0.1:{up.port}/admin/",
        f"ws://127.0.0.1:{up.port}/onebot/v11/ws",
        "operator   admin",
        "gpt-4o-mini at http://127.0.0.1:9/v1",
    ):
        assert words in text
    assert len(re.findall(r"password   \S{16}", text)) == 1


def test_the_printed_password_opens_the_console(up: Up) -> None:
    found = re.search(r"password   (\S+)", up.text())
    assert found
    code = (
        "from django.contrib.auth.models import User;"
        f"print(User.objects.get(username='admin').check_password('{found[1]}'))"
    )
    assert manage(up.home, "shell", "--no-imports", "-c", code).stdout.strip() == "True"


def test_other_commands_find_the_running_one(up: Up) -> None:
    run = runfile.read(up.home)
    assert run is not None
    assert (run.pid, run.ready) == (up.process.pid, True)
    assert run.websocket_url.endswith("/onebot/v11/ws")


def test_a_second_run_on_the_same_home_is_refused(up: Up) -> None:
    second = manage(up.home, "up", PORT=str(free_port()))
    assert second.returncode == 1
    assert second.stderr.count("\n") == 1
    assert f"already runs on {up.home} (process {up.process.pid})" in second.stderr


def test_a_taken_port_is_refused_before_anything_is_made(up: Up) -> None:
    with temporary_home() as other:
        refused = manage(other, "up", PORT=str(up.port))
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert f"port {up.port} on 127.0.0.1 is taken" in refused.stderr
        assert not (other / "pg").exists()


def test_a_program_that_dies_is_started_again(up: Up) -> None:
    up.kill_children("celery -A arise_site --quiet worker", "arise_site.web")
    up.wait_for("worker ended (killed by SIGKILL); starting it again in 1 s")
    up.wait_for("web ended (killed by SIGKILL); starting it again in 1 s")
    wait_until(lambda: answers(up.port), "web")
    assert up.child("--quiet worker").is_running()


def test_a_server_that_dies_is_started_again_with_its_rows(up: Up) -> None:
    manage(up.home, "shell", "--no-imports", "-c", ADD_USER.format("kept"))
    up.kill_children("postgres -D", "valkey-server")
    up.wait_for("postgres ended (killed by SIGKILL)")
    up.wait_for("valkey ended (killed by SIGKILL)")
    wait_until(lambda: "kept" in names(up.home), "the rows")


def test_a_kill_of_everything_needs_no_repair_and_a_stop_leaves_nothing(up: Up, home: Path) -> None:
    """The last of this module: it ends the shared one."""
    key = (home / "secret_key").read_text(encoding="ascii")
    up.process.kill()
    up.process.wait()
    wait_until(lambda: not processes_of(home), "the end of all processes")
    assert runfile.read(home) is None

    with Up(home) as again:
        again.wait_for("Ctrl-C stops it")
        for process in processes_of(home):
            process.kill()
        again.process.wait()

    with Up(home) as third:
        third.wait_for("Ctrl-C stops it")
        assert "password   " not in third.text()
        assert {"admin", "kept"} <= names(home)
        assert third.end(signal.SIGTERM) == 0
        assert processes_of(home) == []
        assert third.text().rstrip().endswith("stopped")
    assert (home / "secret_key").read_text(encoding="ascii") == key
    assert not (home / "run").exists()


def test_signals_stop_it_while_it_starts() -> None:
    with temporary_home() as folder:
        for number in (signal.SIGINT, signal.SIGHUP):
            with Up(folder) as starting:
                starting.wait_for("starting postgres")
                assert starting.end(number) == 0
                assert processes_of(folder) == []


def test_a_given_server_that_does_not_answer_is_told_in_one_line() -> None:
    with temporary_home() as folder:
        for name, url in (
            ("DATABASE_URL", "postgresql://me:hidden@127.0.0.1:9/arise"),
            ("REDIS_URL", "redis://:hidden@127.0.0.1:9/0"),
        ):
            refused = manage(folder, "up", PORT=str(free_port()), **{name: url})
            assert refused.returncode == 1
            assert refused.stderr.startswith(f"arise: {name}: ")
            assert refused.stderr.count("\n") == 1
            assert "hidden" not in refused.stderr


ADD_USER = "from django.contrib.auth.models import User; User.objects.create(username='{}')"
ALL_USERS = "from django.contrib.auth.models import User; print(*User.objects.values_list('username', flat=True))"


def names(home: Path) -> set[str]:
    return set(manage(home, "shell", "--no-imports", "-c", ALL_USERS).stdout.split())


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
