"""Imports that mean harm, or are a mess: one line that says why, and nothing changed."""

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skills import folders, importing, skillfile
from skills.errors import BadImport
from skills.models import Skill
from tests.factories import make_skill
from tests.skills.packing import folder, link, packed, skill_file

GOOD = ("good/SKILL.md", skill_file("good"))
OBJECTS = "---\nname: x\ndescription: !!python/object/apply:os.system ['touch owned']\n---\ntext\n"
LAUGHS = "---\nname: x\ndescription: y\na: &a [x]\nb: &b [*a, *a]\n---\ntext\n"
MERGES = "---\nname: x\na: &a {description: y}\nb: {<<: *a}\n---\ntext\n"


def zeros(count: int) -> bytes:
    """A zip with a file of `count` MiB of zeros, made a piece at a time."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("good/zeros", "w", force_zip64=True) as file,
    ):
        for _ in range(count):
            file.write(bytes(1024 * 1024))
    return made.getvalue()


def lying(size: int) -> bytes:
    """The same for a zip whose headers say that the file has `size` bytes."""
    content = bytearray(packed([("good/SKILL.md", bytes(2 * 1024 * 1024))]))
    for sign, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(sign) + offset, size)
    return bytes(content)


def encrypted() -> bytes:
    content = bytearray(packed([GOOD]))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def by_lzma() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(*GOOD)
    return made.getvalue()


ZIPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "dots": (lambda: packed([GOOD, ("../evil.md", "x")]), "leads out"),
    "inner dots": (lambda: packed([GOOD, ("good/../../evil.md", "x")]), "leads out"),
    "absolute": (lambda: packed([GOOD, ("/etc/evil.md", "x")]), "leads out"),
    "drive": (lambda: packed([GOOD, ("C:/evil.md", "x")]), "leads out"),
    "backslashes": (lambda: packed([GOOD, ("good\\..\\evil.md", "x")]), "leads out"),
    "nul in a name": (lambda: packed([GOOD, ("good/a\0.md", "x")]), "no path"),
    "escape in a name": (lambda: packed([GOOD, ("good/\x1b[31m.md", "x")]), "no path"),
    "long name": (lambda: packed([GOOD, ("good/" + "x" * 300, "x")]), "path"),
    "deep": (lambda: packed([GOOD, ("good/" + "x/" * 20 + "x", "x")]), "no path"),
    "link": (lambda: link("good/passwd", "/etc/passwd"), "is a link"),
    "linked folder": (lambda: link("other", ".."), "is a link"),
    "device": (lambda: packed([("good/SKILL.md", "x")], stat.S_IFCHR | 0o600), "is a link or no"),
    "ten thousand files": (
        lambda: packed([GOOD, *((f"good/{n}", "") for n in range(10_000))]),
        "more than 5000 files",
    ),
    "a list that is not unfolded": (lambda: b"PK\x01\x02" * 5001, "more than 5000 files"),
    "a gigabyte of zeros": (lambda: zeros(1024), "larger than 1 MiB"),
    "many files of zeros": (
        lambda: packed([GOOD, *((f"good/{n}", bytes(1024 * 1024)) for n in range(65))]),
        "larger than 64 MiB together",
    ),
    "a header that says less": (lambda: lying(10), "no sound zip"),
    "a header that says more": (lambda: lying(2**32 - 2), "larger than 1 MiB"),
    "encrypted": (encrypted, "is encrypted"),
    "lzma": (by_lzma, "method other than deflate"),
    "cut off": (lambda: packed([GOOD])[:-30], "no sound zip"),
    "no zip": (lambda: b"PK\x03\x04" + bytes(100), "no sound zip"),
    "empty": (lambda: b"", "no sound zip"),
    "empty zip": (lambda: packed([]), "no NAME/SKILL.md"),
    "one file twice": (lambda: packed([GOOD, GOOD]), "there twice"),
    "one file in two cases": (
        lambda: packed([GOOD, ("good/a.md", "x"), ("good/A.md", "x")]),
        "there twice",
    ),
    "large": (lambda: bytes(folders.LARGEST_ZIP + 1), "larger than 32 MiB"),
}  # fmt: skip

FILES: dict[str, tuple[dict[str, str | bytes], str]] = {
    "invalid utf-8": ({"a/SKILL.md": b"---\nname: a\ndescription: \xff\n---\nx"}, "not UTF-8"),
    "utf-16": ({"a/SKILL.md": skill_file("a").encode("utf-16")}, "not UTF-8"),
    "nul": ({"a/SKILL.md": skill_file("a", "x\0y")}, "NUL"),
    "a megabyte and a byte": ({"a/SKILL.md": "x" * (1024 * 1024 + 1)}, "larger than 1 MiB"),
    "two folders of one name": (
        {"a/SKILL.md": skill_file("x"), "b/SKILL.md": skill_file("x")},
        "second skill of the name",
    ),
    "two names that fold to one": (
        {"a/SKILL.md": skill_file("STRASSE"), "b/SKILL.md": skill_file("Straße")},
        "second skill of the name",
    ),
    "objects": ({"a/SKILL.md": OBJECTS}, "front matter is not taken"),
    "anchors": ({"a/SKILL.md": LAUGHS}, "front matter is not taken"),
    "merged anchors": ({"a/SKILL.md": MERGES}, "front matter is not taken"),
    "deep yaml": ({"a/SKILL.md": f"---\nname: {'[' * 5000}\n---\nx"}, "front matter is not taken"),
    "broken yaml": ({"a/SKILL.md": "---\nname: [a\n---\nx"}, "front matter is not taken"),
    "long front matter": (
        {"a/SKILL.md": f"---\nname: a\n#{'x' * 20_000}\n---\nx"},
        "front matter is too long",
    ),
    "no front matter": ({"a/SKILL.md": "# A\nname: a"}, "does not begin with front matter"),
    "open front matter": ({"a/SKILL.md": "---\nname: a\n"}, "does not begin with front matter"),
    "a list": ({"a/SKILL.md": "---\n- name\n---\nx"}, "no text as name"),
    "no name": ({"a/SKILL.md": "---\ndescription: a\n---\nx"}, "no text as name"),
    "a name that is a list": (
        {"a/SKILL.md": "---\nname: [a]\ndescription: b\n---\nx"},
        "no text as name",
    ),
    "no description": ({"a/SKILL.md": "---\nname: a\n---\nx"}, "no text as description"),
    "no text": ({"a/SKILL.md": skill_file("a", " \n")}, "has no text"),
    "a name that leads out": ({"a/SKILL.md": skill_file("../a")}, "control characters"),
    "a long name": ({"a/SKILL.md": skill_file("a" * 65)}, "at most 64 characters"),
    "a long description": (
        {"a/SKILL.md": skill_file("a", description="x" * 1025)},
        "a description 1024",
    ),
    "none": ({"a/readme.md": "x"}, "no NAME/SKILL.md"),
    "too many files": (
        {"a/SKILL.md": skill_file("a"), **{f"a/{n}": "" for n in range(5001)}},
        "more than 5000 files",
    ),
}  # fmt: skip


def refusal(path: Path) -> str:
    """Why it is refused: one line, after which all is as it was."""
    make_skill("kept", "old")
    before = list(Skill.objects.values())
    with pytest.raises(BadImport) as caught:
        importing.from_path(path, dry_run=False)
    assert list(Skill.objects.values()) == before
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    return str(caught.value)


@pytest.mark.django_db
@pytest.mark.parametrize("name", list(ZIPS))
def test_a_hostile_zip_is_refused_whole(tmp_path: Path, name: str) -> None:
    make, why = ZIPS[name]
    path = tmp_path / "skills.zip"
    path.write_bytes(make())
    assert why in refusal(path)
    assert [found.name for found in tmp_path.rglob("*")] == ["skills.zip"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", list(FILES))
def test_a_hostile_folder_is_refused_whole(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, why = FILES[name]
    monkeypatch.chdir(tmp_path)
    folder(tmp_path, {"0/SKILL.md": skill_file("first"), **files} if name != "none" else files)
    assert why in refusal(tmp_path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["file", "folder", "broken", "pipe"])
def test_links_and_pipes_in_a_folder_are_refused(tmp_path: Path, name: str) -> None:
    inside = folder(tmp_path / "skills", {"a/SKILL.md": skill_file("a")})
    secret = folder(tmp_path / "outside", {"secret": "x"})
    odd = inside / "a" / "odd"
    targets = {"file": secret / "secret", "folder": secret, "broken": secret / "none"}
    if name == "pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to(targets[name])
    assert "is a link or no file" in refusal(inside)


@pytest.mark.django_db
def test_places_that_are_no_import_are_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (tmp_path / "none", "There is nothing at"),
        (tmp_path / "pipe", "neither a folder nor a zip"),
        (Path("/dev/zero"), "neither a folder nor a zip"),
    ):
        Skill.objects.all().delete()
        assert why in refusal(path)


SOUND = packed([GOOD, ("good/a.md", b"x" * 100)])


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.integers(0, 255)), max_size=6))
def test_no_damaged_zip_is_more_than_a_refusal(damage: list[tuple[int, int]]) -> None:
    content = bytearray(SOUND)
    for place, value in damage:
        content[place] = value
    with suppress(BadImport):
        importing.load(folders.read_zip(io.BytesIO(bytes(content))))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="-:&*!<>[]{}'\"|>%@`,#? \n\tnamedescription\0é\x1b", max_size=80))
def test_no_front_matter_is_more_than_a_refusal(text: str) -> None:
    for content in (f"---\n{text}\n---\nx", f"---\nname: a\ndescription: {text}\n---\nx"):
        with suppress(BadImport):
            name, description, _ = skillfile.parse(content.encode(), "a/SKILL.md")
            assert "\n" not in name + description
