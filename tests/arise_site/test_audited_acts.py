"""Each act of an operator leaves one row that names the person, the object and from what to what.

An act of a list, or an address that takes one, that is in none of the tables here fails
`test_every_act_is_in_the_tables`.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib import admin
from django.contrib.admin.models import LogEntry as History
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.db.models import Model
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from arise_site import audit, second_factor
from core import by_hand, capabilities, chatsettings, evidence, tasks
from core.admin import changes
from core.audit import HIDDEN
from core.capabilities import Ability, Platform
from core.forgetting import chats, people
from core.models import Bot, Chat, Member, OutboxEntry, PersonLimit, SentMessage, Turn
from skills.models import Skill
from stickers import acts, catalogue
from stickers.models import Sticker
from tests import factories
from tests.arise_site.test_audit import page_of, posted
from tests.arise_site.test_limits import CUSTOM
from tests.core.media.drawing import picture
from tests.skills.packing import packed, skill_file
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db
CHANGED = [HIDDEN, HIDDEN]
WORDS = "wordsofthechat"
Expected = tuple[Model, str, dict[str, Any]]
"""The row that was acted on, its name in the audit, and the changes."""
Act = Callable[[Client], Expected]
ACTS: dict[str, Act] = {}


def act(*names: str) -> Callable[[Act], Act]:
    """One act, or the same one by several ways; called as `core.chat enable` where it is a list's."""

    def register(done: Act) -> Act:
        ACTS.update(dict.fromkeys(names, done))
        return done

    return register


LOOKS = {
    "core_chat_conversation",
    "core_chat_picture",
    "core_turn_curl",
    "core_turn_picture",
    "core_bot_playground_state",
    "core_outboxentry_review",
    "stickers_sticker_funnel",
    "stickers_sticker_picture",
    "stickers_sticker_still",
    "stickers_sticker_tray",
    "stickers_sticker_tray_still",
    "stickers_sticker_try",
}
"""Addresses at which nothing is done."""
BY_THE_LIBRARY = {"auth.user delete_selected", "auth.group delete_selected"} | {
    "core.personlimit delete_selected",
    "skills.skill delete_selected",
}
"""Rows that go one by one through `delete()`."""


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    can = {"recall": Ability(True)}
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform(can, recall_seconds=120))
    monkeypatch.setattr(tasks.run_again, "delay", lambda _rerun: None)


def fresh() -> None:
    LogEntry.objects.all().delete()


def listed(client: Client, row: Model, name: str, **more: str) -> None:
    """Do an act of a list with one row."""
    meta = row._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    fresh()
    client.post(url, {"action": name, "_selected_action": [row.pk], "index": 0, **more})


def asked(client: Client, row: Model, place: str, **posted: str) -> None:
    """Post to one of a row's own addresses."""
    meta = row._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_{place}", args=[row.pk])
    fresh()
    assert client.post(url, posted).status_code == 302


def current(message: SentMessage) -> OutboxEntry:
    assert message.entry is not None
    return message.entry


def waiting() -> OutboxEntry:
    made = {"held": "review"}
    return current(factories.make_sent(content=WORDS, state="pending", entry=made))


def confirmed(client: Client, act: str, entry: OutboxEntry) -> None:
    fresh()
    url = reverse("admin:core_outboxentry_confirm", args=[act])
    client.post(url, {"pick": f"{entry.pk}:{by_hand.digest(entry)}"})


