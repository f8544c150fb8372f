"""The operators' catalogue: stickers that are usable in every chat, with meanings that operators gave."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import audit
from core.database import database_now, lock
from core.errors import MediaFailure
from core.media import pictures, store
from core.media.pictures import Examined
from core.text import clean_text
from stickers import claims, embeddings
from stickers.claims import Identity
from stickers.models import Picture, Sticker

logger = logging.getLogger(__name__)
LONGEST_MEANING = 500
LONGEST_MOOD = 40
Verdict = Picture.Verdict
_REFUSED = {
    Verdict.REMOVED: _("This picture was taken down, so it is not added."),
    Verdict.SENSITIVE: _("This picture was found to be sensitive, so it is not added."),
    Verdict.VETOED: _("The meaning of this picture was vetoed, so it is not added."),
}
_BEING_LEARNED = _("This picture is just being learned; try again in some minutes.")
_FAULTS = {
    "too_large": _("The file is larger than 8 MiB."),
    "too_many_pixels": _("The picture has too many pixels."),
    "too_many_frames": _("The animation has too many frames."),
    "not_a_picture": _("That is no picture: PNG, JPEG, GIF and WebP are taken."),
    "broken": _("The picture is broken."),
}


class NotAdded(ValueError):
    """What is not taken into the catalogue; the text is a sentence for the operator. `is_blocked`:
    it may be added all the same, with `again`."""

    def __init__(self, sentence: str | Promise, *, is_blocked: bool = False) -> None:
        super().__init__(str(sentence))
        self.is_blocked = is_blocked


@dataclass(frozen=True, slots=True)
class Details:
    """What an operator may say of a picture besides its meaning."""

    use_when: str = ""
    avoid_when: str = ""
    moods: Sequence[str] = ()
    words: str = ""


NO_DETAILS = Details()


def add(
    content: bytes,
    *,
    meaning: str,
    details: Details = NO_DETAILS,
    by: AbstractBaseUser | None = None,
    again: bool = False,
) -> Sticker:
    """Put a picture into the catalogue, or give one that is there other texts; raises NotAdded.

    What was rejected or taken down once is added only `again`. Waits for the decoder and the
    embedding; not to be called inside of a transaction.
    """
    texts = _texts(meaning, details)
    examined = _examined(content)
    who = claims.identity(content, "", examined.samples)
    prepared = embeddings.prepare(embeddings.text_of(Sticker(**texts)))
    with transaction.atomic():
        lock(claims.LOCK)
        picture = _picture(who, again=again)
        if not picture.sha256 or store.read(picture.sha256) is None:
            picture.sha256 = store.put(content, examined)
        verdict = picture.verdict
        picture.verdict, picture.reason, picture.removed_by = Verdict.STORED, "", None
        picture.settled_at = database_now()
        picture.save()
        before = Sticker.objects.filter(chat=None, picture=picture).first()
        sticker, is_new = Sticker.objects.update_or_create(
            chat=None,
            picture=picture,
            defaults={**texts, "state": Sticker.State.STORED, "reason": ""},
            create_defaults={**texts, "state": Sticker.State.STORED, "file_id": who.file_id},
        )
        embeddings.write(sticker, prepared)
        _keep(sticker, before, texts, verdict, by)
    done = "added" if is_new else "given other words"
    logger.info("catalogue: %s was %s by %s", sticker.ref, done, by or "a command")
    return sticker


def _keep(
    sticker: Sticker,
    before: Sticker | None,
    texts: Mapping[str, Any],
    verdict: str,
    by: AbstractBaseUser | None,
) -> None:
    """Keep in the audit that it came into the catalogue, or says something else there now; `verdict`
    is what was known of its picture."""
    changes: dict[str, tuple[object, object]] = {}
    state = before.state if before else None
    if state != sticker.state:
        changes["state"] = (state, sticker.state)
    if verdict in _REFUSED:
        changes["verdict"] = (verdict, Verdict.STORED)
    if before is not None:
        changed = [name for name, text in texts.items() if getattr(before, name) != text]
        changes |= dict.fromkeys(changed, audit.CHANGED)
    if changes:
        action = audit.UPDATED if before else audit.CREATED
        audit.keep(sticker, changes, by=by, action=action)


def look(content: bytes) -> str:
    """Put a picture that can be added into the media store, which keeps it for a day; its sha256.
    Raises NotAdded for what can't be, and for what the catalogue has already."""
    examined = _examined(content)
    known = claims.find(claims.identity(content, "", examined.samples))
    if known is not None:
        if known.stickers.filter(chat=None, state=Sticker.State.STORED).exists():
            raise NotAdded(_("The catalogue has this picture already."))
        _refuse(known)
    return store.put(content, examined)


def fault(code: str) -> str:
    """Why a picture was not taken, by the code of a core.errors.MediaFailure."""
    return str(_FAULTS.get(code) or _("The picture can't be read (%(code)s).") % {"code": code})


def _texts(meaning: str, details: Details) -> dict[str, Any]:
    """The texts of a sticker, storable and in bounds; raises NotAdded where there is no meaning."""
    told = clean_text(meaning).strip()
    if not told:
        raise NotAdded(_("A sticker needs a meaning: what one says with it."))
    if len(told) > LONGEST_MEANING:
        raise NotAdded(_("The meaning is longer than 500 characters."))
    moods = [clean_text(mood).strip()[:LONGEST_MOOD] for mood in details.moods]
    return {
        "meaning": told,
        "use_when": clean_text(details.use_when).strip()[:LONGEST_MEANING],
        "avoid_when": clean_text(details.avoid_when).strip()[:LONGEST_MEANING],
        "moods": [mood for mood in moods if mood],
        "words": clean_text(details.words).strip()[:LONGEST_MEANING],
    }


def _examined(content: bytes) -> Examined:
    try:
        return pictures.examine(content)
    except MediaFailure as failure:
        raise NotAdded(fault(failure.code)) from None


def _picture(who: Identity, *, again: bool) -> Picture:
    found = claims.find(who)
    # Locked: who lets go of its bytes, or takes it over, is not written over.
    rows = Picture.objects.select_for_update()
    known = rows.filter(pk=found.pk).first() if found else None
    if known is None:
        return claims.write(who, None, now=database_now(), model="", shareable=True)
    _refuse(known, again=again)
    claims.remember(known, who, None)
    return known


def _refuse(known: Picture, *, again: bool = False) -> None:
    if known.verdict == Verdict.LEARNING:
        raise NotAdded(_BEING_LEARNED)
    if not again and (refused := _REFUSED.get(Verdict(known.verdict))):
        raise NotAdded(refused, is_blocked=True)
