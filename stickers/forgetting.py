"""What is forgotten of stickers: with a chat all that it learned, with a person what was learned
from what that person sent.

A picture that no other chat's sticker and no catalogue uses goes whole. One that was taken down
keeps its keys, so that it stays blocked, and nothing that tells where it came from.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from core.forgetting import batches, registry
from core.forgetting.traces import Traces
from core.media import store
from core.models import InboundItem, ItemMedia
from stickers import funnel, library
from stickers.models import (
    FunnelCount,
    LearningPace,
    OpenSighting,
    Picture,
    PictureKey,
    Sighting,
    Sticker,
)

_KINDS = ("sticker", "image")
_LABELS = {
    "stickers": _("stickers"),
    "pictures": _("pictures of stickers"),
    "sightings": _("counts of stickers seen"),
    "funnel_counts": _("counts of what became of stickers"),
}


def _of_chat(chat_id: int) -> registry.Counts:
    library.lock_chat(chat_id)
    for remove in (
        partial(_remove, Sticker.objects.filter(chat=chat_id)),
        partial(_evicted, chat_id),
    ):
        went = remove()
        if any(went.values()):
            return went
    PictureKey.objects.filter(chat=chat_id).delete()
    # A catalogue or another chat has words of its own beside the picture.
    Picture.objects.filter(claimed_in=chat_id).update(claimed_in=None, learned={})
    LearningPace.objects.filter(chat=chat_id).delete()
    return {
        "sightings": batches.delete(Sighting.objects.filter(chat=chat_id)),
        "funnel_counts": batches.delete(FunnelCount.objects.filter(chat=chat_id)),
    }


def _of_items(chat_id: int, items: Sequence[InboundItem]) -> registry.Counts:
    library.lock_chat(chat_id)
    keys = _keys(items)
    counts = Q(picture__keys__chat=None) | Q(picture__keys__chat=chat_id)
    by_key = Sticker.objects.filter(counts, chat=chat_id, picture__keys__key__in=keys)
    by_id = Sticker.objects.filter(chat=chat_id, file_id__in=keys)
    found = {*by_key.values_list("pk", flat=True), *by_id.values_list("pk", flat=True)}
    found |= _naming(chat_id, items)
    went = Counter(_remove(Sticker.objects.filter(pk__in=found), most=None))
    went.update(_evicted(chat_id, keys))
    PictureKey.objects.filter(chat=chat_id, key__in=keys).delete()
    seen, _rows = Sighting.objects.filter(chat=chat_id, key__in=keys).delete()
    funnel.end(OpenSighting.objects.filter(item__in=items), funnel.FORGOTTEN)
    return {**went, "sightings": seen}


def _naming(chat_id: int, items: Sequence[InboundItem]) -> set[int]:
    """Stickers that were learned with the lines around them, and name who said these items."""
    names = frozenset(item.sender_name for item in items)
    traces = Traces(items[0].sender_id, names - {""})
    with_lines = Sticker.objects.filter(chat=chat_id, picture__shareable=False)
    told = with_lines.values_list("pk", "meaning", "use_when", "avoid_when", "words")
    return {pk for pk, *texts in told if traces.found_in(texts)}


def _keys(items: Iterable[InboundItem]) -> set[str]:
    """The names by which the pictures of these items are known: as they came, and of their bytes."""
    items = list(items)
    keys = {
        str(part["data"]["id"]).lower()
        for item in items
        for part in item.parts
        if part["type"] in _KINDS and part["data"].get("id")
    }
    media = ItemMedia.objects.filter(item__in=items).exclude(sha256="")
    return keys | {f"sha256:{sha256}" for sha256 in media.values_list("sha256", flat=True)}


def _remove(stickers: QuerySet[Sticker], most: int | None = batches.MOST) -> registry.Counts:
    """Delete stickers, and those of their pictures that nothing else uses."""
    rows = list(stickers.order_by("pk").values_list("pk", "picture_id")[:most])
    keys = [key for key, _picture in rows]
    pictures = {picture for _key, picture in rows}
    # Who would begin to use one of them waits here, and then finds it gone.
    locked = Picture.objects.select_for_update().filter(pk__in=pictures).order_by("pk")
    known = {picture.pk: picture for picture in locked}
    Sticker.objects.filter(pk__in=keys).delete()
    batches.blank_log(Sticker, keys)
    used = set(Sticker.objects.filter(picture__in=pictures).values_list("picture_id", flat=True))
    unused = [
        picture
        for key, picture in known.items()
        if key not in used and picture.verdict != Picture.Verdict.REMOVED
    ]
    Picture.objects.filter(pk__in=[picture.pk for picture in unused]).delete()
    batches.blank_log(Picture, [picture.pk for picture in unused])
    for picture in unused:
        store.remove(picture.sha256)
    return {"stickers": len(keys), "pictures": len(unused)}


def _evicted(chat_id: int, keys: Collection[str] | None = None) -> registry.Counts:
    """Delete pictures that this chat paid for and no sticker is left of: the last one made room for
    others, and what was learned was kept. With `keys`, those alone that go by one of them."""
    paid = Picture.objects.filter(claimed_in=chat_id, stickers=None)
    paid = paid.exclude(verdict=Picture.Verdict.REMOVED)
    if keys is not None:
        paid = paid.filter(pk__in=PictureKey.objects.filter(key__in=keys).values("picture"))
    return {"pictures": batches.delete(paid)}


def load() -> None:
    """Register it; called once, when the app is ready."""
    registry.register(registry.Part(_LABELS, _of_chat, _of_items))
