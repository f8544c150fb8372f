"""What operators do with stickers: each act is one call and one transaction, done only if the sticker
is still as it has to be, so that two operators at once do no harm; who did it stays in the history.

The history names stickers by their ref: what was rejected keeps no meaning, there either.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core import audit
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
    return bool(approve_all([sticker], by=by))


def approve_all(stickers: Iterable[Sticker], *, by: AbstractBaseUser | None) -> int:
    """The same for many, in the same few statements however many they are; how many were."""
    with transaction.atomic():
        rows = _locked(stickers, Q(state=State.REVIEW) & ~Q(meaning=""))
        _of(rows).update(state=State.STORED, reason="")
        _keep_all(rows, {"state": State.STORED}, _("Approved."), by)
    return len(rows)


def reject(sticker: Sticker, *, by: AbstractBaseUser | None) -> bool:
    """Use a sticker no more where it is; whether it was usable.

    Its meaning goes, and where no other chat and no catalogue uses the picture, the picture too and
    what was learned of it. The row and the picture's keys stay, so that it is not learned there again.
    """
    return bool(reject_all([sticker], by=by))


def reject_all(stickers: Collection[Sticker], *, by: AbstractBaseUser | None) -> int:
    """The same for many; how many were usable."""
    with _alone(*stickers):
        # Who takes a picture over for another chat holds its row too.
        keys = {sticker.picture_id for sticker in stickers}
        pictures = Picture.objects.filter(pk__in=keys)
        list(pictures.select_for_update().order_by("pk").values_list("pk"))
        rows = _locked(stickers, Q(state__in=USABLE))
        empty = Texts("").columns() | {"market_face": {}, "pinned": False}
        _of(rows).update(state=State.REJECTED, reason=BY_OPERATOR, **empty)
        StickerVector.objects.filter(sticker__in=[row.pk for row in rows]).delete()
        rejected = {row.picture_id for row in rows}
        held = Sticker.objects.filter(picture__in=rejected, state__in=HOLDING)
        pictures.filter(pk__in=rejected).exclude(pk__in=held.values("picture")).update(learned={})
        library.release_bytes(rejected)
        _keep_all(rows, {"state": State.REJECTED}, _("Rejected."), by)
    return len(rows)


def pin(sticker: Sticker, *, pinned: bool, by: AbstractBaseUser | None) -> bool:
    """Let a usable sticker never make room for another one, or again do so; whether that is new."""
    return bool(pin_all([sticker], pinned=pinned, by=by))


def pin_all(stickers: Collection[Sticker], *, pinned: bool, by: AbstractBaseUser | None) -> int:
    """The same for many; of how many it is new."""
    with _alone(*stickers):
        rows = _locked(stickers, Q(pinned=not pinned, state__in=USABLE))
        _of(rows).update(pinned=pinned)
        said = _("Pinned.") if pinned else _("Unpinned.")
        _keep_all(rows, {"pinned": pinned}, said, by)
    return len(rows)


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
            owned = Q(chat__isnull=False, state__in=USABLE) & ~Q(meaning="")
            rows = _locked([sticker], owned)
            _of(rows).update(chat=None, state=State.STORED, reason="")
            for row in rows:
                StickerVector.objects.filter(sticker=row.pk).update(scope=embeddings.CATALOGUE)
                changes = {"in_catalogue": (False, True), "state": (row.state, State.STORED)}
                audit.keep(row, changes, by=by)
                _tell([row], _("Promoted to the catalogue."), by)
    except IntegrityError:
        return False
    return bool(rows)


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
        before = Texts.of(row).columns()
        _worded(row, texts).save(update_fields=list(texts.columns()))
        embeddings.write(row, prepared)
        changed = [name for name, text in texts.columns().items() if text != before[name]]
        changes = dict.fromkeys(changed, audit.CHANGED)
        audit.keep(row, changes, by=by)
        _tell([row], _("Changed what it means."), by)
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
        # The audit has each of the stickers that went with the picture (stickers.takedown).
        _tell([row], _("Taken down everywhere."), by, DELETION)
    return True


def keep_added(sticker: Sticker, *, by: AbstractBaseUser | None) -> None:
    """Write into the history who brought a sticker into the catalogue (stickers.catalogue)."""
    _tell([sticker], _("Brought into the catalogue."), by, ADDITION)


@contextmanager
def _alone(*stickers: Sticker) -> Iterator[None]:
    """A transaction in which nobody chooses whether the stickers make room for other ones."""
    with transaction.atomic():
        for chat_id in sorted({one.chat_id for one in stickers if one.chat_id is not None}):
            library.lock_chat(chat_id)
        yield


def _worded(sticker: Sticker, texts: Texts) -> Sticker:
    for name, value in texts.columns().items():
        setattr(sticker, name, value)
    return sticker


def _of(rows: Iterable[Sticker]) -> QuerySet[Sticker]:
    return Sticker.objects.filter(pk__in=[row.pk for row in rows])


def _locked(stickers: Iterable[Sticker], as_needed: Q) -> list[Sticker]:
    """The rows of those of some stickers that are as an act needs them, as they are before it."""
    rows = _of(stickers).filter(as_needed).select_related("chat").order_by("pk")
    return list(rows.select_for_update(of=("self",)))


def _keep_all(
    rows: Sequence[Sticker], now: Mapping[str, object], what: str, by: AbstractBaseUser | None
) -> None:
    """Write into the history who did what, and into the audit what each was and is `now`."""
    changes = [(row, {name: (getattr(row, name), now[name]) for name in now}) for row in rows]
    audit.keep_all(changes, by=by)
    _tell(rows, what, by)


def _tell(
    rows: Iterable[Sticker], what: str, by: AbstractBaseUser | None, flag: int = CHANGE
) -> None:
    """Write into the history who did what; a command has no account."""
    if by is None:
        return
    content_type = ContentType.objects.get_for_model(Sticker)
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=by.pk,
            content_type=content_type,
            object_id=str(row.pk),
            object_repr=row.ref,
            action_flag=flag,
            change_message=what,
        )
        for row in rows
    )
