"""A chat's own stickers: how one gets its place there, who makes room for it, and when bytes go.

The bytes of a picture are in the media store as long as a sticker of it is kept anywhere. A picture
whose last sticker made room keeps its verdict and, where it may be shared, what was learned: seen
again it is stored again, without paying.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F

from core.database import database_now, lock
from core.media import store
from core.models import Chat
from stickers import embeddings, funnel
from stickers.embeddings import Prepared
from stickers.models import Picture, Sticker
from stickers.recognition import Learned

_LEAST_USEFUL = ("times_sent", F("last_sent_at").asc(nulls_first=True), "learned_at", "pk")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a sticker is kept with: its texts and their vector, where it could be had; what puts its
    bytes into the media store, and gives their digest; what a market face is sent by."""

    learned: Learned
    prepared: Prepared | None
    put: Callable[[], str]
    market_face: dict[str, Any]


def load() -> None:
    """Tell the media store what is in use; called once, when the app is ready."""
    store.register_use(_bytes_of_pictures)


def _bytes_of_pictures(digests: Collection[str]) -> set[str]:
    return set(Picture.objects.filter(sha256__in=digests).values_list("sha256", flat=True))


def keep(picture: Picture, chat: Chat, kept: Kept, *, tokens: int) -> str:
    """Store what was paid for, unless the claim ended otherwise meanwhile; the funnel's name of what
    became of it.

    Where the chat takes no part any more, nothing is stored: the picture has failed. Where every
    place is taken by a pinned sticker, it is as if it had made room at once.
    """
    with transaction.atomic():
        lock_chat(chat.pk)
        fresh = taking_part(chat)
        own = Sticker.objects.filter(picture=picture, chat=chat.pk, state=Sticker.State.LEARNING)
        takes_part = fresh is not None and own.exists()
        verdict = Picture.Verdict.STORED if takes_part else Picture.Verdict.FAILED
        shared = kept.learned.as_fields() if takes_part and picture.shareable else {}
        claimed = Picture.objects.filter(pk=picture.pk, verdict=Picture.Verdict.LEARNING)
        settled = claimed.update(
            verdict=verdict,
            reason="" if takes_part else "learning_off",
            learned=shared,
            tokens=tokens,
            settled_at=database_now(),
        )
        if not settled:
            outcome = funnel.LOST
        elif fresh is None or not takes_part:
            own.update(state=Sticker.State.FAILED, reason="learning_off")
            outcome = funnel.FAILED
        else:
            outcome = funnel.STORED if place(own.get(), fresh, kept) else funnel.NO_ROOM
    return outcome


def taking_part(chat: Chat) -> Chat | None:
    """The chat as it is now, if it still learns; None where it, or its bot, was switched off."""
    chats = Chat.objects.filter(enabled=True, sticker_learning=True, bot__enabled=True)
    return chats.filter(pk=chat.pk).first()


def place(sticker: Sticker, chat: Chat, kept: Kept) -> bool:
    """Give a sticker that is being learned its place in its chat, whose lock is held; False where
    there is none for it, and it is gone."""
    others = Sticker.objects.filter(chat=chat, state__in=Sticker.KEPT).exclude(pk=sticker.pk)
    excess = others.count() + 1 - chat.sticker_cap
    leaving = list(others.filter(pinned=False).order_by(*_LEAST_USEFUL)[: max(0, excess)])
    has_room = len(leaving) >= excess
    if not has_room:
        leaving.append(sticker)
    pictures = _locked({sticker.picture_id, *(one.picture_id for one in leaving)})
    if has_room:
        mine = pictures[sticker.picture_id]
        if not mine.sha256:  # while the picture is locked, so that nobody lets go of them
            mine.sha256 = kept.put()
            mine.save(update_fields=["sha256"])
        for name, value in kept.learned.as_fields().items():
            setattr(sticker, name, value)
        sticker.market_face = kept.market_face
        review = chat.sticker_review
        sticker.state = Sticker.State.REVIEW if review else Sticker.State.STORED
        sticker.save()
        if sticker.state == Sticker.State.STORED:
            embeddings.write(sticker, kept.prepared)
    _leave(leaving, pictures)
    made_room = [(chat.pk, funnel.EVICTED) for one in leaving if one.pk != sticker.pk]
    funnel.count_all(made_room)
    return has_room


def lock_chat(chat_id: int) -> None:
    """Keep others from changing which stickers a chat has, until the transaction ends."""
    lock(f"stickers.chat:{chat_id}")


def release_bytes(pictures: Iterable[int]) -> None:
    """Let go of the bytes of those pictures (by id) of which no sticker is kept any more."""
    _release(_locked(set(pictures)).values())


def _leave(stickers: list[Sticker], pictures: dict[int, Picture]) -> None:
    ids = {sticker.picture_id for sticker in stickers}
    for sticker in stickers:
        sticker.delete()
    _release(pictures[pk] for pk in sorted(ids))


def _release(pictures: Iterable[Picture]) -> None:
    for picture in pictures:
        if picture.sha256 and not picture.stickers.filter(state__in=Sticker.KEPT).exists():
            sha256, picture.sha256 = picture.sha256, ""
            picture.save(update_fields=["sha256"])
            store.remove(sha256)


def _locked(ids: set[int]) -> dict[int, Picture]:
    """Pictures, locked in the order of their ids, so that two chats never wait for each other."""
    rows = Picture.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    return {picture.pk: picture for picture in rows}
