"""Skills from files: what a folder or a zip would change, and the change, all of it or nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from core import audit
from skills import folders, skillfile, store, texts
from skills.errors import BadImport
from skills.folders import Files
from skills.models import Skill, SkillAttachment, SkillVersion

# Any number that nothing else locks: imports go one after the other.
_LOCK = 0x736B696C6C73


class Kind(StrEnum):
    """What an import makes of one skill."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"

    @property
    def label(self) -> str:
        """The word for a person."""
        match self:
            case Kind.NEW:
                return pgettext("skill", "new")
            case Kind.CHANGED:
                return pgettext("skill", "changed")
            case Kind.UNCHANGED:
                return pgettext("skill", "unchanged")


@dataclass(frozen=True, slots=True)
class Loaded:
    """One skill as its files have it."""

    name: str
    description: str
    body: str
    attachments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one skill: `parts` names what differs (`description`, `text`, file paths)."""

    name: str
    kind: Kind
    parts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What an import changed, or would change; `left_out` files belong to no skill."""

    changes: Sequence[Change]
    left_out: Sequence[str]

    def count(self, kind: Kind) -> int:
        return sum(change.kind == kind for change in self.changes)


def from_path(path: Path, *, dry_run: bool, by: AbstractBaseUser | None = None) -> Report:
    """Import a folder or a zip; BadImport says in one sentence why nothing was changed."""
    return _from_files(folders.read(path), dry_run=dry_run, by=by)


def from_upload(file: IO[bytes], *, dry_run: bool, by: AbstractBaseUser | None = None) -> Report:
    """The same for a zip that is open already."""
    return _from_files(folders.read_zip(file), dry_run=dry_run, by=by)


def _from_files(files: Files, *, dry_run: bool, by: AbstractBaseUser | None) -> Report:
    loaded, left_out = load(files)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        known = _known(loaded)
        changes = [_change(skill, known.get(skill.name)) for skill in loaded]
        if not dry_run:
            for skill, change in zip(loaded, changes, strict=True):
                if change.kind != Kind.UNCHANGED:
                    _write(skill, known.get(skill.name), by)
    return Report(changes, left_out)


def load(files: Files) -> tuple[list[Loaded], list[str]]:
    """The skills among files, by name, and the paths that belong to none.

    A skill is the outermost folder that holds a SKILL.md; its name is what the file says.
    """
    roots = _roots(files)
    if not roots:
        raise BadImport(_("There is no NAME/SKILL.md in it."))
    attachments: dict[str, dict[str, bytes]] = {root: {} for root in roots}
    left_out = []
    for path, content in files.items():
        root = next((root for root in roots if path.startswith(root)), None)
        if root is None:
            left_out.append(path)
        elif path != root + skillfile.NAME:
            inner = path.removeprefix(root)
            if len(inner) > texts.LONGEST_PATH:
                raise BadImport(_("%(path)r is too long a path.") % {"path": inner[:80]})
            attachments[root][inner] = content
    loaded: dict[str, Loaded] = {}
    for root in roots:
        path = root + skillfile.NAME
        name, description, body = skillfile.parse(files[path], path)
        if texts.folded(name) in loaded:
            raise BadImport(
                _("%(path)r: there is a second skill of the name %(name)r, as file systems see it.")
                % {"path": path, "name": name}
            )
        loaded[texts.folded(name)] = Loaded(name, description, body, attachments[root])
    return sorted(loaded.values(), key=lambda skill: skill.name), left_out


def _roots(files: Iterable[str]) -> list[str]:
    """The folders of skills, each with its slash (empty where the whole is one skill)."""
    found = sorted(
        path.removesuffix(skillfile.NAME)
        for path in files
        if path.rpartition("/")[2] == skillfile.NAME
    )
    roots: list[str] = []
    for folder in found:
        if not any(folder.startswith(root) for root in roots):
            roots.append(folder)
    return roots


def _known(loaded: Sequence[Loaded]) -> dict[str, Skill]:
    """The stored skills of these names; one that differs in letters only is a BadImport."""
    names = {texts.folded(skill.name): skill.name for skill in loaded}
    for stored in Skill.objects.values_list("name", flat=True):
        wanted = names.get(texts.folded(stored), stored)
        if wanted != stored:
            raise BadImport(
                _("%(name)r is there already as %(stored)r.") % {"name": wanted, "stored": stored}
            )
    skills = Skill.objects.filter(name__in=names.values()).select_for_update()
    return {skill.name: skill for skill in skills}


def _change(skill: Loaded, stored: Skill | None) -> Change:
    if stored is None:
        return Change(skill.name, Kind.NEW, sorted(skill.attachments))
    parts = []
    if stored.description != skill.description:
        parts.append(_("description"))
    if stored.body != skill.body:
        parts.append(_("text"))
    kept = {file.path: bytes(file.content) for file in stored.attachments.all()}
    paths = kept.keys() | skill.attachments.keys()
    parts += sorted(path for path in paths if kept.get(path) != skill.attachments.get(path))
    return Change(skill.name, Kind.CHANGED if parts else Kind.UNCHANGED, parts)


def _write(loaded: Loaded, stored: Skill | None, by: AbstractBaseUser | None) -> None:
    skill = stored or Skill(name=loaded.name)
    skill.description, skill.body = loaded.description, loaded.body
    store.save(skill, by=by, source=SkillVersion.Source.IMPORT)
    before = {file.path: bytes(file.content) for file in skill.attachments.all()}
    if stored is not None and before != loaded.attachments:
        # Names of files are as telling as their text, so that their number stands for them.
        counts = (len(before), len(loaded.attachments))
        audit.keep(skill, {"attachments": counts}, by=by)
    skill.attachments.all().delete()
    SkillAttachment.objects.bulk_create(
        SkillAttachment(skill=skill, path=path, content=content, size=len(content))
        for path, content in loaded.attachments.items()
    )
