"""Skills in the console: writing, importing, seeing how they stand, and going back."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from skills.models import Skill, SkillAttachment, SkillReads
from tests.factories import make_bot, make_chat, make_skill
from tests.skills.packing import packed, skill_file

pytestmark = pytest.mark.django_db

LIST = "admin:skills_skill_changelist"
IMPORT = "admin:skills_skill_import"


def page_of(skill: Skill, name: str = "change") -> str:
    return reverse(f"admin:skills_skill_{name}", args=[skill.pk])


def form(skill: Skill | None = None, **fields: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"name": "tea", "description": "d", "body": "b", "enabled": "on"}
    if skill:
        given |= {"name": skill.name, "description": skill.description, "body": skill.body}
    return given | {"for_all_chats": "on"} | fields


def upload(client: Client, button: str, content: bytes) -> Any:
    file = SimpleUploadedFile("skills.zip", content)
    return client.post(reverse(IMPORT), {"file": file, button: "1"}, follow=True)


def person(*permissions: str) -> User:
    user = User.objects.create(username="ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


# Writing


def test_a_skill_is_written_with_its_first_version(admin_client: Client, admin_user: User) -> None:
    bot, chat = make_bot(), make_chat()
    fields = form(
        name=" cafe\u0301 ",
        body="\r\n  a\r\nb \r\n",
        bots=[bot.pk],
        chats=[chat.pk],
        for_all_chats="",
    )
    admin_client.post(reverse("admin:skills_skill_add"), fields)
    skill = Skill.objects.get()
    assert (skill.name, skill.body, skill.for_all_chats) == ("café", "  a\nb", False)
    assert ([*skill.bots.all()], [*skill.chats.all()]) == ([bot], [chat])
    version = skill.versions.get()
    assert (version.number, version.source, version.made_by) == (1, "console", admin_user)


def test_an_edit_keeps_the_old_text_and_who_changed_it(
    admin_client: Client, admin_user: User
) -> None:
    skill = make_skill(body="old")
    admin_client.post(page_of(skill), form(skill, body="new"))
    told = [(v.body, v.made_by) for v in skill.versions.all()]
    assert told == [("new", admin_user), ("old", None)]


def test_saving_without_a_change_makes_no_version(admin_client: Client) -> None:
    skill = make_skill(body="a\nb")
    admin_client.post(page_of(skill), form(skill, body="a\r\nb"))
    assert skill.versions.count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "a/b"},
        {"name": "..\x07"},
        {"name": "STRASSE"},
        {"body": " \r\n "},
        {"description": " "},
    ],
)
def test_what_an_import_would_refuse_is_refused(
    admin_client: Client, fields: dict[str, Any]
) -> None:
    make_skill("Straße")
    page = admin_client.post(reverse("admin:skills_skill_add"), form(**fields))
    assert page.status_code == 200
    assert Skill.objects.count() == 1


def test_a_skill_is_switched_in_the_list(admin_client: Client) -> None:
    skill = make_skill(body="text")
    rows = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": skill.pk, "_save": "1"}
    admin_client.post(reverse(LIST), rows)
    skill.refresh_from_db()
    assert (skill.enabled, skill.body, skill.versions.count()) == (False, "text", 1)


# How they stand


def test_the_list_tells_size_scope_and_reads(admin_client: Client, settings: Any) -> None:
    settings.ARISE_SKILL_FULL_TEXT_MAX_CHARS = 10
    skill = make_skill("long", "x" * 11, for_all_chats=False)
    skill.bots.add(make_bot(), make_bot())
    skill.chats.add(make_chat())
    for level, times in (("full", 3), ("full", 4), ("summary", 5)):
        SkillReads.objects.create(
            skill=skill, chat=make_chat(), level=level, times=times, last_at=timezone.now()
        )
    page = admin_client.get(reverse(LIST)).content.decode()
    for told in ("goes as a file", "2 bots, 1 chat", "7 / 5"):
        assert told in page
    skill.bots.clear()
    skill.chats.clear()
    assert "no chat" in admin_client.get(reverse(LIST)).content.decode()


def test_a_text_inside_the_limit_is_not_told_to_be_cut(admin_client: Client, settings: Any) -> None:
    settings.ARISE_SKILL_FULL_TEXT_MAX_CHARS = 10
    make_skill("short", "x" * 10)
    page = admin_client.get(reverse(LIST)).content.decode()
    assert "goes as a file" not in page
    assert "all chats" in page


def test_a_page_shows_the_text_where_it_was_read_and_its_files(admin_client: Client) -> None:
    skill = make_skill(body="# Rules\n\n<script>alert(1)</script>")
    chat = make_chat(title="Book club")
    SkillReads.objects.create(skill=skill, chat=chat, level="full", times=3, last_at=timezone.now())
    SkillAttachment.objects.create(skill=skill, path="a/hands.md", content=b"xy", size=2)
    page = admin_client.get(page_of(skill)).content.decode()
    assert "<h1>Rules</h1>" in page
    assert "<script>alert" not in page
    assert reverse("admin:core_chat_change", args=[chat.pk]) in page
    assert "full text: 3" in page
    assert "a/hands.md" in page
    assert page_of(skill, "versions") in page


# Versions


def test_a_version_shows_what_it_changed_and_comes_back(
    admin_client: Client, admin_user: User
) -> None:
    skill = make_skill(body="same\nold line")
    admin_client.post(page_of(skill), form(skill, body="same\nnew line"))
    url = page_of(skill, "versions")
    page = admin_client.get(url).content.decode()
    assert '<div class="removed"><bdi>old line</bdi></div>' in page
    assert '<div class="added"><bdi>new line</bdi></div>' in page
    assert "Bring version" not in page
    assert "Bring version 1 back" in admin_client.get(url, {"number": "1"}).content.decode()
    page = admin_client.post(url, {"number": "1"}, follow=True).content.decode()
    skill.refresh_from_db()
    assert skill.body == "same\nold line"
    newest = skill.versions.first()
    assert newest is not None
    assert (newest.number, newest.source, newest.made_by) == (3, "restore", admin_user)
    assert "Brought back version 1." in page


def test_looking_at_versions_changes_nothing(admin_client: Client) -> None:
    skill = make_skill(body="old")
    admin_client.post(page_of(skill), form(skill, body="new"))
    for query in ({"number": "1"}, {"number": "9"}, {"number": "x"}, {"number": "9" * 30}):
        assert admin_client.get(page_of(skill, "versions"), query).status_code == 200
    skill.refresh_from_db()
    assert skill.body == "new"


def test_a_version_that_is_not_there_does_not_come_back(admin_client: Client) -> None:
    skill, other = make_skill(), make_skill()
    for number in ("9", "x", "", "-1"):
        answer = admin_client.post(page_of(skill, "versions"), {"number": number})
        assert answer.status_code == 404
    other.delete()
    missing = reverse("admin:skills_skill_versions", args=[10**9])
    assert admin_client.get(missing).status_code == 404


# Importing


def test_an_upload_is_looked_at_and_then_imported(admin_client: Client, admin_user: User) -> None:
    make_skill("tea", "old")
    content = packed(
        [
            ("tea/SKILL.md", skill_file("tea", "new")),
            ("poker/SKILL.md", skill_file("poker")),
            ("README.md", "x"),
        ]
    )
    page = upload(admin_client, "look", content).content.decode()
    for told in ("poker", "tea", "text", "1 file is in no skill", "Nothing has been changed"):
        assert told in page
    assert Skill.objects.get().body == "old"
    page = upload(admin_client, "import", content).content.decode()
    assert "New: 1, changed: 1, unchanged: 0." in page
    assert Skill.objects.get(name="tea").body == "new"
    assert Skill.objects.get(name="poker").versions.get().made_by == admin_user
    logged = LogEntry.objects.filter(user=admin_user).values_list("object_repr", flat=True)
    assert set(logged) == {"tea", "poker"}


@pytest.mark.parametrize("button", ["look", "import"])
def test_a_hostile_upload_is_one_line_and_changes_nothing(
    admin_client: Client, button: str
) -> None:
    content = packed([("a/SKILL.md", skill_file("a")), ("../<script>alert(1)</script>", "x")])
    page = upload(admin_client, button, content).content.decode()
    assert "leads out of the folder" in page
    assert "Nothing was changed." in page
    assert "<script>alert(1)" not in page
    assert not Skill.objects.exists()


def test_an_upload_without_a_file_is_told(admin_client: Client) -> None:
    page = admin_client.post(reverse(IMPORT), {"import": "1"}).content.decode()
    assert "This field is required." in page


# Who may


@pytest.mark.parametrize("rights", [(), ("view_skill",), ("view_skill", "change_skill")])
def test_only_who_may_add_and_change_imports(client: Client, rights: tuple[str, ...]) -> None:
    client.force_login(person(*rights))
    assert client.get(reverse(IMPORT)).status_code == 403
    content = packed([("a/SKILL.md", skill_file("a"))])
    assert upload(client, "import", content).status_code == 403
    assert not Skill.objects.exists()
    if rights:
        assert reverse(IMPORT) not in client.get(reverse(LIST)).content.decode()


def test_only_who_may_change_brings_a_version_back(client: Client) -> None:
    skill = make_skill(body="old")
    skill.versions.create(number=2, description="d", body="new", source="console")
    client.force_login(person("view_skill"))
    url = page_of(skill, "versions")
    page = client.get(url, {"number": "1"})
    assert page.status_code == 200
    assert "Bring version" not in page.content.decode()
    assert client.post(url, {"number": "1"}).status_code == 403
    assert skill.versions.count() == 2


def test_versions_are_seen_by_who_may_see_skills(client: Client) -> None:
    skill = make_skill()
    client.force_login(person())
    assert client.get(page_of(skill, "versions")).status_code == 403


def test_changes_want_a_token_of_the_page(admin_user: User) -> None:
    skill = make_skill()
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    content = packed([("a/SKILL.md", skill_file("a"))])
    assert upload(client, "import", content).status_code == 403
    assert client.post(page_of(skill, "versions"), {"number": "1"}).status_code == 403
    assert Skill.objects.get() == skill


def test_strangers_are_sent_to_the_log_in(client: Client) -> None:
    for url in (reverse(IMPORT), page_of(make_skill(), "versions")):
        assert client.get(url)["Location"].startswith(reverse("admin:login"))
