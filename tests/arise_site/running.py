"""The real commands in processes of their own, on a home of their own, as an operator has them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PATIENCE_SECONDS = 60.0


def wait_until(holds: Callable[[], object], what: str = "it") -> None:
    """Wait, within bounds that only a failure meets."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A home short enough for sockets, open to the account that runs Postgres for root."""
    home = Path(tempfile.mkdtemp(prefix="arise-t-"))
    home.chmod(0o755)
    try:
        yield home
    finally:
        end_all_of(home)
        shutil.rmtree(home, ignore_errors=True)


def processes_of(home: Path) -> list[psutil.Process]:
    """Every living process that was started for this home, whoever its parent is now."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                continue
            told = [*process.cmdline(), process.environ().get("ARISE_HOME", "")]
        except psutil.Error:
            continue
        if any(str(home) in word for word in told):
            found.append(process)
    return found


def end_all_of(home: Path) -> None:
    """The end of a test, whatever it left."""
    left = processes_of(home)
    for process in left:
        try:
            process.kill()
        except psutil.Error:
            continue
    psutil.wait_procs(left, timeout=10)


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of an operator: none of the tests' own settings."""
    ours = ("DATABASE_URL", "REDIS_URL", "ARISE_", "OPENAI_", "PORT", "HOST", "DJANGO_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    # An endpoint that nobody serves: these tests run no turn.
    given = {"ARISE_HOME": str(home), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    said = {"LANG": "C.UTF-8", "LC_ALL": "", "LC_MESSAGES": ""}
    return {**kept, **given, **said, "ARISE_ENV_FILE": os.devnull, **more}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def manage(
    home: Path, *arguments: str, stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, `stdin` typed into it."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT,
        env=environment(home, **more),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


class Up:
    """A running `manage.py up`, its output in a file."""

    def __init__(self, home: Path, port: int | None = None, **more: str) -> None:
        self.home = home
        self.port = port or free_port()
        self.output = home.with_name(f"{home.name}.{self.port}.txt")
        with self.output.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=CHECKOUT,
                env=environment(home, PORT=str(self.port), **more),
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def text(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, words: str, times: int = 1) -> None:
        def shown() -> bool:
            assert self.process.poll() is None or words in self.text(), self.text()
            return self.text().count(words) >= times

        wait_until(shown, f"{words!r} in:\n{self.text()}")

    def child(self, word: str) -> psutil.Process:
        """The child with this word in its command line."""
        for process in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):  # one that was just killed
                if word in " ".join(process.cmdline()):
                    return process
        raise AssertionError(f"no child {word}")

    def kill_children(self, *words: str) -> None:
        for word in words:
            self.child(word).kill()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)

    def __enter__(self) -> "Up":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        end_all_of(self.home)
        self.output.unlink(missing_ok=True)
