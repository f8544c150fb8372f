"""The console in a person's own language and time zone."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from arise_site.languages import of_terminal
from arise_site.models import PersonSettings
from tests import factories
from tests.arise_site.running import manage, temporary_home

pytestmark = pytest.mark.django_db

PAGE = "/admin/preferences/"
CHINESE = {"accept-language": "zh-CN,zh;q=0.9,en;q=0.8"}


def choose(client: Client, **choice: str) -> None:
    assert client.post(PAGE, choice).status_code == 302


def shown(client: Client, address: str = "/admin/", **headers: str) -> str:
    answer = client.get(address, headers=headers or None)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_browser_chooses_the_language(admin_client: Client) -> None:
    answer = admin_client.get("/admin/", headers=CHINESE)
    assert answer["Content-Language"] == "zh-hans"
    assert 'lang="zh-hans"' in answer.content.decode()
    assert "发件箱" in answer.content.decode()
    assert "发件箱" not in shown(admin_client)


def test_the_log_in_speaks_the_browsers_language(client: Client) -> None:
    assert "登录" in client.get("/admin/login/", headers=CHINESE).content.decode()


def test_what_a_person_chose_comes_before_what_the_browser_asks(admin_client: Client) -> None:
    choose(admin_client, language="zh-hans")
    answer = admin_client.get("/admin/", headers={"accept-language": "en"})
    assert answer["Content-Language"] == "zh-hans"
    assert "发件箱" in answer.content.decode()
    choose(admin_client, language="en")
    assert "发件箱" not in admin_client.get("/admin/", headers=CHINESE).content.decode()
    choose(admin_client, language="")
    assert "发件箱" in admin_client.get("/admin/", headers=CHINESE).content.decode()


def test_a_choice_is_the_persons_alone(admin_client: Client, client: Client) -> None:
    choose(admin_client, language="zh-hans", time_zone="Asia/Shanghai")
    client.force_login(User.objects.create_superuser("ann"))
    assert "发件箱" not in shown(client)
    assert PersonSettings.objects.get().person.username == "admin"


def test_what_was_done_is_told_in_the_new_language(admin_client: Client) -> None:
    answer = admin_client.post(PAGE, {"language": "zh-hans"}, follow=True)
    assert "你的选择已保存。" in answer.content.decode()


def test_times_are_in_the_persons_zone(admin_client: Client) -> None:
    item = factories.make_item(received_at=datetime(2026, 3, 1, 20, 30, 15, tzinfo=UTC))
    listed = reverse("admin:core_inbounditem_changelist")
    page = reverse("admin:core_inbounditem_change", args=[item.pk])
    assert "20:30:15" in shown(admin_client, listed)
    choose(admin_client, time_zone="Asia/Shanghai")
    assert "04:30:15" in shown(admin_client, listed)
    assert "2026-03-02 04:30:15" in shown(admin_client, page)
    choose(admin_client, time_zone="")
    assert "20:30:15" in shown(admin_client, listed)


@pytest.mark.parametrize("choice", [{"language": "de"}, {"time_zone": "Mars/Olympus"}])
def test_nothing_else_can_be_chosen(admin_client: Client, choice: dict[str, str]) -> None:
    assert admin_client.post(PAGE, choice).status_code == 200
    assert not PersonSettings.objects.exists()


def test_the_database_takes_no_other_language(admin_user: User) -> None:
    with pytest.raises(IntegrityError):
        PersonSettings.objects.create(person=admin_user, language="de")


def test_a_zone_that_the_machine_unlearned_is_the_sites(
    admin_client: Client, admin_user: User
) -> None:
    PersonSettings.objects.create(person=admin_user, time_zone="Mars/Olympus")
    shown(admin_client)


def test_the_page_is_for_people_who_have_logged_in(client: Client) -> None:
    assert client.get(PAGE).status_code == 302
    assert client.get(PAGE)["Location"].startswith("/admin/login/")


def test_the_menu_of_the_person_leads_there(admin_client: Client) -> None:
    assert f'href="{PAGE}"' in shown(admin_client)
    assert 'href="/admin/password_change/"' in shown(admin_client)


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh-hans"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh-hans"),
        ({}, "en"),
    ],
)
def test_commands_speak_as_the_terminal(environment: dict[str, str], language: str) -> None:
    assert of_terminal(environment) == language


def test_a_command_under_a_chinese_locale_speaks_chinese_and_its_json_does_not() -> None:
    with temporary_home() as home:
        added = manage(home, "addbot", "10001", LANG="zh_CN.UTF-8")
        assert "已添加机器人 10001" in added.stdout
        listed = manage(home, "chatset", "10001", "group:1", "enabled=on", LANG="zh_CN.UTF-8")
        assert '"enabled": true' in listed.stdout
        table = manage(home, "chats", LANG="zh_CN.UTF-8")
        assert "会话" in table.stdout
        lines = [manage(home, "chats", "--json", LANG=name).stdout for name in ("zh_CN.UTF-8", "C")]
        assert lines[0] == lines[1]