# Chats and bots.
@pytest.mark.parametrize(
    ("name", "field", "before"),
    [
        ("enable", "enabled", False),
        ("disable", "enabled", True),
        ("learn_stickers", "sticker_learning", False),
        ("stop_learning_stickers", "sticker_learning", True),
    ],
)
def test_a_switch_of_many_chats_is_kept_of_each_that_stood_otherwise(
    admin_client: Client, admin_user: User, name: str, field: str, before: bool
) -> None:
    stood, others = factories.make_chat(), factories.make_chat()
    Chat.objects.filter(pk=stood.pk).update(**{field: before})
    Chat.objects.filter(pk=others.pk).update(**{field: not before})
    url = reverse("admin:core_chat_changelist")
    fresh()
    chosen = {"action": name, "_selected_action": [stood.pk, others.pk], "index": 0}
    admin_client.post(url, chosen)
    entry = LogEntry.objects.get()
    assert (entry.actor, entry.object_repr) == (admin_user, str(stood))
    assert entry.changes == {field: [str(before), str(not before)]}
    assert entry.additional_data == {"bot": stood.bot_id, "chat": stood.pk}
    stood.refresh_from_db()
    assert getattr(stood, field) is not before
    if field == "sticker_learning":
        assert stood.sticker_learning_set_by == admin_user


SWITCHES = {f"core.chat {name}" for name in ("enable", "disable")} | {
    "core.chat learn_stickers",
    "core.chat stop_learning_stickers",
}


def pausing(client: Client, row: Bot | Chat, *, by_list: bool, goes_on: bool) -> Expected:
    if goes_on:
        asked(client, row, "pause", decision="pause", reason="too loud")
    row.refresh_from_db()
    at = row.paused_at
    if by_list:
        listed(client, row, "resume" if goes_on else "pause")
    else:
        asked(client, row, "pause", decision="resume" if goes_on else "pause", reason="too loud")
    row.refresh_from_db()
    changes: dict[str, Any] = {"paused_at": [str(at), str(row.paused_at)]}
    if goes_on or not by_list:
        changes["pause_reason"] = ["too loud", ""] if goes_on else ["", "too loud"]
    return row, str(row), changes


@act("core.chat pause")
def _(client: Client) -> Expected:
    return pausing(client, factories.make_chat(), by_list=True, goes_on=False)


@act("core.chat resume")
def _(client: Client) -> Expected:
    return pausing(client, factories.make_chat(), by_list=True, goes_on=True)


@act("core.bot pause")
def _(client: Client) -> Expected:
    return pausing(client, factories.make_bot(), by_list=True, goes_on=False)


@act("core.bot resume")
def _(client: Client) -> Expected:
    return pausing(client, factories.make_bot(), by_list=True, goes_on=True)


@act("core_chat_pause")
def _(client: Client) -> Expected:
    return pausing(client, factories.make_chat(), by_list=False, goes_on=False)


@act("core_bot_pause")
def _(client: Client) -> Expected:
    return pausing(client, factories.make_bot(), by_list=False, goes_on=True)


@act("core.bot new_token")
def _(client: Client) -> Expected:
    bot = factories.make_bot()
    listed(client, bot, "new_token")
    return bot, str(bot), {"token_hash": CHANGED}


@act("core_chat_forget")
def _(client: Client) -> Expected:
    chat = factories.make_chat(title=WORDS, messages=7, sticker_learning=True)
    asked(client, chat, "forget")
    return chat, chat.key, {"messages": ["7", "0"], "sticker_learning": ["True", "False"]}


@act("core_member_forget")
def _(client: Client) -> Expected:
    member = factories.make_member(name=WORDS)
    asked(client, member, "forget")
    assert not Member.objects.exists()
    return member.chat, str(member.chat), {"person_forgotten": ["False", "True"]}


@act("core_bot_playground")
def _(client: Client) -> Expected:
    fresh()
    client.post(reverse("admin:core_bot_playground"))
    bot = Bot.objects.get()
    entry = LogEntry.objects.get()
    assert entry.changes["enabled"] == ["None", "True"]
    return bot, str(bot), entry.changes


@act("core_bot_playground_forget")
def _(client: Client) -> Expected:
    client.post(reverse("admin:core_bot_playground"))
    chat = factories.make_chat(Bot.objects.get(), title=WORDS, messages=3)
    fresh()
    client.post(reverse("admin:core_bot_playground_forget"))
    return chat, chat.key, {"messages": ["3", "0"]}


