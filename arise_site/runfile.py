"""What a running `manage.py up` tells other commands: a small file under the home, true while it lives."""

import dataclasses
import json
import os
from pathlib import Path

import psutil

NAME = "up.json"


@dataclasses.dataclass(frozen=True, slots=True)
class RunFile:
    """The running supervisor of a home. `demo_model_url` is empty where a real endpoint serves."""

    pid: int
    started: float
    ready: bool
    host: str
    port: int
    console_url: str
    websocket_url: str
    demo_model_url: str


def read(home: Path) -> RunFile | None:
    """The running supervisor of this home, or None; a file left by a killed one is not believed."""
    try:
        found = RunFile(**json.loads((home / NAME).read_text(encoding="utf-8")))
        alive = abs(psutil.Process(found.pid).create_time() - found.started) < 2
    except (OSError, ValueError, TypeError, psutil.Error):
        return None
    return found if alive else None


def write(home: Path, run: RunFile) -> None:
    """Put the file in place whole."""
    draft = home / f".{NAME}.{os.getpid()}"
    draft.write_text(json.dumps(dataclasses.asdict(run)), encoding="utf-8")
    draft.replace(home / NAME)


def remove(home: Path) -> None:
    (home / NAME).unlink(missing_ok=True)


def own_start() -> float:
    """When this process was started, which tells it from a later one with the same number."""
    return psutil.Process().create_time()
