"""Counts statements where they arrive: in Postgres, by its own pg_stat_statements.

BEGIN and COMMIT count, and so does what the pool asks of a connection: each is a round trip. Not
counted are Postgres' own look-ups for foreign keys. What the same processes send while idle (the
sweep, the watch) is measured and taken off.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from arise_site.embedded.postgres import Postgres
from arise_site.embedded.servers import Servers
from bench import house

IDLE_SECONDS = 6.0
CALLS = """
SELECT query, sum(calls)::bigint FROM pg_stat_statements
 WHERE query NOT LIKE '%%pg_stat_statements%%' GROUP BY query
"""
FOREIGN_KEY = "SELECT 1 FROM ONLY"
RESET = "SELECT pg_stat_statements_reset()"


def count_them(servers: Servers) -> None:
    """Load the counter: Postgres is started again for it."""
    with house.database() as own:
        own.execute("ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements")
    postgres = next(member for member in servers.members if isinstance(member, Postgres))
    house.let_go()
    postgres.stop()
    servers.restart(postgres)
    with house.database() as own:
        own.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")


async def rates(action: Callable[[], Awaitable[object]]) -> tuple[dict[str, int], float]:
    """Calls of each statement while the action runs, and its seconds."""
    await asyncio.to_thread(house.rows, RESET)
    began = time.monotonic()
    await action()
    seconds = time.monotonic() - began
    found = await asyncio.to_thread(house.rows, CALLS)
    return dict(found), seconds


async def tell(action: Callable[[], Awaitable[object]], times: int, *, names: bool) -> None:
    """Print how many statements one of `times` things took that the action does."""
    idle, idle_seconds = await rates(lambda: asyncio.sleep(IDLE_SECONDS))
    calls, seconds = await rates(action)
    each = {
        query: (count - idle.get(query, 0) * seconds / idle_seconds) / times
        for query, count in calls.items()
    }
    each = {query: count for query, count in each.items() if count >= 0.05}
    checks = sum(each.pop(query) for query in list(each) if query.startswith(FOREIGN_KEY))
    frame = sum(count for query, count in each.items() if query in {"BEGIN", "COMMIT"})
    total = sum(each.values())
    print(f"statements a turn: {total:.1f}, of which BEGIN and COMMIT {frame:.1f}", end="; ")
    print(f"foreign keys looked up {checks:.1f}; idle", end=" ")
    print(f"{sum(idle.values()) / idle_seconds:.1f} statements a second")
    if names:
        for query, count in sorted(each.items(), key=lambda pair: -pair[1]):
            print(f"  {count:5.2f}  {' '.join(query.split())[:150]}")
