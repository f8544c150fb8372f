"""One supervised program: its process, its lines on their way to the screen, its pauses."""

import os
import signal
import subprocess
import time
from collections.abc import Callable

from arise_site import processes
from arise_site.programs import Program, working_folder

LONGEST_PAUSE_SECONDS = 30.0
GOOD_LIFE_SECONDS = 60.0
LONGEST_LINE = 64 * 1024


class Pauses:
    """Growing pauses (1, 2, 4 … 30 s) between restarts; a good life makes the next one short again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 1.0
        self._started = clock()

    def started(self) -> None:
        self._started = self._clock()

    def ended(self) -> float:
        """How long to wait now."""
        if self._clock() - self._started >= GOOD_LIFE_SECONDS:
            self._next = 1.0
        pause = self._next
        self._next = min(pause * 2, LONGEST_PAUSE_SECONDS)
        return pause


class Child:
    """A program that is to run. Its output is read without blocking and shown line by line."""

    def __init__(self, program: Program, show: Callable[[str, str], None]) -> None:
        self.program = program
        self.name = program.name
        self.pauses = Pauses()
        self._show = show
        self._rest = b""
        self.process: subprocess.Popen[bytes] | None = None
        self.output: int | None = None

    def start(self) -> None:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reader, False)
        self.output, self._rest = reader, b""
        with os.fdopen(writer, "wb", buffering=0) as output:
            # KILL, not TERM, when we die: nobody is left to wait for an orderly end, and what is
            # cut off is taken up again from Postgres.
            self.process = processes.spawn(
                self.program.line,
                death_signal=signal.SIGKILL,
                output=output,
                env=self.program.env,
                cwd=working_folder(),
            )
        self.pauses.started()

    def ended(self) -> int | None:
        """The exit code once it has ended."""
        return None if self.process is None else self.process.poll()

    def read(self) -> None:
        """Show what has been written so far."""
        while self.output is not None:
            try:
                data = os.read(self.output, 65536)
            except BlockingIOError:
                return
            if not data:
                self.close()
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._show(self.name, line.decode(errors="replace"))
            if len(self._rest) > LONGEST_LINE:
                self._show(self.name, self._rest.decode(errors="replace"))
                self._rest = b""

    def close(self) -> None:
        """Show the unfinished line and let the pipe go."""
        if self._rest:
            self._show(self.name, self._rest.decode(errors="replace"))
            self._rest = b""
        if self.output is not None:
            os.close(self.output)
            self.output = None

    def stop(self, *, hurry: Callable[[], bool]) -> None:
        """End it within its grace; `hurry` is asked all the while."""
        if self.process is None:
            return
        processes.stop(self.process, grace_seconds=self.program.grace_seconds, hurry=hurry)
        self.read()
        self.close()
        self.process = None