# The bot's words.
@act("core_outboxentry_decide")
def _(client: Client) -> Expected:
    entry = waiting()
    seen = by_hand.digest(entry)
    asked(client, entry, "decide", decision="approve", seen=seen, text=f"{WORDS}, dear")
    return entry, entry.audited_as, {"held": ["review", ""], "content": CHANGED}


@act("core_outboxentry_confirm")
def _(client: Client) -> Expected:
    entry = waiting()
    confirmed(client, "approve", entry)
    return entry, entry.audited_as, {"held": ["review", ""]}


@act("core_outboxentry_edit")
def _(client: Client) -> Expected:
    entry = waiting()
    asked(client, entry, "edit", seen=by_hand.digest(entry), text=f"{WORDS}, dear")
    return entry, entry.audited_as, {"content": CHANGED}


@act("core.outboxentry discard", "core.sentmessage discard")
def _(client: Client) -> Expected:
    entry = waiting()
    confirmed(client, "discard", entry)
    changes = {"state": ["pending", "discarded"], "held": ["review", ""]}
    return entry, entry.audited_as, changes


@act("core.outboxentry take_back", "core.sentmessage take_back")
def _(client: Client) -> Expected:
    message = factories.make_sent(content=WORDS)
    confirmed(client, "recall", current(message))
    assert OutboxEntry.objects.filter(action="recall").exists()
    return message, message.handle, {"recall_asked": ["False", "True"]}


@act("an edit of what was said")
def _(client: Client) -> Expected:
    message = factories.make_sent(content=WORDS)
    entry = current(message)
    asked(client, entry, "edit", seen=by_hand.digest(entry), text=f"{WORDS}, dear")
    return message, message.handle, {"edits": ["0", "1"], "content": CHANGED}


@act("core_outboxentry_settle")
def _(client: Client) -> Expected:
    entry = current(factories.make_sent(content=WORDS, state="unknown"))
    asked(client, entry, "settle", outcome="done", message_id="4711")
    changes = {"state": ["unknown", "sent"], "platform_message_id": ["", "4711"]}
    return entry, entry.audited_as, changes


@act("core.outboxentry was_done")
def _(client: Client) -> Expected:
    entry = current(factories.make_sent(content=WORDS, state="unknown"))
    listed(client, entry, "was_done")
    return entry, entry.audited_as, {"state": ["unknown", "sent"]}


@act("core.outboxentry was_not_done")
def _(client: Client) -> Expected:
    entry = current(factories.make_sent(content=WORDS, state="unknown"))
    listed(client, entry, "was_not_done")
    return entry, entry.audited_as, {"state": ["unknown", "failed"]}


@act("core.sentmessage was_done")
def _(client: Client) -> Expected:
    message = factories.make_sent(content=WORDS, state="unknown")
    listed(client, message, "was_done")
    return current(message), message.handle, {"state": ["unknown", "sent"]}


@act("core.sentmessage was_not_done")
def _(client: Client) -> Expected:
    message = factories.make_sent(content=WORDS, state="unknown")
    listed(client, message, "was_not_done")
    return current(message), message.handle, {"state": ["unknown", "failed"]}


@act("a gesture that is discarded")
def _(client: Client) -> Expected:
    entry = factories.make_entry(action="poke", subject=WORDS, chat=factories.make_chat())
    confirmed(client, "discard", entry)
    return entry, f"poke #{entry.pk}", {"state": ["pending", "discarded"]}


@act("core_turn_rerun")
def _(client: Client) -> Expected:
    turn = factories.make_turn(messages=[{"role": "user", "content": WORDS}])
    asked(client, turn, "rerun", model="other-model", persona=WORDS)
    return turn, f"#{turn.pk}", {"rerun": ["None", "other-model"]}


# Stickers.
def of_a_sticker(client: Client, name: str, changes: dict[str, Any], **fields: Any) -> Expected:
    sticker = shown(factories.make_chat(), WORDS, words=WORDS, **fields)
    listed(client, sticker, name, confirmed="1")
    return sticker, sticker.ref, changes


