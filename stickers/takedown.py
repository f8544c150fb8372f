"""Takedown: a sticker goes from everywhere, and what it is known by stays, so that it is never
learned, fetched or added again."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from core import audit, sending
from core.database import lock
from core.media import store
from core.models import ItemMedia
from stickers import claims
from stickers.models import Picture, PictureKey, Sticker

_SHA256 = "sha256:"


@dataclass(frozen=True, slots=True)
class Taken:
    """What a takedown took: rows of chats and of the catalogue, and pending messages."""

    stickers: int
    messages: int


def take_down(picture: Picture, *, by: AbstractBaseUser | None = None, reason: str) -> Taken:
    """Remove a picture from all chats and the catalogue, with its vectors, its bytes, what models
    were shown of it, and out of what is pending. Its keys and its look stay with the verdict.

    `by` is the operator; None: a member of a chat, or a command. `reason` is a short code.
    """
    with transaction.atomic():
        lock(claims.LOCK)
        kept = Picture.objects.select_for_update().get(pk=picture.pk)
        digests = _digests(kept)
        # First the stickers, then what carries them: whoever is just writing such a message holds
        # its sticker, and is waited for.
        gone = list(Sticker.objects.filter(picture=kept).select_related("chat"))
        _rows, by_model = Sticker.objects.filter(picture=kept).delete()
        stickers = by_model.get(Sticker._meta.label, 0)
        if by is not None:
            acts = [(one, {"state": (one.state, Picture.Verdict.REMOVED)}) for one in gone]
            audit.keep_all(acts, by=by, action=audit.DELETED)
        messages = sum(sending.withdraw_sticker(digest) for digest in digests)
        _remove_bytes(digests)
        kept.verdict = Picture.Verdict.REMOVED
        kept.reason, kept.sha256, kept.learned = reason, "", {}
        kept.removed_by_id = None if by is None else by.pk
        kept.settled_at = timezone.now()
        kept.save(
            update_fields=["verdict", "reason", "sha256", "learned", "removed_by", "settled_at"]
        )
    return Taken(stickers, messages)


def _digests(picture: Picture) -> list[str]:
    """The sha256 of all bytes that are known to be this picture; that of its own is kept as a key."""
    if picture.sha256:
        key = f"{_SHA256}{picture.sha256}"
        PictureKey.objects.get_or_create(key=key, chat=None, defaults={"picture": picture})
    keys = picture.keys.filter(key__startswith=_SHA256).values_list("key", flat=True)
    return sorted({key.removeprefix(_SHA256) for key in keys})


def _remove_bytes(digests: list[str]) -> None:
    shown = ItemMedia.objects.filter(sha256__in=digests).exclude(view="")
    views = set(shown.values_list("view", flat=True))
    shown.update(view="")
    for digest in sorted({*digests, *views}):
        store.remove(digest)
