"""A server that was restarted is met by pools full of dead connections."""

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import connection

from arise_site.database import plain_parameters

GROWN = 8


def _own_pid(all_hold_one: threading.Barrier) -> int:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pid: int = cursor.fetchone()[0]
        all_hold_one.wait(10)
        return pid
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_pool_of_dead_connections_gives_a_live_one_before_its_patience_ends() -> None:
    connection.close()
    barrier = threading.Barrier(GROWN)
    with ThreadPoolExecutor(GROWN) as threads:
        pids = set(threads.map(_own_pid, [barrier] * GROWN))
    assert len(pids) == GROWN

    with psycopg.connect(**plain_parameters(), autocommit=True) as direct:
        direct.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [[*pids]])
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        assert cursor.fetchone()[0] not in pids
