"""Learning one sticker: the free gates again, the download, the claim, the call, its verdict.

Nothing is held over a wait: no connection, no lock. What is known of a picture before the call is
its claim; whoever finds it later knows that it was, or may have been, paid for.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from core import budgets
from core.database import database_now, give_back
from core.errors import MediaFailure, ModelFailure
from core.llm import routing
from core.media import fetching, pictures, store
from core.media.pictures import Examined
from core.models import Chat, InboundItem, ItemMedia
from stickers import claims, embeddings, funnel, gates, guard, library, recognition
from stickers.claims import Identity
from stickers.embeddings import Prepared
from stickers.library import Kept
from stickers.models import OpenSighting, Picture, Sticker, StickerVector
from stickers.recognition import Learned, Unusable

logger = logging.getLogger(__name__)
Verdict = Picture.Verdict
LEARNING = budgets.Purpose.LEARNING
_OUTCOME_UNKNOWN = ("timeout", "unreachable")


@dataclass(frozen=True, slots=True)
class Sight:
    """One sticker of one item, with its bytes."""

    item: InboundItem
    index: int
    chat: Chat
    part: gates.Part
    content: bytes
    examined: Examined
    who: Identity


def learn(item_id: int, index: int, *, is_last: bool = False) -> bool:
    """Learn a part of an item, if it still may be learned and nobody has; whether it is to be tried
    again soon, having cost nothing. With `is_last` it is not: the sighting has ended."""
    item = InboundItem.objects.select_related("chat__bot").filter(pk=item_id).first()
    sighting = funnel.open_of(item_id, index)
    if item is None or index >= len(item.parts) or not sighting.exists():
        return False
    outcome = _learn(item, index)
    if outcome == funnel.TRY_LATER and not is_last:
        return True
    funnel.end(sighting, outcome)
    return False


def _learn(item: InboundItem, index: int) -> str:
    """The funnel's name of what became of it."""
    chat, part = item.chat, item.parts[index]
    if reason := _refused(item, part):
        return reason
    give_back()
    try:
        content = fetching.fetch(_source(part))
        examined = pictures.examine(content)
    except MediaFailure as failure:
        return funnel.download(failure.code)
    who = claims.identity(content, gates.stable_id(part), examined.samples)
    if not _leave_trace(item, index, who):
        return funnel.RECALLED
    sight = Sight(item, index, chat, part, content, examined, who)
    known = claims.find(who)
    if known is not None:
        return _known(sight, known)
    if reason := _too_few(sight):
        return reason
    return _new(sight)


def _refused(item: InboundItem, part: gates.Part) -> str:
    """The gates that may have closed since the item came in."""
    chat = item.chat
    if reason := gates.closed(chat):
        return reason
    if part["type"] != gates.STICKER:
        return funnel.NOT_A_STICKER
    if item.recalled_at is not None:
        return funnel.RECALLED
    key = gates.stable_id(part)
    picture = claims.by_keys([key], chat).get(key) if key else None
    fate = gates.fate(chat, picture) if picture else gates.Fate()
    return fate.reason or gates.affordable(chat, reuses=fate.reuses)


def _source(part: gates.Part) -> str:
    """Where the bytes are: an address, or the bytes themselves where the host put those."""
    data = part["data"]
    told = (str(data.get(name) or "") for name in ("url", "file"))
    usable = (one for one in told if one.startswith(("http://", "https://", "base64://", "media:")))
    return next(usable, "")


@transaction.atomic
def _leave_trace(item: InboundItem, index: int, who: Identity) -> bool:
    """By this it is found what somebody's pictures became: no sticker knows its sender. Whether the
    item is still there."""
    if not _hold(item):
        return False
    ItemMedia.objects.bulk_create(
        [ItemMedia(item=item, index=index, sha256=who.sha256)],
        update_conflicts=True,
        unique_fields=["item", "index"],
        update_fields=["sha256", "failure"],
    )
    return True


def _hold(item: InboundItem) -> bool:
    """Whether an item is still there and not taken back. Whoever forgets it waits until the running
    transaction ends, and finds what became of it."""
    library.lock_chat(item.chat_id)
    rows = InboundItem.objects.select_for_update(no_key=True).filter(pk=item.pk, recalled_at=None)
    return rows.only("pk").first() is not None


