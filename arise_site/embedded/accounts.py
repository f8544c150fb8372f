"""Whose account the embedded Postgres runs under, and which folders that account can reach."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arise_site.languages import early as _

READ_AND_ENTER = 0o5


class EmbeddedError(Exception):
    """An embedded server cannot run; the text is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine; `lent` when it is not our own, because we are root."""

    uid: int
    gid: int
    name: str
    lent: bool

    def popen_arguments(self) -> dict[str, Any]:
        """What makes subprocess run a program under this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.lent else {}

    def own(self, path: Path) -> None:
        """Give the file or folder to this account."""
        if self.lent:
            os.chown(path, self.uid, self.gid)

    def reaches(self, path: Path) -> bool:
        """Whether this account may read and enter `path` and enter every folder above it.

        What does not exist yet is taken as reachable: it will be made by us, open to enter.
        """
        if not self.lent:
            return True
        for part in [*reversed(path.parents), path]:
            try:
                found = part.stat()
            except FileNotFoundError:
                return True
            wanted = READ_AND_ENTER if part == path else 0o1
            own_bits = 6 if found.st_uid == self.uid else 3 if found.st_gid == self.gid else 0
            if (found.st_mode >> own_bits) & wanted != wanted:
                return False
        return True


def postgres_account(data: Path | None = None) -> Account:
    """The account for Postgres, which refuses root: ours, else the data's owner, `postgres`, `nobody`."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), str(os.geteuid()), lent=False)
    names: list[str] = []
    if data is not None and data.exists():
        try:
            names.append(pwd.getpwuid(data.stat().st_uid).pw_name)
        except KeyError:
            raise EmbeddedError(
                _(
                    "%(data)s belongs to user number %(number)s, which this machine does not know: "
                    "give it to the user postgres or nobody (chown -R)"
                )
                % {"data": data, "number": data.stat().st_uid}
            ) from None
    for name in [*names, "postgres", "nobody"]:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid, name, lent=True)
    raise EmbeddedError(
        _(
            "Postgres refuses to run as root, and there is no user postgres or nobody to run "
            "it as: run as an ordinary user or set DATABASE_URL"
        )
    )
