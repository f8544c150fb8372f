"""The real site under test: a web process and a worker, on the test run's own database and broker."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from django.conf import settings
from django.db import connection
from django.test import override_settings

from arise_site import programs
from arise_site.programs import Program
from tests.fakes.model import VOICE_MODEL

CHECKOUT = Path(__file__).resolve().parent.parent.parent
WAITS = {
    "ARISE_DEBOUNCE_SECONDS": "0.3",
    "ARISE_DEBOUNCE_MAX_SECONDS": "1.5",
    "ARISE_AMBIENT_SECONDS": "0.5",
    "ARISE_SEND_PACE": "0",
    "ARISE_DRAFT_SECONDS": "1",
    "ARISE_SEND_TIMEOUT_SECONDS": "1.5",
    "ARISE_SETTLE_SECONDS": "0.5",
    "ARISE_LEASE_SECONDS": "4",
    "ARISE_MODEL_TIMEOUT_SECONDS": "10",
}
READY_SECONDS = 40


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def database_url() -> str:
    """The address of the database that this test run uses."""
    values = connection.settings_dict
    host, user = quote(str(values["HOST"]), safe=""), quote(str(values["USER"]))
    password = f":{quote(str(values['PASSWORD']), safe='')}" if values["PASSWORD"] else ""
    port = f":{values['PORT']}" if values["PORT"] else ""
    return f"postgresql://{user}{password}@{host}{port}/{values['NAME']}"


class Process(Protocol):
    """What the site needs of a process: a Popen has it."""

    @property
    def pid(self) -> int: ...
    def send_signal(self, number: int, /) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class Site:
    """One web process and one worker, started as the supervisor starts them."""

    def __init__(self, *, model_url: str, logs: Path, **environment: str) -> None:
        self.port = free_port()
        self.logs = logs
        self.environment = {
            **os.environ,
            **WAITS,
            "DJANGO_SETTINGS_MODULE": "arise_site.settings",
            "DATABASE_URL": database_url(),
            "REDIS_URL": settings.REDIS_URL,
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "sk-of-the-test-run",
            "ARISE_TTS_MODEL": VOICE_MODEL,
            "PORT": str(self.port),
            **environment,
        }
        self.processes: dict[str, Process] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/onebot/v11/ws"

    def start(self) -> None:
        """Start both processes and wait until /readyz says so."""
        self.start_web()
        self.start_worker()
        self.wait_ready()

    def start_web(self) -> None:
        with override_settings(ARISE_HOST="127.0.0.1", ARISE_PORT=self.port):
            self._spawn(programs.web(self.environment))

    def start_worker(self, name: str = "worker") -> None:
        program = programs.worker(self.environment)
        line = [*program.line, "--hostname", f"{name}-{self.port}@%h"]
        self._spawn(replace(program, name=name, line=line))

    def kill(self, name: str) -> None:
        """End a process as a crash would."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def pause(self, name: str) -> None:
        """Stop a process for a while, as a machine without time for it does."""
        self.processes[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGCONT)

    def end(self, name: str) -> None:
        """Tell a process to stop, as a deploy does, and wait until it did."""
        process = self.processes.pop(name)
        process.terminate()
        try:
            process.wait(8)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self) -> None:
        """End what runs, in order."""
        for name in list(self.processes):
            self.end(name)

    def log(self, name: str) -> str:
        """All that a process wrote so far."""
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def wait_ready(self) -> None:
        end = time.monotonic() + READY_SECONDS
        said = ""
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):  # noqa: S310
                    return
            except urllib.error.HTTPError as error:
                said = error.read().decode()
            except OSError as error:
                said = str(error)
            time.sleep(0.1)
        raise AssertionError(f"not ready: {said}\n{self.log('web')}\n{self.log('worker')}")

    def _spawn(self, program: Program) -> None:
        with (self.logs / f"{program.name}.log").open("ab") as log:
            self.processes[program.name] = subprocess.Popen(
                program.line, cwd=CHECKOUT, env=program.env, stdout=log, stderr=log
            )
