"""Locks between processes, kept by the kernel: none is left behind by a process that was killed."""

import fcntl
import os
from pathlib import Path
from typing import Self

from arise_site.embedded.accounts import EmbeddedError
from arise_site.languages import early as _


class FileLock:
    """One lock file. It is only ever released by closing it.

    Children that inherited the descriptor keep the lock, so it tells whether *any* of them lives;
    an explicit unlock would release it for all of them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def try_exclusive(self) -> bool:
        """Take the lock for us alone; False where anyone holds it."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Take the lock beside others who share it; False where one has it alone."""
        return self._try(fcntl.LOCK_SH)

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    @property
    def descriptor(self) -> int:
        """The open file, for children that are to hold the lock too."""
        if self._descriptor is None:
            raise ValueError(f"{self.path} is not held")
        return self._descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def note(self, text: str) -> None:
        """Write who holds the lock into the file, for a message only."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, text.encode(), 0)

    def noted(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _try(self, how: int) -> bool:
        """Open anew each time: a conversion in place is not atomic and would hide that."""
        self.release()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except PermissionError:
            raise EmbeddedError(
                _(
                    "%(path)s belongs to another user: run as the user who made %(parent)s, or set "
                    "ARISE_HOME to a folder of your own"
                )
                % {"path": self.path, "parent": self.path.parent}
            ) from None
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True