@act("stickers.sticker approve")
def _(client: Client) -> Expected:
    return of_a_sticker(client, "approve", {"state": ["review", "stored"]}, state="review")


@act("stickers.sticker pin")
def _(client: Client) -> Expected:
    return of_a_sticker(client, "pin", {"pinned": ["False", "True"]})


@act("stickers.sticker unpin")
def _(client: Client) -> Expected:
    return of_a_sticker(client, "unpin", {"pinned": ["True", "False"]}, pinned=True)


@act("stickers.sticker promote")
def _(client: Client) -> Expected:
    changes = {"in_catalogue": ["False", "True"], "state": ["review", "stored"]}
    return of_a_sticker(client, "promote", changes, state="review")


@act("stickers.sticker reject")
def _(client: Client) -> Expected:
    return of_a_sticker(client, "reject", {"state": ["stored", "rejected"]})


@act("stickers.sticker take_down")
def _(client: Client) -> Expected:
    return of_a_sticker(client, "take_down", {"state": ["stored", "removed"]})


@act("stickers_sticker_act")
def _(client: Client) -> Expected:
    sticker = shown(factories.make_chat(), WORDS)
    asked(client, sticker, "act", act="pin")
    return sticker, sticker.ref, {"pinned": ["False", "True"]}


@act("other words for a sticker")
def _(client: Client) -> Expected:
    sticker = shown(factories.make_chat(), "old", words=WORDS)
    form = client.get(page_of(sticker)).context["form"]
    values = {name: form[name].value() for name in form.fields}
    fresh()
    client.post(page_of(sticker), values | {"meaning": WORDS, "words": ""})
    return sticker, sticker.ref, {"meaning": CHANGED, "words": CHANGED}


@act("stickers_sticker_upload")
def _(client: Client) -> Expected:
    url = reverse("admin:stickers_sticker_upload")
    client.post(url, {"files": [SimpleUploadedFile("a.png", picture(color="red"))]})
    (digest,) = client.session["sticker_tray"]
    fresh()
    client.post(url, {"tray": "1", "do": "add", "add": "1", f"{digest[:16]}-meaning": WORDS})
    sticker = Sticker.objects.get()
    return sticker, sticker.ref, {"state": ["None", "stored"]}


# Skills.
def upload(client: Client, *files: tuple[str, str]) -> None:
    file = SimpleUploadedFile("skills.zip", packed(files))
    fresh()
    client.post(reverse("admin:skills_skill_import"), {"file": file, "import": "1"})


@act("skills_skill_import")
def _(client: Client) -> Expected:
    skill = factories.make_skill("rules", "Be kind.")
    upload(client, ("rules/SKILL.md", skill_file("rules", WORDS)))
    return skill, "rules", {"body": CHANGED}


@act("an import of files")
def _(client: Client) -> Expected:
    upload(client, ("rules/SKILL.md", skill_file("rules")))
    upload(client, ("rules/SKILL.md", skill_file("rules")), (f"rules/{WORDS}.txt", WORDS))
    return Skill.objects.get(), "rules", {"attachments": ["0", "1"]}


@act("skills_skill_versions")
def _(client: Client) -> Expected:
    skill = factories.make_skill("rules", WORDS)
    posted(client, skill, body="Be unkind.")
    asked(client, skill, "versions", number="1")
    return skill, "rules", {"body": CHANGED}


# People.
@act("auth.user let_in_again")
def _(client: Client) -> Expected:
    person = User.objects.create_user("bea", is_staff=True)
    for _attempt in range(3):
        Client().post(reverse("admin:login"), {"username": "bea", "password": "wrong"})
    listed(client, person, "let_in_again")
    return person, "bea", {"failed_log_ins": ["3", "0"]}


@act("auth.user take_second_factor")
def _(client: Client) -> Expected:
    device = TOTPDevice.objects.create(user=User.objects.create_user("bea"), name="app")
    person, name = device.user, str(device)
    listed(client, person, "take_second_factor")
    return device, name, {"confirmed": ["True", "None"]}


