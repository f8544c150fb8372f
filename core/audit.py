"""Acts of operators in the audit of changes: who did what to which row, from what to what.

What forms and commands set through `save()` is kept by itself (arise_site.audit). Kept here is what
an act writes otherwise: many rows at once, a compare-and-set, something that is done and not set.

No row has a word that somebody may ask to be forgotten: of what people and bots said, and of what
stickers mean, it is kept that it changed (HIDDEN). A model names its rows for the audit by
`audited_as` where `str()` of them has such words, and by `get_additional_data` their bot and chat.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from auditlog.models import LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.db.models.signals import pre_save  # noqa: TID251  (the library listens to it)

Changes = Mapping[str, tuple[object, object]]
"""By field, or by a word that core.admin.audit knows: what it was before the act, what after it."""
HIDDEN = "•••"
CHANGED = (HIDDEN, HIDDEN)
"""Of what may not be told: that it is another one now."""
CREATED, UPDATED, DELETED = LogEntry.Action.CREATE, LogEntry.Action.UPDATE, LogEntry.Action.DELETE


def keep(
    row: Model, changes: Changes, *, by: AbstractBaseUser | None, action: int = UPDATED
) -> None:
    """Keep one act; `by` is None for a command. In the transaction of the act, or it may be lost."""
    keep_all([(row, changes)], by=by, action=action)


def keep_all(
    acts: Iterable[tuple[Model, Changes]], *, by: AbstractBaseUser | None, action: int = UPDATED
) -> None:
    """Keep the same act on many rows, in one statement."""
    made = [_entry(row, changes, by, action) for row, changes in acts]
    for entry in made:
        # In bulk nothing is told that it is saved; the library writes then from where it was asked.
        pre_save.send(sender=LogEntry, instance=entry)
    LogEntry.objects.bulk_create(made)


def _entry(row: Model, changes: Changes, by: AbstractBaseUser | None, action: int) -> Any:
    told = getattr(row, "get_additional_data", None)
    return LogEntry(
        content_type=ContentType.objects.get_for_model(row),
        object_pk=str(row.pk),
        object_id=row.pk if isinstance(row.pk, int) else None,
        object_repr=getattr(row, "audited_as", None) or str(row),
        action=action,
        changes={name: [str(before), str(after)] for name, (before, after) in changes.items()},
        additional_data=told() if told is not None else None,
        actor=by,
    )
