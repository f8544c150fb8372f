"""What is kept of operators' changes: who, when, from what, to what (django-auditlog).

Kept are columns that people set, never those that workers move. Rows that are written with `update()`
or in bulk leave nothing here: what acts write so is kept by themselves (core.audit).
"""

from collections.abc import Iterable
from typing import Any

from auditlog.receivers import log_update
from auditlog.registry import auditlog
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.db.models.signals import pre_save  # noqa: TID251  (the library's own is replaced)
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.audit import HIDDEN
from core.models import Bot, CapabilitySetting, Chat, PersonLimit
from skills.models import Skill

_UNTOLD = ("token_hash", "password", "body")
"""Secrets; and the text of a skill, which has versions of its own."""
_PAUSE = ["paused_at", "pause_reason"]
_kept: dict[type[Model], frozenset[str]] = {}


def load() -> None:
    """Have changes of these kept; once, when the site starts."""
    if _kept:
        return
    auditlog._signals[pre_save] = _changed
    told = {"bot", "kind", "external_id", "title"}  # by the platform, not by a person
    _keep(Chat, [name for name in _set_by_people(Chat) if name not in told] + _PAUSE)
    _keep(Bot, [*_set_by_people(Bot), *_PAUSE, "token_hash"])
    _keep(CapabilitySetting, ["allowed"])
    _keep(Skill, ["name", "description", "body", "enabled", "for_all_chats"], ["bots", "chats"])
    rights = ["username", "is_active", "is_staff", "is_superuser", "password"]
    _keep(User, rights, ["groups", "user_permissions"])
    _keep(Group, ["name"], ["permissions"])
    _keep(TOTPDevice, ["confirmed"])
    _keep(PersonLimit, ["person"], ["bots", "chats"])


def hidden(value: str) -> str:
    """What stands in the audit for what is not told: that it changed, and nothing of it."""
    return HIDDEN


def _set_by_people(model: type[Model]) -> list[str]:
    """The columns that forms may change: what workers move is not editable."""
    return [field.name for field in model._meta.concrete_fields if field.editable]


def _keep(model: type[Model], columns: Iterable[str], many: Iterable[str] = ()) -> None:
    _kept[model] = frozenset(columns)
    auditlog.register(
        model,
        include_fields=list(columns),
        m2m_fields=set(many),
        mask_fields=[name for name in columns if name in _UNTOLD],
        mask_callable=f"{__name__}.{hidden.__name__}",
    )


def _changed(
    sender: type[Model], instance: Model, update_fields: Iterable[str] | None = None, **kwargs: Any
) -> None:
    """The library reads the old row before each save. Workers save a chat many times in a turn, always
    naming their columns: those cost nothing here."""
    if update_fields is not None and _kept[sender].isdisjoint(update_fields):
        return
    log_update(sender, instance, update_fields=update_fields, **kwargs)
