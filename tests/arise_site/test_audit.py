"""Every flip leaves a row: who, when, from what, to what; and workers pay nothing for it."""

from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from arise_site import audit
from core import chatsettings, pausing
from core.chatsettings import Change
from core.models import Bot, CapabilitySetting, Chat, PersonLimit
from tests import factories

pytestmark = pytest.mark.django_db
AUDIT = "/admin/auditlog/logentry/"


def kept() -> list[tuple[str, str, Any]]:
    """Who, what and the changes of all rows, oldest first."""
    rows = LogEntry.objects.order_by("pk")
    return [
        (row.actor.get_username() if row.actor else "", row.content_type.model, row.changes)
        for row in rows
    ]


@pytest.fixture
def chat() -> Chat:
    made = factories.make_chat()
    LogEntry.objects.all().delete()
    return made


def page_of(row: Any) -> str:
    meta = row._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])


def posted(client: Client, row: Any, **changed: Any) -> None:
    """Save a row's page as it stands, with some fields changed; None unticks one."""
    form = client.get(page_of(row)).context["adminform"].form
    data = {}
    for name in form.fields:
        value = changed.get(name, form[name].value())
        if value in (None, False):
            continue
        data[name] = "on" if value is True else value
        if form.fields[name].show_hidden_initial:
            data[f"initial-{name}"] = form[name].initial
    answer = client.post(page_of(row), data)
    assert answer.status_code == 302, answer.context["adminform"].form.errors


def test_a_flip_on_a_chats_page_is_kept(admin_client: Client, chat: Chat) -> None:
    posted(admin_client, chat, sticker_learning=True, daily_model_calls=7)
    ((who, what, changes),) = kept()
    assert (who, what) == ("admin", "chat")
    assert changes == {"sticker_learning": ["False", "True"], "daily_model_calls": ["500", "7"]}
    assert LogEntry.objects.get().additional_data == {"bot": chat.bot_id, "chat": chat.pk}


def test_a_flip_in_the_list_is_kept(admin_client: Client, chat: Chat) -> None:
    form = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": chat.pk, "_save": "Save"}
    form["initial-form-0-enabled"] = "True"
    admin_client.post(reverse("admin:core_chat_changelist"), form)
    assert kept() == [("admin", "chat", {"enabled": ["True", "False"]})]


def test_an_act_on_many_is_kept_for_each(admin_client: Client, chat: Chat) -> None:
    other = factories.make_chat(chat.bot)
    LogEntry.objects.all().delete()
    chosen = {"action": "disable", "_selected_action": [chat.pk, other.pk], "index": 0}
    admin_client.post(reverse("admin:core_chat_changelist"), chosen)
    assert kept() == [("admin", "chat", {"enabled": ["True", "False"]})] * 2


def test_a_switch_is_kept_when_it_is_set_turned_and_left_to_the_bot(
    admin_client: Client, chat: Chat
) -> None:
    for state in ("off", "on", "inherit"):
        posted(admin_client, chat, switch_recall=state)
    assert [changes["allowed"] for _, _, changes in kept()] == [
        ["None", "False"],
        ["False", "True"],
        ["True", "None"],
    ]
    data = LogEntry.objects.latest("pk").additional_data
    assert data == {"bot": chat.bot_id, "chat": chat.pk, "switch": "cap.recall"}


def test_a_command_is_kept_without_a_person(chat: Chat) -> None:
    call_command("chatset", chat.bot.self_id, chat.key, "enabled=off", "cap.recall=off")
    assert kept() == [
        ("", "chat", {"enabled": ["True", "False"]}),
        ("", "capabilitysetting", {"allowed": ["None", "False"]}),
    ]


def test_a_token_leaves_nothing_of_itself(admin_client: Client, chat: Chat) -> None:
    bot = chat.bot
    chosen = {"action": "new_token", "_selected_action": [bot.pk], "index": 0}
    admin_client.post(reverse("admin:core_bot_changelist"), chosen)
    assert kept() == [("admin", "bot", {"token_hash": ["•••", "•••"]})]


