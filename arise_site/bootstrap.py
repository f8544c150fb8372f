"""Make `.venv` and install what `requirements.txt` pins; instant and offline when nothing changed.

Run by path with any bare python3, before anything is installed: standard library only, and no
syntax that an old Python could not at least read, so that it can say what it needs.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Run by path, the folder of this file stands before the standard library: it must not.
    sys.path.pop(0)

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
NO_VENV = (
    "this python3 can't make an environment: install the package python3-venv"
    " (apt install python3-venv), or uv"
)


class BootstrapError(Exception):
    """The environment can't be made; the text is one line that says what to do."""


def say(text: str) -> None:
    sys.stderr.write(f"set-up: {text}\n")
    sys.stderr.flush()


class Environment:
    """The virtual environment of a checkout, and the notes in it that say how far it got."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.made = folder / "arise-made"
        self.unfinished = folder / "arise-unfinished"

    def note(self, requirements: Path) -> Path:
        return self.folder / f"arise-installed-{requirements.name}"

    def stamp(self, requirements: Path) -> str:
        """What the installed packages depend on; scripts in `.venv` hold its path."""
        digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
        return f"{digest} {sys.version_info[0]}.{sys.version_info[1]} {self.folder}"

    def is_ready(self, requirements: Path) -> bool:
        try:
            found = self.note(requirements).read_text(encoding="utf-8")
        except OSError:
            return False
        return (
            found == self.stamp(requirements)
            and self.python.exists()
            and not self.unfinished.exists()
        )

    def is_foreign(self) -> bool:
        """Whether someone else made it: such a one is added to, but never removed."""
        return self.folder.exists() and not self.made.exists()

    def is_usable(self) -> bool:
        """Whether packages can be added: finished, of this Python, and not moved here."""
        if not self.python.exists() or self.unfinished.exists():
            return False
        ours = f" {sys.version_info[0]}.{sys.version_info[1]} {self.folder}"
        notes = [note.read_text(encoding="utf-8") for note in self.folder.glob("arise-installed-*")]
        return bool(notes) and all(note.endswith(ours) for note in notes)


def ensure(requirements: Path, environment: Environment) -> bool:
    """Bring the environment up to date; True when something had to be done."""
    if environment.folder.is_symlink():
        say(f"{environment.folder.name} is a link to an environment elsewhere: used as it is")
        return False
    if environment.is_ready(requirements):
        return False
    if environment.is_foreign():
        install = foreign_installer(environment)
    else:
        install = installer(environment) if environment.is_usable() else make(environment)
    environment.unfinished.touch()
    say(f"downloading and installing what {requirements.name} names")
    run_install([*install, "-r", str(requirements)])
    environment.note(requirements).write_text(environment.stamp(requirements), encoding="utf-8")
    environment.unfinished.unlink()
    say("installed")
    return True


def make(environment: Environment) -> list[str]:
    """Make the environment anew, whatever was there; returns the command that installs into it."""
    folder = str(environment.folder)
    say(f"making {environment.folder.name} with Python {sys.version.split()[0]}")
    if environment.folder.exists():
        shutil.rmtree(environment.folder)
    # Marked before it is begun: whatever is found here after an interruption is ours to remove.
    environment.folder.mkdir()
    environment.made.touch()
    environment.unfinished.touch()
    uv = shutil.which("uv")
    if has_module("ensurepip") and has_module("venv"):
        line = [sys.executable, "-m", "venv", folder]
    elif uv:
        line = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, folder]
    elif has_module("venv") and has_module("pip"):
        line = [sys.executable, "-m", "venv", "--without-pip", folder]
    else:
        raise BootstrapError(NO_VENV)
    made = subprocess.run(line, capture_output=True, text=True)  # noqa: S603
    if made.returncode:
        told = (made.stderr.strip() or made.stdout.strip()).splitlines() or ["no reason given"]
        raise BootstrapError(f"{folder} can't be made: {told[-1]}")
    return installer(environment)


def foreign_installer(environment: Environment) -> list[str]:
    """The command that installs into an environment that is not of our making, if it can serve."""
    new_enough = f"import sys; sys.exit(sys.version_info < {OLDEST!r})"
    try:
        works = subprocess.run([str(environment.python), "-c", new_enough]).returncode == 0  # noqa: S603
    except OSError:
        works = False
    if not works:
        raise BootstrapError(
            f"{environment.folder} was made by someone else and does not run Python 3.11 or later:"
            " move it away"
        )
    return installer(environment)


def installer(environment: Environment) -> list[str]:
    """The command that installs into the environment: its own pip, else uv, else our pip."""
    python = str(environment.python)
    if has_module("pip", python):
        return [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", python]
    if has_module("pip"):
        line = [sys.executable, "-m", "pip", "--python", python, "install"]
        return [*line, "--disable-pip-version-check", "--no-input"]
    raise BootstrapError(NO_VENV)


def has_module(name: str, python: str = "") -> bool:
    """Asked in a process of its own, since Debian's modules may be there and refuse to work."""
    asked = subprocess.run(  # noqa: S603
        [python or sys.executable, "-c", f"import {name}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return asked.returncode == 0


def run_install(line: list[str]) -> None:
    """Install, with a line for each package on its way; all that was said only where it failed."""
    said: list[str] = []
    with subprocess.Popen(  # noqa: S603
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for words in process.stdout or ():
            said.append(words.rstrip())
            first, _, rest = words.strip().partition(" ")
            if first in ("Collecting", "Installing", "Downloading", "Prepared", "Installed"):
                show = rest.split(" ", 1)[0] if first == "Collecting" else words.strip()[:100]
                sys.stderr.write(f"  {show}\n")
                sys.stderr.flush()
    if process.returncode:
        errors = [words for words in said if "ERROR" in words or "error" in words]
        sys.stderr.write("\n".join(w for w in said[-15:] if not w.startswith("Looking in")) + "\n")
        last = (errors or said or ["no reason given"])[-1].strip()[:200]
        raise BootstrapError(f"installing failed; the next run begins anew. {last}")


def locked(path: Path) -> int:
    """Wait until no other set-up of this checkout runs; the lock ends with this process."""
    descriptor = os.open(str(path), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another set-up of this checkout runs: waiting for it")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def main(arguments: list[str]) -> int:
    if sys.version_info < OLDEST:
        found = sys.version.split()[0]
        say(f"Python 3.11 or later is needed, this is {found}: try `make PYTHON=python3.12 ...`")
        return 1
    name = arguments[0] if arguments else "requirements.txt"
    try:
        locked(CHECKOUT / "requirements.txt")
        ensure(CHECKOUT / name, Environment(CHECKOUT / ".venv"))
    except (BootstrapError, OSError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next run begins anew")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
