"""What an operator sets for a chat, as `KEY=VALUE`: parsed whole, then applied whole or not at all;
and what is set for all chats of a bot."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core import audit, shadow, standing
from core.capabilities import CAPABILITIES, TAGS
from core.llm import routing
from core.models import Bot, CapabilitySetting, Chat, DeliveryMode

SWITCHES = ("enabled", "sticker_learning", "sticker_context", "sticker_review")
NUMBERS = {
    "patience_seconds": Chat.patience_seconds.field,
    "daily_model_calls": Chat.daily_model_calls.field,
    "sticker_sightings": Chat.sticker_sightings.field,
    "sticker_rate": Chat.sticker_rate.field,
    "sticker_daily_calls": Chat.sticker_daily_calls.field,
    "sticker_daily_tokens": Chat.sticker_daily_tokens.field,
    "sticker_cap": Chat.sticker_cap.field,
}
NAMES: Mapping[str, tuple[str, ...]] = {
    CapabilitySetting.Target.CAPABILITY.value: CAPABILITIES,
    CapabilitySetting.Target.TAG.value: TAGS,
}
MODE = "delivery_mode"
_STATES: Mapping[str, bool | None] = {"on": True, "off": False, "inherit": None}
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)


class BadSetting(ValueError):
    """A pair that can't be applied; the text is a sentence for the operator."""


Capabilities = Mapping[tuple[str, str], bool | None]
"""(target, name) to on, off or None for inherit."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be set: fields of the chat, and its capabilities and tags."""

    fields: Mapping[str, bool | int | str]
    capabilities: Capabilities


def parse(pairs: Iterable[str]) -> Change:
    """Read pairs; the first wrong one raises BadSetting."""
    fields: dict[str, bool | int | str] = {}
    capabilities: dict[tuple[str, str], bool | None] = {}
    seen: set[str] = set()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadSetting(_("%(pair)r is not KEY=VALUE.") % {"pair": pair})
        if key in seen:
            raise BadSetting(_("%(key)s is given twice.") % {"key": key})
        seen.add(key)
        if key in SWITCHES:
            fields[key] = _switch(key, value)
        elif key in NUMBERS:
            fields[key] = _number(key, value)
        elif key == MODE:
            fields[key] = _mode(value)
        else:
            target = _target(key)
            capabilities[target] = _state(key, value)
    return Change(fields, capabilities)


def apply(chat: Chat, change: Change, *, by: AbstractBaseUser | None = None) -> None:
    """Set all of it in one transaction; a chat that is not stored yet is stored.

    Rows go through `save()` and `delete()` one by one, never through `update()`, so that the audit
    sees each flip.
    """
    columns = dict(change.fields)
    if columns.get("sticker_learning", chat.sticker_learning) != chat.sticker_learning:
        columns |= consent(by)
    with transaction.atomic():
        for name, value in columns.items():
            setattr(chat, name, value)
        if chat._state.adding:
            chat.save()
        elif columns:
            chat.save(update_fields=list(columns))
        if MODE in columns:
            mode_was_set(chat)
        set_capabilities(chat, change.capabilities, by=by)


def switch_all(
    chats: QuerySet[Chat], name: str, *, on: bool, by: AbstractBaseUser | None = None
) -> list[Chat]:
    """Set one of SWITCHES for many chats, in the same few statements however many they are; those
    that stood otherwise, as they were."""
    with transaction.atomic():
        others = chats.exclude(**{name: on}).order_by("pk")
        switched = list(others.select_for_update(of=("self",)))
        columns = {name: on} | (consent(by) if name == "sticker_learning" else {})
        Chat.objects.filter(pk__in=[chat.pk for chat in switched]).update(**columns)
        audit.keep_all([(chat, {name: (not on, on)}) for chat in switched], by=by)
    return switched


def mode_was_set(chat: Chat) -> None:
    """Have what waits in a chat follow its new delivery mode, in the transaction that saved it: the
    row is locked, so what is being written is written by then."""
    shadow.settle(chat_id=chat.pk)
    standing.hold()


def consent(by: AbstractBaseUser | None) -> dict[str, Any]:
    """The columns that tell who switched a chat's sticker learning, and when: now."""
    return {
        "sticker_learning_set_at": timezone.now(),
        "sticker_learning_set_by_id": by.pk if by else None,
    }


def why_nothing_is_learned() -> str:
    """A sentence for the operator where no model can learn stickers, however a chat is switched; else
    the empty string."""
    if routing.first_that_takes(routing.STICKER):
        return ""
    return _(
        "No new sticker is learned until a model that looks at pictures is set: ARISE_VISION_MODEL, or"
        " ARISE_CHAT_MODEL_KINDS for the model that chats."
    )


def set_capabilities(
    owner: Bot | Chat, capabilities: Capabilities, *, by: AbstractBaseUser | None = None
) -> None:
    """Set capabilities and tags of one chat, or of all chats of a bot, in one transaction."""
    set_by_id = by.pk if by else None
    rows = owner.capability_settings
    with transaction.atomic():
        for (target, name), allowed in capabilities.items():
            row = rows.filter(target=target, name=name).first()
            if allowed is None:
                if row is not None:
                    row.delete()
            elif row is None:
                rows.create(target=target, name=name, allowed=allowed, set_by_id=set_by_id)
            else:
                row.allowed, row.set_by_id = allowed, set_by_id
                row.save()


def _target(key: str) -> tuple[str, str]:
    target, dot, name = key.partition(".")
    if not dot or name not in NAMES.get(target, ()):
        raise BadSetting(_("There is no setting %(key)r.") % {"key": key})
    return target, name


def _state(key: str, value: str) -> bool | None:
    if value not in _STATES:
        raise BadSetting(
            _("%(key)s is on, off or inherit, not %(value)r.") % {"key": key, "value": value}
        )
    return _STATES[value]


def _mode(value: str) -> str:
    if value not in DeliveryMode.values:
        raise BadSetting(
            _("delivery_mode is live, review or shadow, not %(value)r.") % {"value": value}
        )
    return value


def _switch(key: str, value: str) -> bool:
    state = _STATES.get(value)
    if state is None:
        raise BadSetting(_("%(key)s is on or off, not %(value)r.") % {"key": key, "value": value})
    return state


def _number(key: str, value: str) -> int:
    if not _NUMBER.fullmatch(value):
        raise BadSetting(
            _("%(key)s is a whole number up to 2147483647, not %(value)r.")
            % {"key": key, "value": value}
        )
    number = int(value)
    try:
        # The field's own bounds, so that the console and the command agree.
        NUMBERS[key].run_validators(number)
    except ValidationError as error:
        raise BadSetting(f"{key}: {' '.join(error.messages)}") from None
    return number
