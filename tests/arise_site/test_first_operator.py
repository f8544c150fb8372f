"""The first operator: one, once; a password that we made reaches the screen or is made again."""

from pathlib import Path

import pytest
from django.contrib.auth import authenticate, get_user_model

from arise_site import first_operator
from arise_site.first_operator import FirstOperator

pytestmark = pytest.mark.django_db


def test_it_makes_one_with_a_password_that_works(tmp_path: Path) -> None:
    made = first_operator.ensure(tmp_path)
    assert made
    user = authenticate(username=made.username, password=made.password)
    assert user
    assert user.is_superuser
    first_operator.shown(tmp_path)
    assert first_operator.ensure(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_password_that_never_reached_the_screen_is_made_again(tmp_path: Path) -> None:
    first = first_operator.ensure(tmp_path)
    second = first_operator.ensure(tmp_path)
    assert first
    assert second
    assert first.password != second.password
    assert authenticate(username="admin", password=second.password)
    for file in tmp_path.iterdir():
        assert second.password not in file.read_text(encoding="utf-8")


def test_a_given_password_is_used_and_not_echoed(tmp_path: Path, settings: object) -> None:
    settings.ARISE_ADMIN_USERNAME = "ops"  # type: ignore[attr-defined]
    settings.ARISE_ADMIN_PASSWORD = "given-by-hand"  # type: ignore[attr-defined]
    assert first_operator.ensure(tmp_path) == FirstOperator("ops", "")
    assert authenticate(username="ops", password="given-by-hand")
    assert list(tmp_path.iterdir()) == []


def test_where_anybody_is_nobody_is_made(tmp_path: Path) -> None:
    get_user_model().objects.create_user("someone")
    assert first_operator.ensure(tmp_path) is None
