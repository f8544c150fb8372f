"""The site's secret key: made once, kept in a file that only its owner reads."""

import os
import secrets
from pathlib import Path


def kept_secret(path: Path) -> str:
    """Return the key kept at `path`, making it first where there is none.

    Two processes that start at once agree: the file appears whole (a link made of a finished
    temporary file), and whoever comes second reads what the first one made.
    """
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(50))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text(encoding="ascii").strip()
