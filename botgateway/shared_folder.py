"""The folder that arise and an implementation both see: the way of files to those that send nothing
but files of their own machine (Lagrange, go-cqhttp).

Where it is not named in the settings, such an implementation sends no files.
"""

import contextlib
import time
from pathlib import Path, PurePosixPath

from django.conf import settings

KEPT_SECONDS = 24 * 3600


def is_named() -> bool:
    """Whether an operator named such a folder."""
    return bool(settings.ARISE_FILE_FOLDER)


def put(entry_id: int, name: str, payload: bytes) -> str:
    """Put a file there; the path by which the implementation finds it. What was put there a day ago
    is removed. Raises OSError."""
    root = Path(settings.ARISE_FILE_FOLDER)
    _tidy(root)
    # A folder for each, since two chats may be sent files of one name.
    folder = root / f"arise-{entry_id}"
    folder.mkdir(exist_ok=True)
    safe = Path(name).name
    (folder / safe).write_bytes(payload)
    return str(PurePosixPath(settings.ARISE_FILE_FOLDER_THERE) / folder.name / safe)


def _tidy(root: Path) -> None:
    for old in root.glob("arise-*/*"):
        with contextlib.suppress(OSError):
            if old.stat().st_mtime < time.time() - KEPT_SECONDS:
                old.unlink()
                old.parent.rmdir()
