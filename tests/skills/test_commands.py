"""`importskills` and `exportskills`."""

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from skills.models import Skill
from tests.factories import make_skill
from tests.skills.packing import folder, packed, skill_file

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> list[str]:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue().splitlines()


def test_an_import_says_what_it_changed(tmp_path: Path) -> None:
    make_skill("kept", "same")
    make_skill("tea", "old")
    files = {
        "kept/SKILL.md": skill_file("kept", "same"),
        "tea/SKILL.md": skill_file("tea", "new"),
        "tea/a.md": "x",
        "poker/SKILL.md": skill_file("poker"),
        "README.md": "x",
    }
    folder(tmp_path, files)
    told = run("importskills", tmp_path, "--dry-run")
    assert told[:-1] == [
        "unchanged  kept",
        "new        poker",
        "changed    tea: text, a.md",
    ]
    assert told[-1].startswith("Would be new: 1, changed: 1, unchanged: 1.")
    assert Skill.objects.get(name="tea").body == "old"
    told = run("importskills", tmp_path)
    assert told[-1].startswith("New: 1, changed: 1, unchanged: 1.")
    assert "no skill's folder: 1" in told[-1]
    assert Skill.objects.get(name="tea").body == "new"
    assert run("importskills", tmp_path)[-1].startswith("New: 0, changed: 0, unchanged: 3.")


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_refused_import_is_one_line_and_changes_nothing(tmp_path: Path, form: str) -> None:
    files = {"a/SKILL.md": skill_file("a"), "b/SKILL.md": "x"}
    target = folder(tmp_path / "in", files)
    if form == "zip":
        target = tmp_path / "in.zip"
        target.write_bytes(packed(files.items()))
    with pytest.raises(CommandError) as caught:
        run("importskills", target)
    assert "b/SKILL.md" in str(caught.value)
    assert "Nothing was changed." in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not Skill.objects.exists()


def test_nothing_hostile_reaches_the_terminal(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as caught:
        run("importskills", tmp_path / "\x1b[31m\nx")
    assert str(caught.value).isprintable()


def test_an_export_is_imported_without_a_change(tmp_path: Path) -> None:
    make_skill("tea"), make_skill("成语")
    assert run("exportskills", tmp_path / "out") == ["Written: 2."]
    assert (tmp_path / "out" / "成语" / "SKILL.md").is_file()
    assert run("importskills", tmp_path / "out")[-1] == "New: 0, changed: 0, unchanged: 2."


def test_an_export_of_nothing_is_told(tmp_path: Path) -> None:
    assert run("exportskills", tmp_path / "out") == ["Written: 0."]


def test_an_export_that_can_not_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for target in (tmp_path / "file", tmp_path / "file" / "in", Path("/proc/x/y.zip")):
        with pytest.raises(CommandError) as caught:
            run("exportskills", target)
        assert "\n" not in str(caught.value)
