"""Fixtures of every test."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """The test database, made also for flows: they read it without pytest-django's marker, since
    what other processes see must be committed and is not rolled back."""
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False)
    yield
    with django_db_blocker.unblock():
        # A thread that a test left behind keeps its connection, and so the database.
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        teardown_databases(made, verbosity=0)


@pytest.fixture(autouse=True)
def _nothing_shared_between_tests() -> None:
    """Figures are kept for some seconds."""
    cache.clear()
