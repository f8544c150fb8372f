"""Skills as people pack them, good and hostile: folders and zips made for tests."""

import io
import stat
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ContentOf = Mapping[str, str | bytes]


def skill_file(name: str, body: str = "Be kind.", description: str = "What to do.") -> str:
    """A SKILL.md as people write it by hand."""
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


def folder(path: Path, files: ContentOf) -> Path:
    """A folder with these files."""
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def packed(files: Iterable[tuple[str, str | bytes]], mode: int = 0) -> bytes:
    """A zip with these entries, names as they are given; `mode` is the files' Unix mode."""
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of a name that is there twice, which is what some want
        for name, content in files:
            entry = zipfile.ZipInfo("x")
            # Not through the constructor, which makes names harmless.
            entry.filename = entry.orig_filename = name
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return made.getvalue()


def link(name: str, target: str) -> bytes:
    """A zip with a good skill and a symbolic link."""
    made = io.BytesIO(packed([("good/SKILL.md", skill_file("good"))]))
    with zipfile.ZipFile(made, "a") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, target)
    return made.getvalue()
