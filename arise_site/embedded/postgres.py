"""The embedded Postgres: made aside and renamed, a unix socket only, run by an account that is not root."""

import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import psycopg

from arise_site import processes
from arise_site.embedded import accounts, binaries, locations
from arise_site.embedded.accounts import EmbeddedError
from arise_site.embedded.server import Server
from arise_site.languages import early as _

MAJOR = "18"
DATABASE = "arise"
LAYOUT = ["--auth=trust", "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"]
UNSAFE_BUT_FAST = ["fsync=off", "full_page_writes=off", "synchronous_commit=off"]


class Postgres(Server):
    """The database of one home; whoever starts it holds the home's lock (see `servers`)."""

    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": end the sessions, write what is to be written
    death_signal = (
        signal.SIGQUIT
    )  # when nobody is left to wait for it: at once, repaired at next start
    grace_seconds = 20.0

    def __init__(
        self, home: Path, *, fast: bool = False, system: Path = binaries.SYSTEM_FOLDER
    ) -> None:
        super().__init__(home, fast=fast)
        self.system = system
        self.socket_folder = locations.postgres_folder(home)
        self.data = home / "pg"
        self.account = accounts.postgres_account(self.data)

    def prepare(self, say: Callable[[str], None]) -> None:
        self.data = self._data_folder()
        if self.data.exists():
            self._check_data()
        else:
            say(_("creating the database"))
            self._create_data()
        self._make_socket_folder()
        self._clear_leftovers()

    def launch_line(self) -> tuple[Sequence[str | Path], dict[str, Any]]:
        settings = ["unix_socket_permissions=0700", *(UNSAFE_BUT_FAST if self.fast else [])]
        line: list[str | Path] = [self._program("postgres"), "-D", self.data]
        line += ["-k", self.socket_folder, "-h", ""]
        return [*line, *(part for s in settings for part in ("-c", s))], self._as_account()

    def answers(self) -> bool:
        """Whether it takes connections; the database is made on the way where it is missing."""
        if not (self.socket_folder / locations.POSTGRES_SOCKET_NAME).exists():
            return False
        address = f"host={self.socket_folder} user=postgres dbname=postgres connect_timeout=5"
        try:
            with psycopg.connect(address, autocommit=True) as connection:
                found = connection.execute(
                    "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
                ).fetchone()
                if not found:
                    connection.execute(f'CREATE DATABASE "{DATABASE}"')
        except (psycopg.OperationalError, psycopg.errors.DuplicateDatabase):
            return False
        return True

    def refresh(self) -> None:
        for path in (self.socket_folder.parent, *self.socket_folder.iterdir(), self.socket_folder):
            os.utime(path)

    def _program(self, name: str) -> Path:
        return binaries.folder(self.account, self.system) / name

    def _as_account(self) -> dict[str, Any]:
        return self.account.popen_arguments()

    def _data_folder(self) -> Path:
        """`pg` in the home; for an account that can't enter there, a link to a system folder.

        The link, not a rule, says where the data is: a later chmod of some parent loses nothing,
        and a fresh home never meets the data of an old one that stood at the same path.
        """
        link = self.home / "pg"
        if link.exists() and not self.account.reaches(link.resolve()):
            raise EmbeddedError(
                _(
                    "the user %(name)s, who runs Postgres, can't reach %(link)s: let others enter "
                    "the folders above it, or run as the user who made it"
                )
                % {"name": self.account.name, "link": link}
            )
        if not link.is_symlink() and not self.account.reaches(self.home):
            kept = binaries.system_folder(self.system) / f"home-{secrets.token_hex(6)}"
            kept.mkdir()
            kept.chmod(0o755)
            link.symlink_to(kept / "pg")
        return link.resolve()

    def _check_data(self) -> None:
        owner = self.data.stat().st_uid
        if owner != self.account.uid:
            raise EmbeddedError(
                _(
                    "%(data)s belongs to another user (number %(owner)s): run as the user who made "
                    "it, or set ARISE_HOME to a folder of your own"
                )
                % {"data": self.data, "owner": owner}
            )
        version = (self.data / "PG_VERSION").read_text(encoding="ascii").strip()
        if version != MAJOR:
            raise EmbeddedError(
                _(
                    "%(data)s was made by Postgres %(version)s, this is Postgres %(major)s: dump it "
                    "with the old release and restore it into a new ARISE_HOME"
                )
                % {"data": self.data, "version": version, "major": MAJOR}
            )

    def _create_data(self) -> None:
        """Make the cluster aside, then rename: a killed first start leaves nothing to repair."""
        draft = self.data.with_name("pg.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True, mode=0o700)
        self.account.own(draft)
        line: list[str | Path] = [self._program("initdb"), "-D", draft, "-U", "postgres", *LAYOUT]
        made = subprocess.run(  # noqa: S603  (our own program, in our own folder)
            [*line, *(["--no-sync"] if self.fast else [])],
            capture_output=True,
            text=True,
            cwd="/",
            start_new_session=True,
            # Cut off with us, or it would still write where the next start makes its own.
            preexec_fn=processes.tie(signal.SIGKILL),
            **self._as_account(),
        )
        if made.returncode:
            raise EmbeddedError(
                _("the database can't be created in %(draft)s: %(reason)s")
                % {"draft": draft, "reason": reason(made.stderr)}
            )
        draft.rename(self.data)

    def _make_socket_folder(self) -> None:
        self.socket_folder.mkdir(mode=0o700, exist_ok=True)
        self.account.own(self.socket_folder)

    def _clear_leftovers(self) -> None:
        """End a server that outlived its starter; drop a pid file that names some other process.

        The home's lock is ours, so a server found here is nobody's. Postgres itself takes any live
        process with the noted number for a server, as happens after a restart of a container.
        """
        pid_file = self.data / "postmaster.pid"
        try:
            process = psutil.Process(int(pid_file.read_text(encoding="ascii").split("\n")[0]))
            if str(self.data) in process.cmdline():
                process.send_signal(signal.SIGQUIT)
                psutil.wait_procs([process], timeout=10)
        except (OSError, ValueError, psutil.Error):
            pass
        pid_file.unlink(missing_ok=True)
        for path in self.socket_folder.glob(f"{locations.POSTGRES_SOCKET_NAME}*"):
            path.unlink()


def reason(said: str) -> str:
    """The last line that tells of trouble: what follows it is only how initdb tidied up."""
    lines = said.strip().splitlines() or [_("no reason given")]
    return next(
        (line for line in reversed(lines) if re.search("FATAL|PANIC|error:", line)), lines[-1]
    )
