"""Where the embedded services of a home listen: the same answer in every process, nothing started."""

import contextlib
import hashlib
import os
import re
from pathlib import Path

from arise_site.embedded import accounts

# A socket's path ends at 107 bytes. Only these characters survive every URL reader unchanged: one
# of them lower-cases what it takes for a host name.
LONGEST_SOCKET_PATH = 100
PLAIN = re.compile(r"[a-z0-9._/-]+")
POSTGRES_SOCKET_NAME = ".s.PGSQL.5432"


def run_folder(home: Path) -> Path:
    """The folder of the sockets: in the home where that is short, plain and reachable.

    Else one named by a hash of the home's path, in a place that does not depend on the environment.
    """
    if os.geteuid() == 0:
        # Whether a lent account can enter shows only once the home is there, under this umask.
        with contextlib.suppress(OSError):
            home.mkdir(parents=True, exist_ok=True)
    inside = home / "run"
    longest = os.fsencode(inside / "pg" / POSTGRES_SOCKET_NAME)
    if (
        len(longest) <= LONGEST_SOCKET_PATH
        and PLAIN.fullmatch(str(inside))
        and accounts.postgres_account().reaches(home)
    ):
        return inside
    tag = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    shelter = "/run" if os.geteuid() == 0 and os.access("/run", os.W_OK) else "/tmp"  # noqa: S108
    return Path(shelter) / f"arise-{os.geteuid()}-{tag}"


def postgres_folder(home: Path) -> Path:
    """The folder of Postgres' socket, which only the account of Postgres may enter."""
    return run_folder(home) / "pg"


def broker_socket(home: Path) -> Path:
    """The socket of Valkey."""
    return run_folder(home) / "valkey.sock"


def database_url(home: Path) -> str:
    """The address of the embedded Postgres of this home, as dj-database-url reads it."""
    return f"postgresql://postgres@{str(postgres_folder(home)).replace('/', '%2F')}/arise"


def redis_url(home: Path) -> str:
    """The address of the embedded broker of this home, as redis-py reads it."""
    return f"unix://{broker_socket(home)}?db=0"


def celery_broker_url(redis: str) -> str:
    """The same server in kombu's spelling: a unix socket is `redis+socket:///path?virtual_host=N`."""
    if not redis.startswith("unix://"):
        return redis
    path, _, query = redis.removeprefix("unix://").partition("?")
    number = dict(pair.partition("=")[::2] for pair in query.split("&") if pair).get("db", "0")
    return f"redis+socket://{path}?virtual_host={number}"
