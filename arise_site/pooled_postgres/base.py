"""Django's Postgres backend, whose pool is emptied as soon as one of its connections is found dead.

The pool's own check takes one connection after the other, with a pause that doubles each time: after
a restart of the server a pool that had grown to five would keep its process waiting for longer than
`timeout` (psycopg_pool 3.3.3, `getconn`).
"""

from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool

MOST_DEAD = 3


class DatabaseWrapper(base.DatabaseWrapper):
    """Gives connections that were alive when they were taken."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A live connection; after MOST_DEAD dead ones the last is given as it is."""
        connection = super().get_new_connection(conn_params)
        for _attempt in range(MOST_DEAD):
            if self.pool is None or _is_alive(connection):
                break
            self.pool.putconn(connection)
            self.pool.drain()
            connection = super().get_new_connection(conn_params)
        return connection


def _is_alive(connection: Any) -> bool:
    try:
        ConnectionPool.check_connection(connection)
    except psycopg.Error:
        return False
    return True
