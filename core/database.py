"""The database's clock, and giving its connection back before a wait."""

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


def give_back() -> None:
    """Return this thread's connection to the pool; call it before waiting on anything outside."""
    if not connection.in_atomic_block:
        connection.close()