@act("new backup codes")
def _(client: Client) -> Expected:
    person = User.objects.get(username="admin")
    fresh()
    second_factor._new_backup_codes(person)
    return person, "admin", {"backup_codes": CHANGED}


@act("auth_user_password_change")
def _(client: Client) -> Expected:
    person = User.objects.create_user("bea", password="before")
    url = reverse("admin:auth_user_password_change", args=[person.pk])
    fresh()
    client.post(url, {"password1": "Quite-another-1", "password2": "Quite-another-1"})
    return person, "bea", {"password": CHANGED}


@pytest.mark.parametrize("name", ACTS)
def test_an_act_leaves_one_row(admin_client: Client, admin_user: User, name: str) -> None:
    row, named, changes = ACTS[name](admin_client)
    entry = LogEntry.objects.get()
    assert entry.actor == admin_user
    assert entry.content_type.model_class() is type(row)
    assert entry.object_repr == named
    assert entry.object_pk != "None"
    assert entry.changes == changes
    chat = row if isinstance(row, Chat) else getattr(row, "chat", None)
    if chat is not None:
        assert entry.additional_data == {"bot": chat.bot_id, "chat": chat.pk}
    assert WORDS not in f"{entry.changes}{entry.object_repr}{entry.additional_data}"
    fields = LogEntry.objects.values().get()
    assert WORDS not in str(fields)
    # It is read in the console by a person, with every code in words.
    page = admin_client.get(reverse("admin:auditlog_logentry_changelist")).content.decode()
    assert "admin" in page
    assert named in page


READS = {
    "core.chat pause": ["paused"],
    "core.chat resume": [
        "resumed",
        "why it is paused: <bdi>too loud</bdi> → <bdi>nothing</bdi>",
    ],
    "core.bot new_token": ["a new token was made"],
    "core_chat_forget": [
        "what was stored of it was forgotten",
        "sticker learning: <bdi>on</bdi> → <bdi>off</bdi>",
    ],
    "core_member_forget": ["a person was forgotten"],
    "core_outboxentry_decide": ["approved", "content: changed"],
    "core_outboxentry_confirm": ["approved"],
    "core_outboxentry_edit": ["content: changed"],
    "core.outboxentry discard": ["discarded"],
    "core.sentmessage take_back": ["taken back"],
    "an edit of what was said": ["content: changed"],
    "core_outboxentry_settle": ["settled: it was sent", "message id: <bdi>4711</bdi>"],
    "core.outboxentry was_not_done": ["settled: it was not sent"],
    "core_turn_rerun": ["run again with <bdi>other-model</bdi>"],
    "stickers.sticker promote": ["approved", "put into the catalogue"],
    "stickers.sticker take_down": ["taken down everywhere"],
    "stickers_sticker_upload": ["put into the catalogue"],
    "auth.user let_in_again": ["let in again"],
    "auth.user take_second_factor": ["the second factor was taken away"],
    "auth_user_password_change": ["password: changed"],
}


@pytest.mark.parametrize("name", READS)
def test_an_act_reads_as_a_sentence(admin_client: Client, name: str) -> None:
    ACTS[name](admin_client)
    assert sorted(changes.told(LogEntry.objects.get())) == sorted(READS[name])


def test_what_is_made_reads_as_what_it_was_given_alone(admin_client: Client) -> None:
    ACTS["core_bot_playground"](admin_client)
    made, *given = changes.told(LogEntry.objects.get())
    assert made == "made"
    assert "enabled: <bdi>on</bdi>" in given
    assert not {"resumed", "a new token was made"} & set(given)


def test_every_act_is_in_the_tables(admin_user: User) -> None:
    request = RequestFactory().get("/")
    request.user = admin_user
    offered = {
        f"{model._meta.label_lower} {name}"
        for model, page in admin.site._registry.items()
        for name in page.get_actions(request)
    }
    assert {name for name in ACTS if "." in name} | BY_THE_LIBRARY | SWITCHES == offered
    assert {name for name in ACTS if "_" in name and "." not in name} | LOOKS == CUSTOM


