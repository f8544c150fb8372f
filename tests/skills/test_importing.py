"""Skills from folders and zips: what is taken, what an import changes, and that it is all or nothing."""

import io
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from skills import exporting, importing, store
from skills.errors import BadImport, BadTarget
from skills.importing import Kind
from skills.models import Skill, SkillAttachment
from tests.factories import make_skill
from tests.skills.packing import folder, packed, skill_file

pytestmark = pytest.mark.django_db


def kinds(report: importing.Report) -> dict[str, str]:
    return {change.name: change.kind.value for change in report.changes}


def test_a_folder_of_skills_is_imported_with_its_other_files(tmp_path: Path) -> None:
    folder(
        tmp_path,
        {
            "poker/SKILL.md": skill_file("poker", "# Rules\nSee hands.md."),
            "poker/hands.md": "A pair.",
            "poker/tables/odds.bin": b"\xff\x00",
            "tea/SKILL.md": skill_file("tea"),
            "README.md": "belongs to none",
            ".git/config": "hidden",
        },
    )
    report = importing.from_path(tmp_path, dry_run=False)
    assert kinds(report) == {"poker": "new", "tea": "new"}
    assert report.left_out == ["README.md"]
    skill = Skill.objects.get(name="poker")
    assert (skill.description, skill.body) == ("What to do.", "# Rules\nSee hands.md.")
    assert (skill.enabled, skill.for_all_chats) == (True, True)
    kept = {file.path: bytes(file.content) for file in skill.attachments.all()}
    assert kept == {"hands.md": b"A pair.", "tables/odds.bin": b"\xff\x00"}


def test_a_zip_is_imported_as_a_folder_is(tmp_path: Path) -> None:
    files: list[tuple[str, str | bytes]] = [
        ("all/", b""),
        ("all/poker/", b""),
        ("all/poker/SKILL.md", skill_file("poker")),
        ("all/poker/hands.md", "A pair."),
        ("__MACOSX/all/poker/._SKILL.md", b"\x00"),
    ]
    (tmp_path / "skills.zip").write_bytes(packed(files))
    assert kinds(importing.from_path(tmp_path / "skills.zip", dry_run=False)) == {"poker": "new"}
    assert SkillAttachment.objects.get().path == "hands.md"


def test_the_folder_of_one_skill_is_imported_by_itself(tmp_path: Path) -> None:
    folder(tmp_path, {"SKILL.md": skill_file("tea"), "deep/SKILL.md": "not a skill of its own"})
    assert kinds(importing.from_path(tmp_path, dry_run=False)) == {"tea": "new"}
    assert SkillAttachment.objects.get().path == "deep/SKILL.md"


def test_a_mark_of_byte_order_and_windows_lines_are_no_part_of_the_text(tmp_path: Path) -> None:
    text = "\ufeff" + skill_file("tea", "a\nb").replace("\n", "\r\n")
    importing.from_path(folder(tmp_path, {"tea/SKILL.md": text}), dry_run=False)
    assert Skill.objects.get().body == "a\nb"


def test_values_are_what_they_look_like(tmp_path: Path) -> None:
    text = skill_file("2048", description="yes")
    importing.from_path(folder(tmp_path, {"a/SKILL.md": text}), dry_run=False)
    assert (Skill.objects.get().name, Skill.objects.get().description) == ("2048", "yes")


def test_a_dry_run_tells_what_would_change_and_changes_nothing(tmp_path: Path) -> None:
    make_skill("kept", "same")
    changed = make_skill("changed", "old", description="old")
    SkillAttachment.objects.create(skill=changed, path="gone.md", content=b"x", size=1)
    folder(
        tmp_path,
        {
            "kept/SKILL.md": skill_file("kept", "same"),
            "changed/SKILL.md": skill_file("changed", "new", "new"),
            "changed/added.md": "x",
            "fresh/SKILL.md": skill_file("fresh"),
        },
    )
    report = importing.from_path(tmp_path, dry_run=True)
    assert kinds(report) == {"changed": "changed", "fresh": "new", "kept": "unchanged"}
    assert list(report.changes[0].parts) == ["description", "text", "added.md", "gone.md"]
    assert Skill.objects.count() == 2
    changed.refresh_from_db()
    assert (changed.body, changed.attachments.count()) == ("old", 1)


