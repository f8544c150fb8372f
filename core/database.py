"""The database's clock, its locks by name, and giving its connection back before a wait."""

from datetime import datetime

from django.db import connection
from django.db.models import DateTimeField, Func


class ClockTimestamp(Func):
    """The database's clock inside a statement: due times and leases are judged by it alone."""

    function = "CLOCK_TIMESTAMP"
    output_field = DateTimeField()


def database_now() -> datetime:
    """The same, asked by itself."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def try_lock(name: str) -> bool:
    """Take the lock of that name until this transaction ends; False where another one has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [name])
        taken: bool = cursor.fetchone()[0]
    return taken


def lock(name: str) -> None:
    """Take the lock of that name until this transaction ends, waiting while another one has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def give_back() -> None:
    """Return this thread's connection to the pool; call it before waiting on anything outside."""
    if not connection.in_atomic_block:
        connection.close()