def test_what_forms_change_is_kept_by_itself(admin_user: User) -> None:
    request = RequestFactory().get("/")
    request.user = admin_user
    changed = {
        model
        for model, page in admin.site._registry.items()
        if page.has_add_permission(request)
        or page.has_change_permission(request)
        or page.has_delete_permission(request)
    }
    # A sticker's form is an act: see above.
    assert changed - {Sticker} <= audit._kept.keys()


# Commands have no person.
def test_what_a_command_does_has_no_person(tmp_path: Any) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(picture())
    call_command("addsticker", str(file), meaning=WORDS)
    sticker = Sticker.objects.get()
    entry = LogEntry.objects.get()
    assert (entry.actor, entry.object_repr) == (None, sticker.ref)
    fresh()
    call_command("addsticker", str(file), meaning="other")
    assert LogEntry.objects.get().changes == {"meaning": CHANGED}
    fresh()
    call_command("addsticker", str(file), meaning="other")
    assert not LogEntry.objects.exists()
    acts.reject(sticker, by=None)
    fresh()
    call_command("addsticker", str(file), meaning="other")
    assert LogEntry.objects.get().changes["state"] == ["rejected", "stored"]


def test_adding_what_was_taken_down_says_so(admin_user: User) -> None:
    sticker = catalogue.add(picture(), meaning="old")
    acts.take_down(sticker, by=admin_user)
    fresh()
    catalogue.add(picture(), meaning="new", by=admin_user, again=True)
    entry = LogEntry.objects.get()
    assert entry.changes == {"state": ["None", "stored"], "verdict": ["removed", "stored"]}


def test_a_takedown_is_kept_in_each_chat_that_had_the_picture(admin_user: User) -> None:
    first = shown(factories.make_chat(), WORDS)
    others = [
        shown(factories.make_chat(), WORDS, picture=first.picture),
        shown(None, WORDS, picture=first.picture),
    ]
    fresh()
    acts.take_down(first, by=admin_user)
    entries = LogEntry.objects.order_by("pk")
    assert {entry.object_repr for entry in entries} == {one.ref for one in (first, *others)}
    data = [entry.additional_data for entry in entries]
    chats_told = {one and one["chat"] for one in data}
    assert chats_told == {first.chat_id, others[0].chat_id, None}


def test_an_act_that_was_not_done_leaves_nothing(admin_client: Client, admin_user: User) -> None:
    sticker = shown(factories.make_chat(), state="vetoed")
    chat = factories.make_chat()
    entry = current(factories.make_sent(state="failed"))
    fresh()
    assert not acts.approve(sticker, by=admin_user)
    assert not acts.reject(sticker, by=admin_user)
    assert not evidence.settle_by_hand(entry, was_sent=True, by=admin_user)
    listed(admin_client, chat, "enable")
    listed(admin_client, chat, "resume")
    assert not LogEntry.objects.exists()


def test_a_limited_person_reads_of_his_chats_alone(client: Client, admin_user: User) -> None:
    person = User.objects.create(username="limited", is_staff=True)
    person.user_permissions.add(*Permission.objects.filter(codename="view_logentry"))
    inside, outside = shown(factories.make_chat()), shown(factories.make_chat())
    everybodys = shown(None)
    assert inside.chat
    assert outside.chat
    PersonLimit.objects.create(person=person).chats.add(inside.chat)
    fresh()
    acts.pin_all([inside, outside, everybodys], pinned=True, by=admin_user)
    client.force_login(person)
    url = reverse("admin:auditlog_logentry_changelist")
    questions: list[dict[str, str]] = [{}, {"q": outside.ref}, {"chat": str(outside.chat.pk)}]
    for asked in questions:
        page = client.get(url, asked)
        seen = {entry.object_repr for entry in page.context["cl"].queryset}
        assert seen == ({inside.ref} if not asked else set())


