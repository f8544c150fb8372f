"""What operators do with stickers: each act is one call and one transaction, done only if the sticker
is still as it has to be, so that two operators at once do no harm; who did it stays in the history.

The history names stickers by their ref: what was rejected keeps no meaning, there either.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from stickers import embeddings, library, takedown
from stickers.models import Picture, Sticker, StickerVector

State = Sticker.State
USABLE = Sticker.KEPT
# With these a sticker still has its picture.
HOLDING = (State.LEARNING, *USABLE)
BY_OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Texts:
    """What is said of a sticker: all that an operator may word anew."""

    meaning: str
    use_when: str = ""
    avoid_when: str = ""
    moods: tuple[str, ...] = ()
    words: str = ""

    @classmethod
    def of(cls, sticker: Sticker) -> "Texts":
        """What is said of it now."""
        return cls(
            meaning=sticker.meaning,
            use_when=sticker.use_when,
            avoid_when=sticker.avoid_when,
            moods=tuple(sticker.moods),
            words=sticker.words,
        )

    @property
    def digest(self) -> str:
        """A name for just these texts, by which it is told whether they are still what was seen."""
        told = json.dumps(self.columns(), ensure_ascii=True, sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    def columns(self) -> dict[str, Any]:
        """The fields of the row."""
        return asdict(self) | {"moods": list(self.moods)}


def approve(sticker: Sticker, *, by: AbstractBaseUser | None) -> bool:
    """Let a sticker be used that waits for review; whether it did, and has a meaning."""
    with transaction.atomic():
        waiting = Sticker.objects.filter(pk=sticker.pk, state=State.REVIEW).exclude(meaning="")
        done = bool(waiting.update(state=State.STORED, reason=""))
        if done:
            _keep(sticker, _("Approved."), by)
    return done


def reject(sticker: Sticker, *, by: AbstractBaseUser | None) -> bool:
    """Use a sticker no more where it is; whether it was usable.

    Its meaning goes, and where no other chat and no catalogue uses the picture, the picture too and
    what was learned of it. The row and the picture's keys stay, so that it is not learned there again.
    """
    with _alone(sticker):
        # Who takes the picture over for another chat holds this row too.
        picture = Picture.objects.select_for_update().get(pk=sticker.picture_id)
        usable = Sticker.objects.filter(pk=sticker.pk, state__in=USABLE)
        empty = Texts("").columns() | {"market_face": {}, "pinned": False}
        done = bool(usable.update(state=State.REJECTED, reason=BY_OPERATOR, **empty))
        if done:
            StickerVector.objects.filter(sticker=sticker.pk).delete()
            if not picture.stickers.filter(state__in=HOLDING).exists():
                Picture.objects.filter(pk=picture.pk).update(learned={})
            library.release_bytes([picture.pk])
            _keep(sticker, _("Rejected."), by)
    return done


def pin(sticker: Sticker, *, pinned: bool, by: AbstractBaseUser | None) -> bool:
    """Let a usable sticker never make room for another one, or again do so; whether that is new."""
    with _alone(sticker):
        others = Sticker.objects.filter(pk=sticker.pk, pinned=not pinned, state__in=USABLE)
        done = bool(others.update(pinned=pinned))
        if done:
            _keep(sticker, _("Pinned.") if pinned else _("Unpinned."), by)
    return done


def promote(sticker: Sticker, *, by: AbstractBaseUser | None, with_lines: bool = False) -> bool:
    """Move a chat's usable sticker to the catalogue, for every chat; whether it could be.

    It keeps its ref. One that waits for review is approved by this; one that the catalogue has
    already is left where it is, and so is one whose meaning was learned with lines of its chat,
    unless `with_lines` says that an operator has read it.
    """
    if not (sticker.picture.shareable or with_lines):
        return False
    try:
        with _alone(sticker):
            owned = Sticker.objects.filter(
                pk=sticker.pk, chat__isnull=False, state__in=USABLE
            ).exclude(meaning="")
            done = bool(owned.update(chat=None, state=State.STORED, reason=""))
            if done:
                StickerVector.objects.filter(sticker=sticker.pk).update(scope=embeddings.CATALOGUE)
                _keep(sticker, _("Promoted to the catalogue."), by)
    except IntegrityError:
        return False
    return done


def change_meaning(
    sticker: Sticker, texts: Texts, *, seen: str, by: AbstractBaseUser | None
) -> bool:
    """Word a usable sticker anew; whether it still said what the operator had `seen` (a digest).

    The vector of the new text is made before the transaction. Where none could be made, the old one
    is known by its digest to be stale, and is made anew in the background.
    """
    prepared = embeddings.prepare(embeddings.text_of(_worded(copy(sticker), texts)))
    with transaction.atomic():
        row = Sticker.objects.select_for_update().filter(pk=sticker.pk, state__in=USABLE).first()
        if row is None or Texts.of(row).digest != seen:
            return False
        _worded(row, texts).save(update_fields=list(texts.columns()))
        embeddings.write(row, prepared)
        _keep(sticker, _("Changed what it means."), by)
    return True


def take_down(sticker: Sticker, *, by: AbstractBaseUser | None) -> bool:
    """Remove the sticker's picture everywhere and for good (stickers.takedown); whether the sticker
    was still there."""
    with transaction.atomic():
        row = Sticker.objects.select_related("picture").filter(pk=sticker.pk).first()
        if row is None:
            return False
        if not takedown.take_down(row.picture, by=by, reason=BY_OPERATOR).stickers:
            return False
        _keep(row, _("Taken down everywhere."), by, DELETION)
    return True


def keep_added(sticker: Sticker, *, by: AbstractBaseUser | None) -> None:
    """Write into the history who brought a sticker into the catalogue (stickers.catalogue)."""
    _keep(sticker, _("Brought into the catalogue."), by, ADDITION)


@contextmanager
def _alone(sticker: Sticker) -> Iterator[None]:
    """A transaction in which nobody chooses whether the sticker makes room for another one."""
    with transaction.atomic():
        if sticker.chat_id is not None:
            library.lock_chat(sticker.chat_id)
        yield


def _worded(sticker: Sticker, texts: Texts) -> Sticker:
    for name, value in texts.columns().items():
        setattr(sticker, name, value)
    return sticker


def _keep(sticker: Sticker, what: str, by: AbstractBaseUser | None, flag: int = CHANGE) -> None:
    """Write into the history who did what; a command has no account."""
    if by is not None:
        LogEntry.objects.create(
            user_id=by.pk,
            content_type=ContentType.objects.get_for_model(Sticker),
            object_id=str(sticker.pk),
            object_repr=sticker.ref,
            action_flag=flag,
            change_message=what,
        )
