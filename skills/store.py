"""The one writer of a skill's text: each change of it becomes a version that is kept."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from skills import texts
from skills.models import Skill, SkillVersion

TEXTS = ("description", "body")


def save(
    skill: Skill,
    *,
    by: AbstractBaseUser | None = None,
    source: SkillVersion.Source = SkillVersion.Source.CONSOLE,
) -> SkillVersion | None:
    """Store a new or changed skill, and its text as a version where it is another one than before.

    Returns that version. `by` is None for a command.
    """
    with transaction.atomic():
        if not skill._state.adding:
            # Two people who save at once make two versions, one after the other.
            Skill.objects.select_for_update().filter(pk=skill.pk).first()
        skill.save()
        latest = skill.versions.order_by("-number").first()
        if latest is not None and all(getattr(latest, f) == getattr(skill, f) for f in TEXTS):
            return None
        return SkillVersion.objects.create(
            skill=skill,
            number=latest.number + 1 if latest else 1,
            description=skill.description,
            body=skill.body,
            source=source,
            made_by_id=by.pk if by else None,
        )


def twin(name: str, *, but: Skill) -> str | None:
    """The name of another skill than `but` that is the same to file systems, where there is one."""
    names = Skill.objects.exclude(pk=but.pk).values_list("name", flat=True)
    return next((other for other in names if texts.folded(other) == texts.folded(name)), None)


def restore(version: SkillVersion, *, by: AbstractBaseUser | None = None) -> SkillVersion | None:
    """Give a skill the text of one of its versions back, as a new version; None: it has it now."""
    with transaction.atomic():
        skill = Skill.objects.select_for_update().get(pk=version.skill_id)
        skill.description, skill.body = version.description, version.body
        return save(skill, by=by, source=SkillVersion.Source.RESTORE)
