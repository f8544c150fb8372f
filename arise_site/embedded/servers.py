"""The embedded servers of one home as a whole: one process at a time runs them, others use them.

Two kernel locks order this. `.servers.lock` is held by whoever runs the servers and, through
inheritance, by each server process, so that a new start waits for what a killed one left behind.
`.users.lock` is shared by the commands that use servers which they did not start, and held alone
while servers start or stop, so that nobody uses a half-made or a vanishing database.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from arise_site.embedded import locations
from arise_site.embedded.accounts import EmbeddedError
from arise_site.embedded.broker import Valkey
from arise_site.embedded.locks import FileLock
from arise_site.embedded.postgres import Postgres
from arise_site.embedded.server import Server, never
from arise_site.languages import early as _

Say = Callable[[str], None]


def silent(_: str) -> None:
    """Say nothing."""


class Servers:
    """The servers that this home needs (a given DATABASE_URL or REDIS_URL leaves one out)."""

    def __init__(
        self, home: Path, *, database: bool = True, broker: bool = True, fast: bool = False
    ) -> None:
        self.home = home
        self.lock = FileLock(home / ".servers.lock")
        self.users = FileLock(home / ".users.lock")
        self.members: list[Server] = []
        if database:
            self.members.append(Postgres(home, fast=fast))
        if broker:
            self.members.append(Valkey(home, fast=fast))

    def answer(self) -> bool:
        """Whether all of them can be used right now, whoever runs them."""
        return all(member.answers() for member in self.members)

    def try_claim(self) -> bool:
        """Become the one that runs them; with it comes the sole use, until `open_to_others`."""
        self.home.mkdir(parents=True, exist_ok=True)
        if not self.users.try_exclusive():
            return False
        if self.lock.try_exclusive():
            self.lock.note(f"{os.getpid()}\n")
            return True
        self.users.release()
        return False

    def claim(
        self, *, say: Say = silent, cancelled: Callable[[], bool] = never, poll_seconds: float = 0.1
    ) -> bool:
        """Wait until we run them; False only when cancelled."""
        told = time.monotonic() + 1
        while not self.try_claim():
            if cancelled():
                return False
            if told and time.monotonic() > told:
                say(
                    _("waiting for the database of %(home)s, which another command is using")
                    % {"home": self.home}
                )
                told = 0
            time.sleep(poll_seconds)
        return True

    def start(self, *, say: Say = silent, cancelled: Callable[[], bool] = never) -> None:
        """Start all; the caller holds the claim. What was started is stopped again if one fails."""
        try:
            self._make_run_folder()
            for member in self.members:
                self.restart(member, say=say, cancelled=cancelled)
        except BaseException:
            self.stop(hurry=cancelled)
            raise

    def restart(
        self, member: Server, *, say: Say = silent, cancelled: Callable[[], bool] = never
    ) -> None:
        """Start one of them (again); it holds the home's lock with us."""
        member.start(keep_open=[self.lock.descriptor], say=say, cancelled=cancelled)

    def open_to_others(self) -> None:
        """From here on other commands may use the servers beside us."""
        self.users.release()

    def close_to_others(
        self, *, give_up: Callable[[], bool], say: Say = silent, poll_seconds: float = 0.1
    ) -> None:
        """Wait for the commands that use the servers, and keep new ones out."""
        told = time.monotonic() + 1
        while not self.users.held and not self.users.try_exclusive():
            if give_up():
                return
            if told and time.monotonic() > told:
                say(_("waiting for commands that still use the database"))
                told = 0
            time.sleep(poll_seconds)

    def stop(self, *, hurry: Callable[[], bool] = never) -> None:
        """Stop all, in the opposite order, and let go of both locks."""
        for member in reversed(self.members):
            member.stop(hurry=hurry)
        self._remove_run_folder()
        self.lock.release()
        self.users.release()

    def refresh(self) -> None:
        """Keep the sockets young; a file that is just being remade is met again next time."""
        for member in self.members:
            with contextlib.suppress(OSError):
                member.refresh()

    def _make_run_folder(self) -> None:
        """The folder may stand in a place open to all: it must be ours and no link."""
        run = locations.run_folder(self.home)
        run.mkdir(mode=0o711, exist_ok=True)
        found = run.lstat()
        if run.is_symlink() or not run.is_dir() or found.st_uid != os.geteuid():
            raise EmbeddedError(
                _("%(run)s belongs to another user: remove it, or set ARISE_HOME") % {"run": run}
            )
        run.chmod(0o711)

    def _remove_run_folder(self) -> None:
        run = locations.run_folder(self.home)
        with contextlib.suppress(OSError):
            locations.broker_socket(self.home).unlink(missing_ok=True)
        for folder in (locations.postgres_folder(self.home), run):
            with contextlib.suppress(OSError):
                folder.rmdir()
