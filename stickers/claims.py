"""The claim on a picture: whoever writes its row first pays for it, and nobody else ever does.

Two rows can't have one key, but no key catches two pictures that merely look the same. So whoever
has met something new takes one lock over all pictures, looks again, and writes the picture, its
keys, its look and the reserved model calls in that same transaction, before the call.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from core import budgets
from core.database import database_now, lock
from core.models import Chat
from stickers import fingerprints, funnel
from stickers.fingerprints import Look
from stickers.models import Fingerprint, OpenSighting, Picture, PictureKey, Sticker

LOCK = "stickers.pictures"
_SLACK = timedelta(seconds=90)
Verdict = Picture.Verdict
REJECTED = (
    Verdict.SENSITIVE,
    Verdict.VETOED,
    Verdict.FAILED,
    Verdict.LOST,
    Verdict.REMOVED,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a picture is known by: `proved` keys hold everywhere, the `name` that somebody's side
    gave it and nothing proves holds in the chat where it was given. `file_id` is the stable id as
    it was seen, or that of the bytes where there was none."""

    sha256: str
    proved: tuple[str, ...]
    name: str
    file_id: str
    look: Look


def identity(content: bytes, stable_id: str, samples: Sequence[bytes]) -> Identity:
    """Who a picture is, by its bytes, its samples and the stable id of its part (or nothing)."""
    sha256 = hashlib.sha256(content).hexdigest()
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    proved = [f"sha256:{sha256}", f"md5:{md5}"]
    if stable_id.startswith("mface:"):
        proved.append(stable_id)
    name = "" if stable_id in proved else stable_id
    look = fingerprints.look_of(samples)
    return Identity(sha256, tuple(proved), name, stable_id or f"md5:{md5}", look)


def by_keys(keys: Iterable[str], chat: Chat) -> dict[str, Picture]:
    """The pictures known by names, as they count in a chat."""
    counting = Q(chat=None) | Q(chat=chat)
    rows = PictureKey.objects.filter(counting, key__in=set(keys)).select_related("picture")
    return {row.key: row.picture for row in rows.order_by("-chat_id", "-pk")}


def find(who: Identity) -> Picture | None:
    """The picture that this is, whatever its verdict; by what is surest first. A name that nothing
    proves does not count: whoever gives names could give one to anything."""
    rows = PictureKey.objects.filter(chat=None, key__in=who.proved).select_related("picture")
    known = {row.key: row.picture for row in rows}
    for key in who.proved:
        if key in known:
            return known[key]
    pk = fingerprints.find(who.look)
    return None if pk is None else Picture.objects.filter(pk=pk).first()


def remember(picture: Picture, who: Identity, chat: Chat | None) -> None:
    """Keep by which further names a known picture goes, so that it is not fetched again for them; not
    where it looks otherwise: the id of a market face is told with the message, and whoever forges
    one must not have other bytes taken for its picture."""
    with transaction.atomic():
        # Held, since it may be forgotten at this moment.
        known = Fingerprint.objects.select_for_update().filter(picture=picture).first()
        if known is None:
            return
        look = Look(tuple(known.hashes), bytes(known.blocks))
        if fingerprints.same(look, who.look):
            PictureKey.objects.bulk_create(_keys(picture, who, chat), ignore_conflicts=True)


@dataclass(frozen=True, slots=True)
class Claim:
    """A picture claimed just now (`is_new`), or the one that is known already, or why neither."""

    picture: Picture | None
    sticker: Sticker | None = None
    is_new: bool = False
    refused: str = ""


def claim(who: Identity, chat: Chat, *, calls: int, model: str, shareable: bool) -> Claim:
    """Claim a picture for a chat, unless somebody has already; all or nothing.

    Reserves the model calls in the same transaction; `refused` is the reason that
    core.budgets.reserve gives. The chat's own sticker is `learning` from here on.
    """
    with transaction.atomic():
        lock(LOCK)
        if known := find(who):
            remember(known, who, chat)
            return Claim(known)
        now = database_now()
        if refused := budgets.reserve(chat, now=now, purpose=budgets.Purpose.LEARNING, calls=calls):
            return Claim(None, refused=refused)
        picture = write(who, chat, now=now, model=model, shareable=shareable)
        sticker = Sticker.objects.create(chat=chat, picture=picture, file_id=who.file_id)
    return Claim(picture, sticker, is_new=True)