def _too_few(sight: Sight) -> str:
    """What has no stable id is counted by its bytes."""
    if gates.stable_id(sight.part):
        return ""
    key = f"sha256:{sight.who.sha256}"
    seen = gates.sighted(sight.chat, [key])[key]
    return funnel.TOO_FEW_SIGHTINGS if seen < sight.chat.sticker_sightings else ""


def _known(sight: Sight, picture: Picture) -> str:
    claims.remember(picture, sight.who, sight.chat)
    fate = gates.fate(sight.chat, picture)
    return fate.reason or _too_few(sight) or _reuse(sight, picture)


def _new(sight: Sight) -> str:
    model = routing.first_that_takes(gates.STICKER)
    if not model:
        return funnel.NO_MODEL
    if not store.has_room():
        return funnel.DISK_FULL
    lines = recognition.lines_around(sight.item) if sight.chat.sticker_context else ""
    calls = gates.calls_needed(reuses=False)
    shareable = not sight.chat.sticker_context
    with transaction.atomic():
        if not _hold(sight.item):
            return funnel.RECALLED
        claim = claims.claim(sight.who, sight.chat, calls=calls, model=model, shareable=shareable)
        if claim.is_new:
            _open(sight).update(sticker=claim.sticker, is_paid=True)
    if claim.refused:
        return funnel.BUDGET if claim.refused == budgets.BUDGET_SPENT else funnel.OFF
    assert claim.picture is not None  # noqa: S101 - told to the type checker
    if not claim.is_new:
        return _known(sight, claim.picture)
    return _recognise(sight, claim.picture, lines, calls)


def _open(sight: Sight) -> QuerySet[OpenSighting]:
    """The sighting, as long as nobody has ended it."""
    return funnel.open_of(sight.item.pk, sight.index)


def _recognise(sight: Sight, picture: Picture, lines: str, calls: int) -> str:
    """Make the call that was claimed, and end the claim by what comes of it."""
    give_back()
    try:
        answer = recognition.ask(picture.model, sight.examined.view, lines)
    except ModelFailure as failure:
        return _failed(sight, picture, failure, calls)
    tokens = answer.prompt_tokens + answer.completion_tokens
    at = picture.claimed_at
    budgets.count_tokens(sight.chat, purpose=LEARNING, reserved_at=at, tokens=tokens)
    try:
        learned = recognition.read(answer)
    except Unusable as unusable:
        _not_asked(sight.chat, at, calls - 1)
        verdict = Verdict.SENSITIVE if unusable.sensitive else Verdict.FAILED
        return _rejected(sight, picture, verdict, unusable.code, tokens)
    judgement = _judged(sight.chat, learned, at, calls - 1)
    tokens += judgement.tokens
    if judgement.veto:
        return _rejected(sight, picture, Verdict.VETOED, judgement.veto, tokens)
    try:
        return library.keep(picture, sight.chat, _kept(sight, picture, learned), tokens=tokens)
    except OSError as error:
        logger.exception("a sticker of chat %s can't be kept: %s", sight.chat.pk, error)
        return _rejected(sight, picture, Verdict.FAILED, "not_kept", tokens)


def _failed(sight: Sight, picture: Picture, failure: ModelFailure, calls: int) -> str:
    logger.warning("a sticker of chat %s: %s: %s", sight.chat.pk, failure.code, failure.detail)
    if failure.costs_nothing:
        with transaction.atomic():
            released = claims.release(picture, sight.chat, calls=calls)
            _open(sight).update(is_paid=not released)
        return funnel.TRY_LATER if released else funnel.LOST
    _not_asked(sight.chat, picture.claimed_at, calls - 1)
    verdict = Verdict.LOST if failure.code in _OUTCOME_UNKNOWN else Verdict.FAILED
    return _rejected(sight, picture, verdict, failure.code, 0)


def _rejected(sight: Sight, picture: Picture, verdict: Verdict, reason: str, tokens: int) -> str:
    ended = claims.reject(picture, verdict, reason, tokens=tokens)
    with transaction.atomic():
        store.remove(sight.who.sha256)  # where the host spooled them
    return str(verdict) if ended else funnel.LOST


