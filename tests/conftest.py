"""Fixtures of every test."""

from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases
from django.utils import timezone, translation
from pytest_django import DjangoDbBlocker

MOST_DEADLOCKS = 5


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


@pytest.fixture(autouse=True, scope="session")
def _emptied_although_a_site_asks() -> Iterator[None]:
    """Emptying all tables takes them one after the other, and so does what the site of a flow, which
    runs until the end, asks of them: where the two wait for each other, the tables come later."""
    teardown = "_fixture_teardown"
    empty: Callable[[TransactionTestCase], None] = getattr(TransactionTestCase, teardown)

    def emptied(case: TransactionTestCase) -> None:
        for _attempt in range(MOST_DEADLOCKS):
            try:
                empty(case)
            except CommandError as error:
                if not isinstance(error.__cause__, OperationalError):
                    raise
            else:
                return
        empty(case)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, teardown, emptied)
        yield


@pytest.fixture(autouse=True)
def _nothing_shared_between_tests() -> None:
    """Figures are kept for some seconds, and a person's language and zone by the thread that answered."""
    cache.clear()
    translation.deactivate()
    timezone.deactivate()
