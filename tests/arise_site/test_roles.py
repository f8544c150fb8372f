"""What each role may, on the real pages."""

import itertools

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.urls import reverse

from arise_site import roles
from core.models import OutboxEntry
from tests import factories

pytestmark = pytest.mark.django_db
ROLES = list(roles.ADDED)
GRANTED_LATER = {"auditlog.view_logentry"}


@pytest.fixture(autouse=True)
def groups() -> None:
    """Tests that empty the database leave no groups behind."""
    roles.grant(apps)


def log_in(client: Client, role: str) -> User:
    person = User.objects.create(username=role, is_staff=True)
    person.groups.add(Group.objects.get(name=role))
    client.force_login(person)
    return person


def test_the_migration_makes_them() -> None:
    loader = MigrationExecutor(connection).loader
    migration = loader.get_migration("arise_site", "0001_roles")
    state = loader.project_state(("arise_site", "0001_roles"))
    Group.objects.all().delete()
    Permission.objects.all().delete()
    with connection.schema_editor() as editor:
        migration.apply(state, editor)
    assert set(Group.objects.values_list("name", flat=True)) == set(ROLES)
    owner = User.objects.create(username="owner", is_staff=True)
    owner.groups.add(Group.objects.get(name="owner"))
    held = owner.get_group_permissions()
    assert held <= roles.rights("owner")
    assert roles.rights("owner") - held <= GRANTED_LATER


def test_every_right_of_a_role_is_there() -> None:
    for role in ROLES:
        held = Permission.objects.filter(group__name=role).select_related("content_type")
        names = {f"{right.content_type.app_label}.{right.codename}" for right in held}
        assert names == roles.rights(role)


def test_each_role_has_what_the_one_before_has() -> None:
    for before, role in itertools.pairwise(ROLES):
        assert roles.rights(before) < roles.rights(role)


def test_a_later_grant_brings_only_what_is_new() -> None:
    viewer = Group.objects.get(name="viewer")
    viewer.permissions.clear()
    roles.grant(apps, frozenset({"core.view_bot"}))
    assert [right.codename for right in viewer.permissions.all()] == ["view_bot"]


@pytest.mark.parametrize(
    ("page", "may"),
    [
        ("core_chat_changelist", "viewer"),
        ("core_turn_changelist", "viewer"),
        ("skills_skill_changelist", "viewer"),
        ("botgateway_refusedconnection_changelist", "viewer"),
        ("core_bot_add", "operator"),
        ("skills_skill_add", "operator"),
        ("skills_skill_import", "operator"),
        ("auth_user_changelist", "owner"),
        ("auth_user_add", "owner"),
        ("auth_group_changelist", "owner"),
        ("core_personlimit_add", "owner"),
    ],
)
@pytest.mark.parametrize("role", ROLES)
def test_who_opens_what(client: Client, role: str, page: str, may: str) -> None:
    log_in(client, role)
    opens = ROLES.index(role) >= ROLES.index(may)
    assert client.get(reverse(f"admin:{page}")).status_code == (200 if opens else 403)


@pytest.mark.parametrize("role", ROLES)
def test_who_settles(client: Client, role: str) -> None:
    log_in(client, role)
    entry = factories.make_sent(state="unknown").entry
    assert entry
    page = client.get(reverse("admin:core_outboxentry_change", args=[entry.pk]))
    assert ("It was sent" in page.content.decode()) == (role != "viewer")
    settled = client.post(
        reverse("admin:core_outboxentry_settle", args=[entry.pk]), {"outcome": "done"}
    )
    assert settled.status_code == (403 if role == "viewer" else 302)
    state = OutboxEntry.objects.get(pk=entry.pk).state
    assert state == ("unknown" if role == "viewer" else "sent")


@pytest.mark.parametrize("role", ROLES)
def test_who_flips_a_chat(client: Client, role: str) -> None:
    log_in(client, role)
    chat = factories.make_chat()
    flipped = client.post(
        reverse("admin:core_chat_changelist"),
        {"action": "disable", "_selected_action": [chat.pk], "index": 0},
    )
    assert flipped.status_code in {200, 302}
    chat.refresh_from_db()
    assert chat.enabled == (role in {"viewer", "moderator"})


def test_an_owner_makes_nobody_a_superuser_and_touches_none(client: Client) -> None:
    owner = log_in(client, "owner")
    first = User.objects.create_superuser("first", password="before")
    page = reverse("admin:auth_user_change", args=[owner.pk])
    form = client.get(page).context["adminform"].form
    assert not {"is_superuser", "user_permissions"} & set(form.fields)
    assert client.get(reverse("admin:auth_user_change", args=[first.pk])).status_code == 200
    for name, data in (
        ("auth_user_change", {"username": "mine"}),
        ("auth_user_delete", {"post": "yes"}),
        ("auth_user_password_change", {"password1": "Mine-now-1", "password2": "Mine-now-1"}),
    ):
        address = reverse(f"admin:{name}", args=[first.pk])
        assert client.post(address, data).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [first.pk], "post": "yes"}
    client.post(reverse("admin:auth_user_changelist"), {**chosen, "index": 0})
    first.refresh_from_db()
    assert first.username == "first"
    assert first.check_password("before")


def test_an_owner_makes_people(client: Client) -> None:
    log_in(client, "owner")
    form = {
        "username": "new",
        "usable_password": "true",
        "password1": "Quite-a-new-1",
        "password2": "Quite-a-new-1",
    }
    assert client.post(reverse("admin:auth_user_add"), form).status_code == 302
    made = User.objects.get(username="new")
    viewer = Group.objects.get(name="viewer")
    page = reverse("admin:auth_user_change", args=[made.pk])
    form = {
        "username": "new",
        "is_active": "on",
        "is_staff": "on",
        "groups": str(viewer.pk),
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    assert client.post(page, form).status_code == 302
    made.refresh_from_db()
    assert made.is_staff
    assert list(made.groups.all()) == [viewer]
