"""The database's clock, and giving its connection back before a wait."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The database's clock: due times and leases are judged by it alone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def give_back() -> None:
    """Return this thread's connection to the pool; call it before waiting on anything outside."""
    if not connection.in_atomic_block:
        connection.close()
