"""The pages of the people who work in the console: their roles, their limits, and leaving it."""

import re

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from arise_site import roles
from core.models import PersonLimit
from tests import factories

pytestmark = pytest.mark.django_db
CHINESE = {"accept-language": "zh-hans"}
LIST = "/admin/auth/user/"


@pytest.fixture(autouse=True)
def groups() -> None:
    """Tests that empty the database leave no groups behind."""
    roles.grant(apps)


def make_person(name: str, role: str) -> User:
    person = User.objects.create(username=name, is_staff=True)
    person.groups.add(Group.objects.get(name=role))
    return person


def shown(client: Client, address: str) -> str:
    answer = client.get(address, headers=CHINESE)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_tells_each_persons_role_and_limit(admin_client: Client) -> None:
    make_person("bea", "moderator")
    limit = PersonLimit.objects.create(person=make_person("cai", "operator"))
    limit.bots.add(factories.make_bot())
    page = shown(admin_client, LIST)
    assert "审核者" in page
    assert "运维者" in page
    assert "超级用户" in page
    assert "无限制：看得到全部" in page
    assert "1 个机器人、0 个会话" in page
    assert reverse("admin:core_personlimit_change", args=[limit.pk]) in page
    assert "moderator" not in page


def test_a_persons_page_offers_roles_by_name_and_leads_to_the_limit(admin_client: Client) -> None:
    person = make_person("bea", "viewer")
    page = shown(admin_client, reverse("admin:auth_user_change", args=[person.pk]))
    for title in ("查看者", "审核者", "运维者", "所有者"):
        assert title in page
    assert reverse("admin:core_personlimit_add") + f"?person={person.pk}" in page
    limit = PersonLimit.objects.create(person=person)
    page = shown(admin_client, reverse("admin:auth_user_change", args=[person.pk]))
    assert reverse("admin:core_personlimit_change", args=[limit.pk]) in page


def test_who_is_made_with_a_role_may_log_in_to_the_console_at_once(admin_client: Client) -> None:
    viewer = Group.objects.get(name="viewer")
    form = {
        "username": "new",
        "usable_password": "true",
        "password1": "Quite-a-new-1",
        "password2": "Quite-a-new-1",
        "groups": str(viewer.pk),
    }
    assert admin_client.post(reverse("admin:auth_user_add"), form).status_code == 302
    client = Client()
    client.force_login(User.objects.get(username="new"))
    assert client.get(reverse("admin:core_chat_changelist")).status_code == 200


def test_roles_are_called_by_their_names_in_chinese(admin_client: Client) -> None:
    group = Group.objects.get(name="owner")
    assert "所有者" in shown(admin_client, reverse("admin:auth_group_changelist"))
    page = shown(admin_client, reverse("admin:auth_group_change", args=[group.pk]))
    assert '<span aria-current="page"><bdi>所有者</bdi></span>' in page


def test_rights_are_offered_in_chinese_and_only_those_that_do_something(
    admin_client: Client,
) -> None:
    group = Group.objects.get(name="owner")
    page = shown(admin_client, reverse("admin:auth_group_change", args=[group.pk]))
    offered = re.findall(r'<option value="\d+"[^>]*>([^<]+)', page)
    assert len(offered) > 30
    assert [right for right in offered if re.search("[A-Za-z]", right)] == []


def test_nothing_leads_from_the_console_to_the_console(
    admin_client: Client, client: Client
) -> None:
    assert "返回站点" not in shown(client, reverse("admin:login"))
    assert "查看站点" not in shown(admin_client, reverse("admin:index"))


def test_who_logs_out_is_told_so(admin_client: Client) -> None:
    page = admin_client.post(reverse("admin:logout"), headers=CHINESE).content.decode()
    assert "已退出登录。" in page
    assert reverse("admin:index") in page