def test_a_pause_is_kept(admin_user: User, chat: Chat) -> None:
    for owner in (chat, chat.bot):
        pausing.pause(owner, by=admin_user, reason="it shouts")
    changes = [changes for _, _, changes in kept()]
    assert [change["pause_reason"] for change in changes] == [["", "it shouts"]] * 2


def test_what_a_bot_is_told_is_kept(admin_client: Client, chat: Chat) -> None:
    posted(admin_client, chat.bot, persona="kind", switch_voice="off")
    assert [changes for _, _, changes in kept()] == [
        {"persona": ["", "kind"]},
        {"allowed": ["None", "False"]},
    ]


def test_a_chats_own_persona_is_kept_in_the_audit(admin_client: Client) -> None:
    chat = factories.make_chat()
    posted(admin_client, chat, persona_override="An owl.")
    entry = LogEntry.objects.latest("pk")
    assert entry.changes == {"persona_override": ["", "An owl."]}


def test_people_and_their_rights_are_kept(admin_client: Client) -> None:
    person = User.objects.create_user("ann", password="secret-of-ann")
    group = Group.objects.create(name="readers")
    limit = PersonLimit.objects.create(person=person)
    LogEntry.objects.all().delete()
    limit.chats.add(factories.make_chat(title="Book club"))
    person.groups.add(group)
    person.is_staff = True
    person.set_password("another")
    person.save()
    group.permissions.add(Permission.objects.get(codename="view_chat"))
    changes = [changes for _, what, changes in kept() if what in {"personlimit", "user", "group"}]
    assert changes[0]["chats"]["operation"] == "add"
    assert changes[1]["groups"]["objects"] == ["readers"]
    assert changes[2] == {"is_staff": ["False", "True"], "password": ["•••", "•••"]}
    assert changes[3]["permissions"]["operation"] == "add"


def test_who_gets_a_skill_is_kept(chat: Chat) -> None:
    skill = factories.make_skill("rules", for_all_chats=False)
    LogEntry.objects.all().delete()
    skill.chats.add(chat)
    skill.enabled = False
    skill.save()
    assert [changes.get("enabled") for _, _, changes in kept()] == [None, ["True", "False"]]


WORKERS_COLUMNS = [
    ["lease_until", "turn_due_at"],
    ["lease_token"],
    ["next_handle"],
    ["members_synced_at"],
    ["judged_item_id", "addressed_at", "addressed_by"],
    ["bot_role", "silence_reason", "silenced_until"],
]


@pytest.mark.parametrize("columns", WORKERS_COLUMNS, ids=str)
def test_workers_pay_nothing(chat: Chat, columns: list[str]) -> None:
    with CaptureQueriesContext(connection) as seen:
        chat.save(update_fields=columns)
        chat.bot.save(update_fields=["platform"])
    assert [query["sql"].split()[0] for query in seen] == ["UPDATE", "UPDATE"]
    assert kept() == []


def test_no_column_that_workers_move_is_kept() -> None:
    moved = {name for columns in WORKERS_COLUMNS for name in columns} | {"hinted_at", "messages"}
    assert not audit._kept[Chat] & moved
    assert not audit._kept[Bot] & {"platform", "connection_number", "is_logged_out"}
    assert {"enabled", "sticker_learning", "daily_model_calls"} <= audit._kept[Chat]


def test_the_chats_page_shows_the_last_flips_with_a_link(admin_client: Client, chat: Chat) -> None:
    chatsettings.apply(chat, Change({"enabled": False}, {("cap", "recall"): False}))
    posted(admin_client, chat, patience_seconds=77)
    page = admin_client.get(page_of(chat)).content.decode()
    for words in ("Last changes", "a command", "admin", "cap.recall", "600", "77"):
        assert words in page
    link = f"{reverse('admin:auditlog_logentry_changelist')}?chat={chat.pk}"
    assert link in page
    listed = admin_client.get(link).content.decode()
    assert "patience" in listed
    assert "a command" in listed
    other = factories.make_chat()
    elsewhere = admin_client.get(page_of(other)).content.decode()
    assert "cap.recall" not in elsewhere.split("Last changes")[1]


