"""The acts as the console offers them: one sticker's buttons, and the same for many at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, ngettext_lazy

from core.admin import switches
from stickers import acts
from stickers.models import Sticker

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

CHANGE, CATALOGUE, TAKE_DOWN = "change", "catalogue", "take_down"
_CHUNK = 200
"""Stickers of one transaction: each holds the locks of its chats and pictures."""


@dataclass(frozen=True, slots=True)
class Act:
    """One act: `do` takes a sticker and `by`, `do_all` many of them and gives how many were done, in
    few statements; `fits` says whether its button is shown."""

    name: str
    label: "str | _StrPromise"
    told: "str | _StrPromise"
    do: Callable[..., bool]
    fits: Callable[[Sticker], bool]
    permission: str = CHANGE
    do_all: Callable[..., int] | None = None


def _is_usable(sticker: Sticker) -> bool:
    return sticker.state in acts.USABLE


def _waits(sticker: Sticker) -> bool:
    return sticker.state == acts.State.REVIEW and bool(sticker.meaning)


ACTS: Mapping[str, Act] = {
    act.name: act
    for act in (
        Act(
            "approve",
            _("Approve"),
            ngettext_lazy(
                "%(count)d sticker was approved.", "%(count)d stickers were approved.", "count"
            ),
            acts.approve,
            _waits,
            do_all=acts.approve_all,
        ),
        Act(
            "pin",
            _("Pin"),
            ngettext_lazy(
                "%(count)d sticker was pinned.", "%(count)d stickers were pinned.", "count"
            ),
            partial(acts.pin, pinned=True),
            lambda sticker: _is_usable(sticker) and not sticker.pinned,
            do_all=partial(acts.pin_all, pinned=True),
        ),
        Act(
            "unpin",
            _("Unpin"),
            ngettext_lazy(
                "%(count)d sticker was unpinned.", "%(count)d stickers were unpinned.", "count"
            ),
            partial(acts.pin, pinned=False),
            lambda sticker: _is_usable(sticker) and sticker.pinned,
            do_all=partial(acts.pin_all, pinned=False),
        ),
        Act(
            "promote",
            _("Promote to the catalogue"),
            ngettext_lazy(
                "%(count)d sticker is now in the catalogue.",
                "%(count)d stickers are now in the catalogue.",
                "count",
            ),
            acts.promote,
            lambda sticker: (
                _is_usable(sticker) and sticker.chat_id is not None and bool(sticker.meaning)
            ),
            CATALOGUE,
        ),
        Act(
            "reject",
            _("Reject"),
            ngettext_lazy(
                "%(count)d sticker was rejected.", "%(count)d stickers were rejected.", "count"
            ),
            acts.reject,
            _is_usable,
            do_all=acts.reject_all,
        ),
        Act(
            "take_down",
            _("Take down everywhere"),
            ngettext_lazy(
                "%(count)d sticker was taken down everywhere.",
                "%(count)d stickers were taken down everywhere.",
                "count",
            ),
            acts.take_down,
            lambda sticker: True,
            TAKE_DOWN,
        ),
    )
}


def fitting(sticker: Sticker, permissions: Iterable[str]) -> list[Act]:
    """The acts that a sticker as it stands allows to who has these permissions."""
    allowed = set(permissions)
    return [act for act in ACTS.values() if act.permission in allowed and act.fits(sticker)]


def perform(request: HttpRequest, act: Act, stickers: Sequence[Sticker], **more: bool) -> None:
    """Do an act with each sticker, and tell how many were done and how many were not."""
    by: AbstractBaseUser | None = switches.person(request)
    if act.do_all is not None:
        chunks = [stickers[start : start + _CHUNK] for start in range(0, len(stickers), _CHUNK)]
        done = sum(act.do_all(chunk, by=by, **more) for chunk in chunks)
    else:
        done = sum(act.do(sticker, by=by, **more) for sticker in stickers)
    parts = [str(act.told % {"count": done})] if done or not stickers else []
    if left := len(stickers) - done:
        told = ngettext(
            "%(count)d was left as it is: it has changed meanwhile, or is nothing for this.",
            "%(count)d were left as they are: they have changed meanwhile, or are nothing for this.",
            left,
        )
        parts.append(told % {"count": left})
    tell = messages.success if done else messages.warning
    tell(request, " ".join(parts))