def test_a_chats_last_changes_are_what_was_set_for_it(
    admin_client: Client, admin_user: User
) -> None:
    chat = factories.make_chat()
    chatsettings.apply(chat, chatsettings.Change({"patience_seconds": 4321}, {}))
    acts.pin_all([shown(chat) for _number in range(6)], pinned=True, by=admin_user)
    page = admin_client.get(page_of(chat)).content.decode()
    assert "4321" in page.split("Last changes")[1]


# Forgetting.
def test_what_is_forgotten_leaves_no_name_in_the_audit(admin_user: User) -> None:
    chat = factories.make_chat(title=WORDS)
    entry = current(factories.make_sent(chat, WORDS, "unknown"))
    evidence.settle_by_hand(entry, was_sent=False, by=admin_user)
    sticker = shown(chat, WORDS, state="review")
    acts.approve(sticker, by=admin_user)
    assert LogEntry.objects.filter(object_repr=sticker.ref).exists()
    chats.forget(chat, by=admin_user)
    assert WORDS not in str(list(LogEntry.objects.values()))
    kinds = ("outboxentry", "sticker")
    names = LogEntry.objects.filter(content_type__model__in=kinds).values_list("object_repr")
    assert list(names) == [("–",)] * 2


def test_what_the_history_kept_of_words_is_taken_out(admin_user: User) -> None:
    entry = current(factories.make_sent())
    told = {
        "Changed by hand, instead of: one\ntwo": "Changed by hand.",
        "已人工修改，原来是：一\n二": "已人工修改。",
        "Discarded by hand.": "Discarded by hand.",
    }
    for said in told:
        History.objects.log_actions(admin_user.pk, [entry], 2, said)
    migration = import_module("arise_site.migrations.0004_history_without_words")
    with connection.cursor() as cursor:
        cursor.execute(migration.TAKE_WORDS_OUT)
    kept = History.objects.order_by("pk").values_list("change_message", flat=True)
    assert list(kept) == list(told.values())


def test_a_forgotten_person_leaves_who_forgot_in_each_chat(admin_user: User) -> None:
    members = [factories.make_member(user_id="77001", name=WORDS) for _ in range(2)]
    own = factories.make_chat(kind="private", external_id="77001", title=WORDS)
    fresh()
    people.forget("77001", by=admin_user)
    entries = LogEntry.objects.order_by("pk")
    assert {entry.actor for entry in entries if entry.object_repr != "–"} == {admin_user}
    told = [entry.additional_data["chat"] for entry in entries]
    assert sorted(told) == sorted([*(member.chat_id for member in members), own.pk])
    assert WORDS not in str(list(entries.values()))
    assert "77001" not in str(list(entries.values()))


# Many at once.
MANY = 30


def statements(do: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as seen:
        do()
    return len(seen)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Chat, "disable"),
        (Chat, "pause"),
        (Chat, "learn_stickers"),
        (Bot, "pause"),
        (Sticker, "approve"),
        (Sticker, "pin"),
    ],
)
def test_many_at_once_take_as_many_statements_as_two(
    admin_client: Client, kind: type[Model], name: str
) -> None:
    home = factories.make_chat()

    def rows(count: int) -> Iterator[Model]:
        for _number in range(count):
            if kind is Sticker:
                yield shown(home, state="review")
            else:
                yield factories.make_bot() if kind is Bot else factories.make_chat(home.bot)

    def all_of(chosen: list[Model]) -> int:
        url = reverse(f"admin:{kind._meta.app_label}_{kind._meta.model_name}_changelist")
        keys = [row.pk for row in chosen]
        fresh()
        sent = {"action": name, "_selected_action": keys, "index": 0}
        taken = statements(lambda: admin_client.post(url, sent))
        assert LogEntry.objects.count() == len(chosen)
        return taken

    all_of(list(rows(2)))
    assert all_of(list(rows(2))) == all_of(list(rows(MANY)))


def test_turns_and_words_have_names_without_words() -> None:
    message = factories.make_sent(content=WORDS)
    for row in (message, current(message), factories.make_turn(error=WORDS), Turn(pk=1)):
        assert WORDS not in row.audited_as
