"""Seconds from `manage.py up` to its ready line, and from SIGTERM to its end.

A run is: a cold start on a fresh home (the database is made), a stop, a warm start on the same
home, `kill -9` of the whole tree, the start after it (Postgres repairs its data), a stop. Medians
over runs, in seconds. One should see warm and killed at most 15 s, and cold above warm by what it
takes to make the database and its tables. The environment must have been made (`make setup`).
"""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import psutil

from bench import figures, house
from tests.fakes.site import CHECKOUT, free_port

READY = "arise is ready"
START_SECONDS = 180
STOP_SECONDS = 60


def start(folder: Path, port: int) -> tuple[subprocess.Popen[str], float]:
    """Run `up` until it says that it is ready."""
    environment = {**os.environ, "ARISE_HOME": str(folder), "PORT": str(port)}
    line = [sys.executable, "manage.py", "up"]
    began = time.monotonic()
    process = subprocess.Popen(
        line,
        cwd=CHECKOUT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    timer = threading.Timer(START_SECONDS, process.terminate)
    timer.start()
    said: list[str] = []
    for text in process.stdout:
        said.append(text)
        if text.strip() == READY:
            break
    seconds = time.monotonic() - began
    timer.cancel()
    assert READY in "".join(said[-1:]), f"`up` never was ready: {''.join(said[-5:])}"
    # Its pipe must never be full.
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return process, seconds


def stop(process: subprocess.Popen[str]) -> float:
    """SIGTERM, and wait until it has gone."""
    tree = family(process)
    began = time.monotonic()
    process.terminate()
    process.wait(STOP_SECONDS)
    seconds = time.monotonic() - began
    left = [one for one in tree if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert not left, f"left running: {left}"
    return seconds


def kill(process: subprocess.Popen[str]) -> int:
    """SIGKILL to every process of the tree at once; how many there were."""
    tree = family(process)
    for one in tree:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.send_signal(signal.SIGKILL)
    process.wait()
    psutil.wait_procs(tree, timeout=10)
    return len(tree)


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The supervisor and all that it started."""
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def one_run(found: dict[str, list[float]]) -> int:
    """One fresh home through all starts and stops; how many processes the kill ended."""
    running: subprocess.Popen[str] | None = None
    with house.home() as folder:
        try:
            port = free_port()
            running, seconds = start(folder, port)
            found["cold start"].append(seconds)
            found["stop"].append(stop(running))
            running, seconds = start(folder, port)
            found["warm start"].append(seconds)
            killed = kill(running)
            running, seconds = start(folder, port)
            found["start after kill -9"].append(seconds)
            found["stop"].append(stop(running))
        finally:
            if running is not None and running.poll() is None:
                running.terminate()
                running.wait(STOP_SECONDS)
    return killed


def main() -> None:
    parser = figures.parser("start", __doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs: int = parser.parse_args().runs
    house.forget_the_operator()
    found: dict[str, list[float]] = defaultdict(list)
    killed = [one_run(found) for _ in range(runs)]
    for name in ("cold start", "warm start", "start after kill -9", "stop"):
        values = found[name]
        each = " ".join(f"{value:.1f}" for value in values)
        print(f"{name:20} median {statistics.median(values):5.2f} s   ({each})")
    warm, cold = (statistics.median(found[name]) for name in ("warm start", "cold start"))
    print(f"cold / warm          {cold / warm:.1f}; kill -9 ended {killed[0]} processes")


if __name__ == "__main__":
    main()
