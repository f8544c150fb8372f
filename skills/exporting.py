"""Skills as files, in the form that an import reads back without a change."""

import io
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import gettext as _

from skills import folders, skillfile
from skills.errors import BadImport, BadTarget
from skills.models import Skill


def to_path(path: Path) -> int:
    """Write every skill into a new (or empty) folder, or a new file that ends in `.zip`.

    Whole or not at all. Returns how many there are.
    """
    try:
        if path.suffix == ".zip":
            return _to_zip(path)
        return _to_folder(path)
    except BadImport as error:
        raise BadTarget(str(error)) from None
    except OSError as error:
        raise BadTarget(
            _("%(path)s can't be written: %(why)s.") % {"path": path, "why": error.strerror}
        ) from None


def _to_zip(path: Path) -> int:
    packed = io.BytesIO()
    names = set()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inner, content in _files():
            names.add(name)
            # A date of its own would make each export another file.
            archive.writestr(zipfile.ZipInfo(inner), content, zipfile.ZIP_DEFLATED)
    with path.open("xb") as file:
        file.write(packed.getvalue())
    return len(names)


def _to_folder(path: Path) -> int:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadTarget(_("%(path)s is there already and not an empty folder.") % {"path": path})
    path.parent.mkdir(parents=True, exist_ok=True)
    names = set()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as kept:
        made = Path(kept) / "skills"
        made.mkdir()
        for name, inner, content in _files():
            names.add(name)
            target = made / inner
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        made.replace(path)
    return len(names)


def _files() -> Iterator[tuple[str, str, bytes]]:
    """(skill, path, content) of every file."""
    for skill in Skill.objects.order_by("name").iterator():
        content = skillfile.write(skill.name, skill.description, skill.body)
        yield skill.name, folders.safe_path(f"{skill.name}/{skillfile.NAME}"), content
        for file in skill.attachments.all().iterator():
            path = folders.safe_path(f"{skill.name}/{file.path}")
            yield skill.name, path, bytes(file.content)
