"""What must hold before anything runs: given servers that answer, pgvector, tables up to date."""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
import redis
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _


class SetUpError(Exception):
    """The site can't be set up; the text is one line that says what to do."""


def check_given_servers() -> None:
    """The servers named by DATABASE_URL and REDIS_URL answer, and the former can hold our data."""
    if not settings.EMBEDDED_BROKER:
        try:
            with redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=5) as client:
                client.ping()
        except (redis.RedisError, OSError, ValueError) as error:
            raise SetUpError(f"REDIS_URL: {place(settings.REDIS_URL)}: {one_line(error)}") from None
    if not settings.EMBEDDED_DATABASE:
        check_given_database(database_trouble)


def check_given_database(look: Callable[[psycopg.Connection[Any]], str]) -> None:
    """Connect once to the database of DATABASE_URL and `look`; what that returns is an error.

    The connection is one of its own: the pool would try for long and hide the reason.
    """
    where = f"DATABASE_URL: {place(settings.DATABASE_URL)}"
    try:
        with psycopg.connect(**plain_parameters(), autocommit=True) as direct:
            trouble = look(direct)
    except psycopg.Error as error:
        raise SetUpError(f"{where}: {one_line(error)}") from None
    if trouble:
        raise SetUpError(f"{where}: {trouble}")


def database_trouble(direct: psycopg.Connection[Any]) -> str:
    """Why this database can't hold our data, with the exact SQL that helps; empty when it can.

    Whether a role may create the extension differs from host to host, so it is tried, and undone.
    """
    name = direct.info.dbname
    found = direct.execute(
        "SELECT installed_version IS NOT NULL FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if found is None:
        return _("the server has no pgvector: install it there (on Debian: postgresql-NN-pgvector)")
    if not found[0]:
        try:
            with direct.transaction(force_rollback=True):
                direct.execute("CREATE EXTENSION vector")
        except psycopg.errors.InsufficientPrivilege:
            return _(
                'the role "%(user)s" may not create pgvector; as a superuser run, in the '
                'database "%(name)s":  CREATE EXTENSION vector;'
            ) % {"user": direct.info.user, "name": name}
    allowed = direct.execute(
        "SELECT has_schema_privilege(coalesce(current_schema(), 'public'), 'CREATE')"
    ).fetchone()
    if allowed is None or not allowed[0]:
        return _(
            'the role "%(user)s" may not create tables; as the owner of the database '
            '"%(name)s" run there:  GRANT CREATE ON SCHEMA public TO "%(user)s";'
        ) % {"user": direct.info.user, "name": name}
    return ""


def migrate(say: Callable[[str], None]) -> None:
    """Bring the tables up to date; says so only where there is something to do."""
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return
    say(_("migrating the database"))
    call_command("migrate", verbosity=0, interactive=False)


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def place(url: str) -> str:
    """A server's address without its password."""
    parts = urlsplit(url)
    name = unquote(parts.netloc.rpartition("@")[2])
    return f"{parts.scheme}://{name}{parts.path}"


def plain_parameters() -> dict[str, Any]:
    """What psycopg takes to connect to the site's database, outside of Django and its pool."""
    parameters = dict(connection.get_connection_params())
    parameters.pop("pool", None)
    for django_own in ("cursor_factory", "context"):
        parameters.pop(django_own, None)
    return {"connect_timeout": 5, **parameters}
