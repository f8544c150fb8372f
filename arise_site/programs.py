"""The programs that `up` keeps running: their command lines, their environment, their patience."""

import os
import socket
import sys
from dataclasses import dataclass, field

from django.conf import settings

from arise_site import env

FRAME_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Program:
    """One program in the order of stopping; `grace_seconds` is what it gets between TERM and KILL."""

    name: str
    line: list[str]
    grace_seconds: float
    env: dict[str, str] = field(default_factory=dict)


def web(shared: dict[str, str]) -> Program:
    """Daphne. Its defaults end every socket after a day and cut frames over 1 MiB.

    X-Forwarded-For is not read: without a proxy in front, anyone could write his own address.
    """
    line = [sys.executable, "-m", "arise_site.web", "-v", "0"]
    line += ["-b", settings.ARISE_HOST, "-p", str(settings.ARISE_PORT)]
    line += ["--websocket_timeout", "-1"]
    line += ["--websocket-max-message-size", str(FRAME_LIMIT)]
    line += ["--websocket-max-frame-size", str(FRAME_LIMIT)]
    line += ["--ping-interval", "20", "--ping-timeout", "40"]
    return Program("web", [*line, "arise_site.asgi:application"], 8, shared)


def worker(shared: dict[str, str]) -> Program:
    """Celery. A turn that is cut off is resumed from its last committed step, so TERM waits briefly."""
    line = [sys.executable, "-m", "celery", "-A", "arise_site", "--quiet", "worker"]
    line += ["--queues", "celery,stickers"]
    # Under which account things run is the operator's choice; nine lines a start do not change it.
    quiet = {"PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges"}
    return Program(
        "worker", [*line, "--without-mingle", "--without-gossip"], 8, {**quiet, **shared}
    )


def scheduler(shared: dict[str, str]) -> Program:
    line = [sys.executable, "-m", "celery", "-A", "arise_site", "--quiet", "beat"]
    return Program("scheduler", line, 3, shared)


def demo_model(port: int, shared: dict[str, str]) -> Program:
    line = [sys.executable, "-m", "arise_site.demo_model", "--port", str(port)]
    return Program("demo model", line, 3, shared)


def table() -> tuple[list[Program], str]:
    """All programs, in the order in which they stop, and the demo model's address (or nothing)."""
    shared = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "arise_site.settings",
    }
    if not settings.ARISE_DEMO_MODEL:
        return [web(shared), worker(shared), scheduler(shared)], ""
    port = free_port()
    address = f"http://127.0.0.1:{port}/v1"
    shared["ARISE_DEMO_MODEL_URL"] = address
    return [web(shared), worker(shared), scheduler(shared), demo_model(port, shared)], address


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def working_folder() -> str:
    return str(env.CHECKOUT)