def _judged(chat: Chat, learned: Learned, at: datetime, calls: int) -> guard.Judgement:
    """The guard's judgement, counted; `calls` were reserved for it, at that time."""
    give_back()
    judgement = guard.judge(learned, chat)
    if judgement.asked:
        tokens = judgement.tokens
        budgets.count_tokens(chat, purpose=LEARNING, reserved_at=at, tokens=tokens)
    else:
        _not_asked(chat, at, calls)
    return judgement


def _not_asked(chat: Chat, at: datetime, calls: int) -> None:
    if calls:
        budgets.give_back(chat, purpose=LEARNING, reserved_at=at, calls=calls)


def _kept(sight: Sight, picture: Picture, learned: Learned) -> Kept:
    """The sticker as it will be kept."""
    data = sight.part["data"]
    names = ("emoji_id", "emoji_package_id", "key", "summary")
    market: dict[str, Any] = {name: data[name] for name in names if name in data}
    return Kept(
        learned=learned,
        prepared=None if sight.chat.sticker_review else _prepared(picture, learned),
        put=partial(store.put, sight.content, sight.examined),
        market_face=market if market.get("emoji_id") else {},
    )


def _prepared(picture: Picture, learned: Learned) -> Prepared | None:
    """The vector of what was learned; that of another chat's sticker, where it has the same text."""
    text = embeddings.text_of(Sticker(**learned.as_fields()))
    same = StickerVector.objects.filter(
        sticker__picture=picture,
        model=embeddings.active().model,
        text_digest=embeddings.digest(text),
    ).first()
    if same is None:
        return embeddings.prepare(text)
    return Prepared(same.model, [float(one) for one in same.vector], same.text_digest)


def _reuse(sight: Sight, picture: Picture) -> str:
    """Give the chat a sticker of its own with the meaning that was learned, after its own guard."""
    chat = sight.chat
    calls = gates.calls_needed(reuses=True)
    learned = Learned.from_fields(picture.learned)
    sticker, reason = _claim_reuse(sight, picture, calls)
    if sticker is None:
        return reason
    judgement = _judged(chat, learned, sticker.learned_at, calls)
    if judgement.veto:
        _own(sticker).update(state=Sticker.State.VETOED, reason=judgement.veto[:40])
        return funnel.VETOED
    try:
        return _place_reuse(sight, sticker, _kept(sight, picture, learned))
    except OSError as error:
        logger.exception("a sticker of chat %s can't be kept: %s", chat.pk, error)
        _own(sticker).delete()
        return funnel.TRY_LATER


def _place_reuse(sight: Sight, sticker: Sticker, kept: Kept) -> str:
    chat, picture = sight.chat, sticker.picture
    with transaction.atomic():
        library.lock_chat(chat.pk)
        still = library.taking_part(chat)
        stored = Picture.objects.filter(pk=picture.pk, verdict=Verdict.STORED).exists()
        own = _own(sticker).first()
        if own is None:
            return funnel.LOST
        if still is None or not stored:
            own.delete()
            return funnel.OFF if still is None else funnel.KNOWN_REJECTED
        return funnel.REUSED if library.place(own, still, kept) else funnel.NO_ROOM


def _claim_reuse(sight: Sight, picture: Picture, calls: int) -> tuple[Sticker | None, str]:
    """The chat's sticker, which this worker alone is to judge; or why there is none."""
    chat = sight.chat
    with transaction.atomic():
        if not _hold(sight.item):
            return None, funnel.RECALLED
        # Held, since another chat may forget it at this moment.
        held = Picture.objects.select_for_update(no_key=True).filter(pk=picture.pk)
        if held.only("pk").first() is None:
            return None, funnel.TRY_LATER
        if reason := gates.fate(chat, picture).reason:
            return None, reason
        now = database_now()
        if calls and budgets.reserve(chat, now=now, purpose=LEARNING, calls=calls):
            return None, funnel.BUDGET
        sticker = Sticker.objects.create(chat=chat, picture=picture, file_id=sight.who.file_id)
        _open(sight).update(sticker=sticker)
    return sticker, ""


def _own(sticker: Sticker) -> Any:
    return Sticker.objects.filter(pk=sticker.pk, state=Sticker.State.LEARNING)
