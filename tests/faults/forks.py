"""The site with processes that are forked, so that one is up a tenth of a second after another died."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from arise_site import processes, programs
from arise_site.programs import Program
from tests.fakes.site import CHECKOUT, Site

START_SECONDS = 30.0


class Forked:
    """A process that the fork server started; what tests.fakes.site.Site needs of a Popen."""

    def __init__(self, server: "ForkServer", pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.ended = threading.Event()
        self._server = server

    def send_signal(self, number: int) -> None:
        self._server.ask({"signal": [self.pid, int(number)]})

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative a signal's number; subprocess.TimeoutExpired as a Popen raises."""
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        assert self.returncode is not None
        return self.returncode


class ForkServer:
    """A running tests.faults.fork_server."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.fork_server"],
                cwd=CHECKOUT,
                env={**environment, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=processes.tie(signal.SIGKILL),
            )
        self._asking = threading.Lock()
        self._waiting: deque[tuple[threading.Event, list[Forked]]] = deque()
        self._running: dict[int, Forked] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, request: Mapping[str, Any]) -> None:
        """Write a request."""
        with self._asking:
            self._write(request)

    def start(self, program: Program, log: Path, *, first: str = "") -> Forked:
        """Fork a process and let it be the program; `first` is imported before it."""
        request = {"line": program.line, "env": program.env, "log": str(log), "first": first}
        came, box = threading.Event(), list[Forked]()
        with self._asking:
            self._waiting.append((came, box))
            self._write({"start": request})
        assert came.wait(START_SECONDS), "the fork server does not answer; see its log"
        return box[0]

    def stop(self) -> None:
        """End the server and with it what it started."""
        with self._asking:
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _write(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if "started" in said:
                forked = Forked(self, said["started"])
                self._running[forked.pid] = forked
                came, box = self._waiting.popleft()
                box.append(forked)
                came.set()
            elif "ended" in said:
                pid, code = said["ended"]
                forked = self._running.pop(pid)
                forked.returncode = code
                forked.ended.set()


class ForkingSite(Site):
    """The site whose processes are forked. `first` is a module that each imports before its program.

    Nothing runs at first; what runs at the end of a `with` is ended.
    """

    def __init__(self, *, model_url: str, logs: Path, first: str = "", **environment: str) -> None:
        super().__init__(model_url=model_url, logs=logs, **environment)
        # While no web process has the port, a client's own end of a connection could take it.
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", self.port))
        logs.mkdir(exist_ok=True)
        environment = programs.worker(self.environment).env
        self.server = ForkServer(environment, logs / "fork-server.log")
        self._first = first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        super().stop()
        self.server.stop()
        self._held.close()

    def _spawn(self, program: Program) -> None:
        log = self.logs / f"{program.name}.log"
        self.processes[program.name] = self.server.start(program, log, first=self._first)
