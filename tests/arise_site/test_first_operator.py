"""The first operator: one, once; a password that we made reaches the screen or is made again."""

from pathlib import Path

import pytest
from django.contrib.auth import get_user_model

from arise_site import first_operator
from arise_site.first_operator import FirstOperator

pytestmark = pytest.mark.django_db


def opens(username: str, password: str) -> bool:
    """Whether it is that person's password; who logs in is asked by pages alone."""
    return get_user_model().objects.get(username=username).check_password(password)


def test_it_makes_one_with_a_password_that_works(tmp_path: Path) -> None:
    made = first_operator.ensure(tmp_path)
    assert made
    assert opens(made.username, made.password)
    assert get_user_model().objects.get(username=made.username).is_superuser
    first_operator.shown(tmp_path)
    assert first_operator.ensure(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_password_that_never_reached_the_screen_is_made_again(tmp_path: Path) -> None:
    first = first_operator.ensure(tmp_path)
    second = first_operator.ensure(tmp_path)
    assert first
    assert second
    assert first.password != second.password
    assert opens("admin", second.password)
    for file in tmp_path.iterdir():
        assert second.password not in file.read_text(encoding="utf-8")


def test_a_given_password_is_used_and_not_echoed(tmp_path: Path, settings: object) -> None:
    settings.ARISE_ADMIN_USERNAME = "ops"  # type: ignore[attr-defined]
    settings.ARISE_ADMIN_PASSWORD = "given-by-hand"  # type: ignore[attr-defined]
    assert first_operator.ensure(tmp_path) == FirstOperator("ops", "")
    assert opens("ops", "given-by-hand")
    assert list(tmp_path.iterdir()) == []


def test_where_anybody_is_nobody_is_made(tmp_path: Path) -> None:
    get_user_model().objects.create_user("someone")
    assert first_operator.ensure(tmp_path) is None