def test_an_import_keeps_the_old_text_and_who_changed_it(tmp_path: Path) -> None:
    skill = make_skill("tea", "old", enabled=False, for_all_chats=False)
    ann = User.objects.create(username="ann")
    folder(tmp_path, {"tea/SKILL.md": skill_file("tea", "new"), "tea/a.md": "x"})
    importing.from_path(tmp_path, dry_run=False, by=ann)
    skill.refresh_from_db()
    assert (skill.body, skill.enabled, skill.for_all_chats) == ("new", False, False)
    told = [(v.number, v.body, v.source, v.made_by) for v in skill.versions.all()]
    assert told == [(2, "new", "import", ann), (1, "old", "console", None)]


def test_a_changed_file_alone_makes_no_version(tmp_path: Path) -> None:
    files = {"tea/SKILL.md": skill_file("tea"), "tea/a.md": "x"}
    importing.from_path(folder(tmp_path, files), dry_run=False)
    report = importing.from_path(folder(tmp_path, {"tea/a.md": "y"}), dry_run=False)
    assert report.changes[0].parts == ["a.md"]
    assert bytes(SkillAttachment.objects.get().content) == b"y"
    assert Skill.objects.get().versions.count() == 1


def test_what_is_stored_and_not_imported_stays(tmp_path: Path) -> None:
    make_skill("kept")
    importing.from_path(folder(tmp_path, {"tea/SKILL.md": skill_file("tea")}), dry_run=False)
    assert set(Skill.objects.values_list("name", flat=True)) == {"kept", "tea"}


@pytest.mark.parametrize("target", ["out", "out.zip"])
def test_importing_an_export_changes_nothing(tmp_path: Path, target: str) -> None:
    bodies = ["# 规则\n第一条\n", "---\nname: x\n---", "  indented", "a: [b\n\ttab", "<b>&amp;</b>"]
    for number, body in enumerate(bodies):
        make_skill(
            f"技能 {number}", body.strip("\n"), description=f"{body.split()[0]}: 'yes' # {number}"
        )
    make_skill("2048", description="no")
    make_skill("bell", description="a\x07b")
    skill = make_skill("off", enabled=False)
    SkillAttachment.objects.create(skill=skill, path="a/b.bin", content=b"\xff\x00", size=2)
    before = list(Skill.objects.values())
    assert exporting.to_path(tmp_path / target) == 8
    report = importing.from_path(tmp_path / target, dry_run=False)
    assert report.count(Kind.UNCHANGED) == 8 == len(report.changes)
    assert list(Skill.objects.values()) == before


def test_two_exports_are_the_same_file(tmp_path: Path) -> None:
    make_skill("tea")
    exporting.to_path(tmp_path / "a.zip")
    exporting.to_path(tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_an_export_overwrites_nothing(tmp_path: Path) -> None:
    make_skill("tea")
    (tmp_path / "there.zip").write_text("mine")
    folder(tmp_path, {"there/mine.txt": "mine"})
    for name, why in (
        ("there.zip", "File exists"),
        ("there", "is there already"),
        ("there.zip/in", "can.t be written"),
        ("there/mine.txt", "is there already"),
    ):
        with pytest.raises(BadTarget, match=why):
            exporting.to_path(tmp_path / name)
    assert (tmp_path / "there.zip").read_text() == "mine"
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["mine.txt"]


def test_an_export_never_leaves_its_folder(tmp_path: Path) -> None:
    # Names are checked where they are given; one may be older than the check.
    skill = make_skill("tea")
    Skill.objects.filter(pk=skill.pk).update(name="../../tea")
    with pytest.raises(BadTarget):
        exporting.to_path(tmp_path / "a" / "b")
    assert list(tmp_path.rglob("*.md")) == []


def test_a_skill_that_can_not_be_stored_takes_the_whole_import_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path, {f"{n}/SKILL.md": skill_file(n) for n in ("a", "b")})
    save = store.save

    def fail(skill: Skill, **given: object) -> object:
        if skill.name == "b":
            raise RuntimeError("the disk is full")
        return save(skill)

    monkeypatch.setattr(store, "save", fail)
    with pytest.raises(RuntimeError):
        importing.from_path(tmp_path, dry_run=False)
    assert not Skill.objects.exists()


def test_an_upload_is_read_by_the_same_function() -> None:
    file = io.BytesIO(packed([("tea/SKILL.md", skill_file("tea"))]))
    assert kinds(importing.from_upload(file, dry_run=False)) == {"tea": "new"}


def test_a_name_that_differs_from_a_stored_one_in_letters_is_refused(tmp_path: Path) -> None:
    make_skill("Tea")
    with pytest.raises(BadImport, match="Tea"):
        importing.from_path(folder(tmp_path, {"a/SKILL.md": skill_file("tea")}), dry_run=False)
    assert Skill.objects.get().name == "Tea"
