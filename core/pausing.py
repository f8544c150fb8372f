"""Pausing a bot or a chat by hand, and letting it go on.

While it is paused nothing leaves (the claim asks), no turn is begun and no model call is paid
(core.standing); what people say is stored as ever. What waits is held, and its patience counts from
the moment in which it may leave again.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from core import standing
from core.database import database_now
from core.models import Bot, Chat

LONGEST_REASON = 200
COLUMNS = ("paused_at", "paused_by", "pause_reason")


def pause(owner: Bot | Chat, *, by: AbstractBaseUser | None = None, reason: str = "") -> bool:
    """Pause it; False where it is paused already, by whomever. `owner` is as it is then."""
    return _set(owner, is_paused=True, by=by, reason=reason)


def resume(owner: Bot | Chat) -> bool:
    """Let it go on; False where it is not paused. `owner` is as it is then."""
    return _set(owner, is_paused=False, by=None, reason="")


def _set(owner: Bot | Chat, *, is_paused: bool, by: AbstractBaseUser | None, reason: str) -> bool:
    with transaction.atomic():
        # Locked: what a step is writing now is written by then, and is held with the rest.
        type(owner)._default_manager.select_for_update().get(pk=owner.pk)
        owner.refresh_from_db(fields=COLUMNS)
        if (owner.paused_at is not None) == is_paused:
            return False
        owner.paused_at = database_now() if is_paused else None
        owner.paused_by_id = by.pk if by else None
        owner.pause_reason = reason.strip()[:LONGEST_REASON]
        owner.save(update_fields=COLUMNS)
        standing.hold()
    return True
