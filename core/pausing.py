"""Pausing a bot or a chat by hand, and letting it go on.

While it is paused nothing leaves (the claim asks), no turn is begun and no model call is paid
(core.standing); what people say is stored as ever. What waits is held, and its patience counts from
the moment in which it may leave again.
"""

from datetime import datetime
from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Model, QuerySet

from core import audit, standing
from core.database import database_now
from core.models import Bot, Chat
from core.text import clean_text

Row = TypeVar("Row", bound=Model)
LONGEST_REASON = 200
COLUMNS = ("paused_at", "paused_by", "pause_reason")


def pause(owner: Bot | Chat, *, by: AbstractBaseUser | None = None, reason: str = "") -> bool:
    """Pause it; False where it is paused already, by whomever. `owner` is as it is then."""
    done = pause_all(_alone(owner), by=by, reason=reason)
    owner.refresh_from_db(fields=COLUMNS)
    return bool(done)


def resume(owner: Bot | Chat, *, by: AbstractBaseUser | None = None) -> bool:
    """Let it go on; False where it is not paused. `owner` is as it is then."""
    done = resume_all(_alone(owner), by=by)
    owner.refresh_from_db(fields=COLUMNS)
    return bool(done)


def pause_all(
    owners: QuerySet[Row], *, by: AbstractBaseUser | None = None, reason: str = ""
) -> list[Row]:
    """Pause bots or chats, in the same few statements however many they are; those that were not
    paused, as they were."""
    return _set(owners, is_paused=True, by=by, reason=reason_of(reason))


def resume_all(owners: QuerySet[Row], *, by: AbstractBaseUser | None = None) -> list[Row]:
    """Let bots or chats go on, in the same few statements; those that were paused, as they were."""
    return _set(owners, is_paused=False, by=by, reason="")


def reason_of(typed: str) -> str:
    """A reason as it is kept."""
    return clean_text(typed).strip()[:LONGEST_REASON]


def _alone(owner: Row) -> QuerySet[Row]:
    return type(owner)._default_manager.filter(pk=owner.pk)


def _set(
    owners: QuerySet[Row], *, is_paused: bool, by: AbstractBaseUser | None, reason: str
) -> list[Row]:
    with transaction.atomic():
        # Locked: what a step is writing now is written by then, and is held with the rest.
        # A list's rows may be grouped, and those can't be locked.
        every = owners.model._default_manager
        chosen = every.filter(pk__in=owners.order_by().values("pk"), paused_at__isnull=is_paused)
        changed: list[Row] = list(chosen.select_for_update().order_by("pk"))
        if changed:
            now = database_now() if is_paused else None
            who = by.pk if by and is_paused else None
            rows = every.filter(pk__in=[row.pk for row in changed])
            rows.update(paused_at=now, paused_by_id=who, pause_reason=reason)
            acts = [(row, _changes(row, now, reason)) for row in changed]
            audit.keep_all(acts, by=by)
            standing.hold()
    return changed


def _changes(row: Model, now: datetime | None, reason: str) -> audit.Changes:
    was = {name: getattr(row, name) for name in ("paused_at", "pause_reason")}
    is_now = {"paused_at": now, "pause_reason": reason}
    return {name: (was[name], is_now[name]) for name in was if was[name] != is_now[name]}