def test_the_audit_is_for_people_to_read(admin_client: Client, admin_user: User) -> None:
    chat = factories.make_chat(title="Readers")
    pausing.pause(chat, by=admin_user)
    listed = admin_client.get(AUDIT).content.decode()
    assert "<div>paused</div>" in listed
    assert "<bdi>–</bdi> → <bdi>–</bdi>" not in listed
    assert "<bdi>ID</bdi>" not in listed


def test_the_audit_leads_to_what_is_still_there(admin_client: Client, chat: Chat) -> None:
    gone = factories.make_chat(title="Gone")
    for row in (chat, gone):
        chatsettings.apply(row, Change({"enabled": False}, {}))
    page, was = page_of(chat), page_of(gone)
    gone.delete()
    listed = admin_client.get(AUDIT).content.decode()
    assert f'href="{page}"><bdi>{chat}</bdi>' in listed
    assert f'href="{was}"><bdi>{gone}</bdi>' not in listed
    own = admin_client.get(page_of(LogEntry.objects.filter(object_id=chat.pk).latest("pk")))
    assert page in own.content.decode()


def test_a_switch_reads_as_from_what_to_what_and_leads_to_its_bot(
    admin_client: Client, chat: Chat
) -> None:
    chatsettings.set_capabilities(chat.bot, {("cap", "voice"): False})
    listed = admin_client.get(AUDIT).content.decode()
    assert "<div>inherit → off</div>" in listed
    assert f'href="{page_of(chat.bot)}"' in listed


def test_a_right_is_taken_and_given_in_words(admin_client: Client) -> None:
    person = User.objects.create_user("ann")
    person.groups.add(Group.objects.get_or_create(name="viewer")[0])
    other = User.objects.create_user("bob")
    limit = PersonLimit.objects.create(person=person)
    limit.person = other
    limit.save()
    listed = admin_client.get(AUDIT, headers={"accept-language": "zh-hans"}).content.decode()
    assert "组：添加了 <bdi>查看者</bdi>" in listed
    assert "<th" in listed
    assert "对象" in listed


def test_a_bots_page_shows_its_own_flips_and_not_those_of_its_chats(
    admin_client: Client, chat: Chat
) -> None:
    chatsettings.apply(chat, Change({"patience_seconds": 4321}, {}))
    chatsettings.set_capabilities(chat.bot, {("cap", "voice"): False})
    page = admin_client.get(page_of(chat.bot)).content.decode().split("Last changes")[1]
    assert "cap.voice" in page
    assert "4321" not in page
    listed = admin_client.get(reverse("admin:auditlog_logentry_changelist"), {"bot": chat.bot_id})
    assert [row.additional_data["switch"] for row in listed.context["cl"].queryset] == ["cap.voice"]


def test_who_may_not_see_the_audit_is_not_shown_it(client: Client, chat: Chat) -> None:
    chatsettings.apply(chat, Change({"enabled": False}, {}))
    person = User.objects.create(username="looker", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_chat"))
    client.force_login(person)
    assert "Last changes" not in client.get(page_of(chat)).content.decode()


def test_the_audit_can_not_be_changed(admin_client: Client, chat: Chat) -> None:
    chatsettings.apply(chat, Change({"enabled": False}, {}))
    row = LogEntry.objects.get()
    for act in ("change", "delete"):
        url = reverse(f"admin:auditlog_logentry_{act}", args=[row.pk])
        assert admin_client.post(url, {"post": "yes"}).status_code == 403
    assert LogEntry.objects.count() == 1


def test_chats_that_appear_by_themselves_leave_nothing(chat: Chat) -> None:
    Chat.objects.bulk_create([Chat(bot=chat.bot, kind="group", external_id="9")])
    assert kept() == []


def test_a_deleted_chat_leaves_what_was_set_for_it(chat: Chat) -> None:
    CapabilitySetting.objects.create(chat=chat, target="cap", name="recall", allowed=False)
    chat.delete()
    assert sorted(what for _, what, _ in kept()) == ["capabilitysetting"] * 2 + ["chat"]
    assert all(row.additional_data["chat"] for row in LogEntry.objects.all())
