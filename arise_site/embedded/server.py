"""What both embedded servers share: a tied child with a log of its own, waited for until it answers."""

import contextlib
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arise_site import processes
from arise_site.embedded.accounts import EmbeddedError
from arise_site.languages import early as _

LOG_LIMIT = 5_000_000


def never() -> bool:
    return False


class Server(ABC):
    """One embedded server; subclasses say how it is laid out, launched and asked whether it answers."""

    name: str
    stop_signal: signal.Signals
    death_signal: signal.Signals
    grace_seconds = 15.0
    # How long a start is tried again (what a killed server left may still be ending), and how long
    # a living one may take to answer (after a crash it first repairs its data).
    retry_seconds = 20.0
    answer_seconds = 300.0

    def __init__(self, home: Path, *, fast: bool = False) -> None:
        self.home = home
        self.fast = fast
        self.log = home / "log" / f"{self.name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def prepare(self, say: Callable[[str], None]) -> None:
        """Make folders and first data; may be called any number of times."""

    @abstractmethod
    def launch_line(self) -> tuple[Sequence[str | Path], dict[str, Any]]:
        """The command and what subprocess needs beside it."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server can be used right now."""

    @abstractmethod
    def refresh(self) -> None:
        """Touch the sockets, so that a cleaner of old temporary files lets them be."""

    def start(
        self,
        *,
        keep_open: Sequence[int] = (),
        say: Callable[[str], None] = lambda _: None,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        """Start and wait until it answers; a start that fails is tried again for a while."""
        self.prepare(say)
        end = time.monotonic() + self.retry_seconds
        while not self._start_once(keep_open, cancelled):
            if cancelled():
                raise EmbeddedError(_("%(name)s: the start was cancelled") % {"name": self.name})
            if time.monotonic() > end:
                raise EmbeddedError(
                    _("%(name)s does not start: %(words)s")
                    % {"name": self.name, "words": self.last_words()}
                )
            time.sleep(0.3)

    def stop(self, *, hurry: Callable[[], bool] = never) -> None:
        if self.process is not None:
            processes.stop(
                self.process,
                signals=(self.stop_signal, self.death_signal),
                grace_seconds=self.grace_seconds,
                hurry=hurry,
            )
            self.process = None

    def last_words(self) -> str:
        """The last line of the log that tells of trouble, with where to read on."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:]
            told = [line for line in lines if "FATAL" in line or "rror" in line] or lines
            if told:
                return _("%(words)s (see %(log)s)") % {"words": told[-1].strip(), "log": self.log}
        return _("see %(log)s") % {"log": self.log}

    def _start_once(self, keep_open: Sequence[int], cancelled: Callable[[], bool]) -> bool:
        args, more = self.launch_line()
        with self._open_log() as log:
            self.process = process = processes.spawn(
                args, death_signal=self.death_signal, output=log, pass_fds=tuple(keep_open), **more
            )
        end = time.monotonic() + self.answer_seconds
        while process.poll() is None:
            if self.answers():
                return True
            if cancelled() or time.monotonic() > end:
                self.stop()
                return False
            time.sleep(0.03)
        return False

    def _open_log(self) -> Any:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_LIMIT:
                self.log.replace(self.log.with_suffix(".log.1"))
        return self.log.open("ab")
