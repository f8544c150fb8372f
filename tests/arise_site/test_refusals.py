"""Pages that are not shown say why, in the console's look and in the person's language."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from arise_site import dashboard

pytestmark = pytest.mark.django_db
CHINESE = {"accept-language": "zh-hans"}


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(User.objects.create(username="viewer", is_staff=True))
    return client


@pytest.mark.parametrize("address", ["/nothing", "/admin/nothing/", "/admin/core/chat/7/forget/"])
def test_what_is_not_there_is_told(admin_client: Client, address: str) -> None:
    answer = admin_client.get(address)
    assert answer.status_code == 404
    told = answer.content.decode()
    assert "There is no such page." in told
    assert "console/console.css" in told
    assert reverse("admin:index") in told


def test_what_is_not_allowed_is_told(viewer: Client) -> None:
    answer = viewer.get(reverse("admin:core_chat_changelist"))
    assert answer.status_code == 403
    assert "You are not allowed to do this." in answer.content.decode()


def test_a_refusal_is_one_line_of_the_log(viewer: Client, caplog: pytest.LogCaptureFixture) -> None:
    viewer.get(reverse("admin:core_chat_changelist"))
    (line,) = caplog.records
    assert line.getMessage() == "Forbidden (Permission denied): /admin/core/chat/"
    assert not line.exc_info


def test_strangers_are_told_in_their_language(client: Client) -> None:
    answer = client.get("/nothing", headers=CHINESE)
    assert answer.status_code == 404
    assert "没有这个页面" in answer.content.decode()


def test_a_failure_is_told_without_whatever_failed(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(dashboard, "environment", fails)
    admin_client.raise_request_exception = False
    answer = admin_client.get("/nothing", headers=CHINESE)
    assert answer.status_code == 500
    assert "console/console.css" in answer.content.decode()


def test_a_failure_keeps_its_traceback(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(dashboard, "shown", fails)
    admin_client.raise_request_exception = False
    assert admin_client.get(reverse("admin:index")).status_code == 500
    (line,) = caplog.records
    assert line.exc_info
