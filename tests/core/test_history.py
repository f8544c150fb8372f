"""The console's history of one row, in the language of whoever reads it."""

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation

from core.admin import history
from tests import factories

pytestmark = pytest.mark.django_db


def made(said: str | list[object], user: User) -> LogEntry:
    chat = factories.make_chat()
    LogEntry.objects.log_actions(user.pk, [chat], CHANGE, said)
    return LogEntry.objects.latest("pk")


@pytest.mark.parametrize(
    ("field", "called"),
    [
        ("Enabled", "启用"),
        ("sticker_learning", "贴纸学习"),
        ("cap.recall", "开关“撤回自己说过的话”"),
    ],
)
def test_changed_fields_are_called_by_their_names(
    admin_user: User, field: str, called: str
) -> None:
    entry = made([{"changed": {"fields": [field]}}], admin_user)
    with translation.override("zh-hans"):
        told = history.said(entry)
    assert called in told
    assert field not in told


@pytest.mark.parametrize("said", ["Resumed.", "[not json", '"quoted"'])
def test_what_is_no_list_of_fields_is_told_as_it_stands(admin_user: User, said: str) -> None:
    assert history.said(made(said, admin_user)) == said


def test_the_page_names_its_columns_once(admin_client: Client, admin_user: User) -> None:
    entry = made([{"changed": {"fields": ["Delivery"]}}], admin_user)
    url = reverse("admin:core_chat_history", args=[entry.object_id])
    page = admin_client.get(url, headers={"accept-language": "zh-hans"}).content.decode()
    assert "data-label" not in page.split("arise-table")[1]
    assert "Delivery" not in page
    assert "admin" in page
    empty = factories.make_chat()
    url = reverse("admin:core_chat_history", args=[empty.pk])
    assert "Nothing was changed here" in admin_client.get(url).content.decode()