def write(
    who: Identity, chat: Chat | None, *, now: datetime, model: str, shareable: bool
) -> Picture:
    """Write a picture with its keys and its look. For whoever holds LOCK and has found none."""
    picture = Picture.objects.create(
        claimed_in=chat, claimed_at=now, model=model, shareable=shareable
    )
    PictureKey.objects.bulk_create(_keys(picture, who, chat), ignore_conflicts=True)
    Fingerprint.objects.create(
        picture=picture, hashes=list(who.look.hashes), blocks=who.look.blocks
    )
    return picture


def _keys(picture: Picture, who: Identity, chat: Chat | None) -> list[PictureKey]:
    rows = [PictureKey(picture=picture, key=key) for key in who.proved]
    if who.name and chat is not None:
        rows.append(PictureKey(picture=picture, key=who.name, chat=chat))
    return rows


def release(picture: Picture, chat: Chat, *, calls: int) -> bool:
    """Undo a claim whose call surely cost nothing; False where it is no claim any more."""
    with transaction.atomic():
        claims = Picture.objects.select_for_update().filter(verdict=Verdict.LEARNING)
        held = claims.filter(pk=picture.pk).first()
        if held is None:
            return False
        held.delete()
        budgets.give_back(
            chat, purpose=budgets.Purpose.LEARNING, reserved_at=held.claimed_at, calls=calls
        )
    return True


def reject(picture: Picture, verdict: Verdict, reason: str, *, tokens: int = 0) -> bool:
    """End a claim without a sticker: keys and verdict stay, no picture and no meaning.

    A compare-and-set: False where the claim has ended otherwise meanwhile.
    """
    with transaction.atomic():
        ended = Picture.objects.filter(pk=picture.pk, verdict=Verdict.LEARNING).update(
            verdict=verdict,
            reason=reason[:40],
            tokens=tokens,
            sha256="",
            learned={},
            settled_at=database_now(),
        )
        if ended:
            Sticker.objects.filter(picture=picture, state=Sticker.State.LEARNING).update(
                state=verdict, reason=reason[:40]
            )
    return bool(ended)


def longest() -> timedelta:
    """After that no claim can still be worked on: recognition, guard and embedding one after another,
    of which the last is asked again once."""
    return 4 * timedelta(seconds=settings.ARISE_MODEL_TIMEOUT_SECONDS) + _SLACK


def settle_lost() -> int:
    """End as lost the claims whose outcome nobody can know any more: their worker died. How many.

    They may have been paid for, so they are never tried again by themselves; what surely was not, a
    meaning that was to be used in a further chat without a guard's model, is.
    """
    with transaction.atomic():
        before = database_now() - longest()
        pictures = Picture.objects.select_for_update(skip_locked=True).filter(
            verdict=Verdict.LEARNING, claimed_at__lt=before
        )
        ended = [picture for picture in pictures if reject(picture, Verdict.LOST, "no_outcome")]
        reused = Sticker.objects.filter(
            state=Sticker.State.LEARNING, learned_at__lt=before
        ).exclude(picture__verdict=Verdict.LEARNING)
        late = reused.select_for_update(skip_locked=True, of=("self",))
        keys = list(late.values_list("pk", flat=True))
        lost = Q(sticker__picture__in=ended, sticker__state=Sticker.State.LOST)
        funnel.end(OpenSighting.objects.filter(lost | Q(sticker__in=keys)), funnel.LOST)
        dropped = Sticker.objects.filter(pk__in=keys)
        if settings.ARISE_GUARD_MODEL:
            dropped.update(state=Sticker.State.LOST, reason="no_outcome")
        else:
            dropped.delete()  # a meaning that was learned before costs nothing: it may be tried again
    return len(ended) + len(keys)
