"""From the event loop to the database: plain functions in threads, never on the loop.

Django's own `database_sync_to_async` runs everything of a process in one thread, so a slow page
would hold up every bot; these threads are the gateway's own.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from core.database import give_back

P = ParamSpec("P")
T = TypeVar("T")

_threads = ThreadPoolExecutor(max_workers=6, thread_name_prefix="gateway-db")
# One thread alone stores what comes in: the order of arrival is the order of rows.
_store_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gateway-store")
# The broker may hang; whoever waits for it must not hold up those who want the database.
_broker_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gateway-broker")


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in one of the gateway's threads; its connection goes back to the pool."""
    return await _in(_threads, function, *args, **kwargs)


async def run_in_order(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same in the one thread that stores what comes in."""
    return await _in(_store_thread, function, *args, **kwargs)


async def run_for_broker(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same in the one thread that talks to the broker."""
    return await _in(_broker_thread, function, *args, **kwargs)


async def _in(
    pool: ThreadPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    def call() -> T:
        try:
            return function(*args, **kwargs)
        finally:
            give_back()

    return await asyncio.get_running_loop().run_in_executor(pool, call)
