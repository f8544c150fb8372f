"""Where the embedded services of a home listen: the same answer in every process, nothing started."""

from pathlib import Path


def database_url(home: Path) -> str:
    """The address of the embedded Postgres of this home, as dj-database-url reads it."""
    return f"postgresql://postgres@{str(home / 'run' / 'pg').replace('/', '%2F')}/arise"


def redis_url(home: Path) -> str:
    """The address of the embedded broker of this home, as redis-py reads it."""
    return f"unix://{home / 'run' / 'valkey.sock'}?db=0"


def celery_broker_url(redis: str) -> str:
    """The same server in kombu's spelling: a unix socket is `redis+socket:///path?virtual_host=N`."""
    if not redis.startswith("unix://"):
        return redis
    path, _, query = redis.removeprefix("unix://").partition("?")
    number = dict(pair.partition("=")[::2] for pair in query.split("&") if pair).get("db", "0")
    return f"redis+socket://{path}?virtual_host={number}"
