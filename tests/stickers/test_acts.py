"""What operators do with stickers: what each act leaves, and that two at once do no harm."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection

from core.media import store
from stickers import acts
from stickers.acts import Texts
from stickers.models import Sticker, StickerVector
from tests.factories import make_chat
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db

STATES = Sticker.State.values
USABLE = ["review", "stored"]


@pytest.fixture
def bea() -> User:
    return User.objects.create_user("bea")


def vector_of(sticker: Sticker, scope: int = 0) -> StickerVector:
    made = {"model": "m", "vector": [1.0, 0.0], "text_digest": "d"}
    return StickerVector.objects.create(
        sticker=sticker, scope=scope or sticker.chat_id or 0, **made
    )


def kept(by: User) -> list[tuple[str, str]]:
    entries = LogEntry.objects.filter(user=by).order_by("pk")
    return [(entry.object_repr, entry.get_change_message()) for entry in entries]


def again(sticker: Sticker) -> Sticker:
    return Sticker.objects.select_related("picture").get(pk=sticker.pk)


@pytest.mark.parametrize("state", STATES)
def test_only_what_waits_for_review_is_approved(bea: User, state: str) -> None:
    sticker = shown(make_chat(), state=state)
    assert acts.approve(sticker, by=bea) == (state == "review")
    assert again(sticker).state == ("stored" if state == "review" else state)
    assert kept(bea) == ([(sticker.ref, "Approved.")] if state == "review" else [])


def test_nothing_without_a_meaning_is_approved(bea: User) -> None:
    assert not acts.approve(shown(meaning="", state="review"), by=bea)


@pytest.mark.parametrize("state", STATES)
def test_only_what_is_usable_is_rejected(bea: User, state: str) -> None:
    sticker = shown(make_chat(), state=state)
    assert acts.reject(sticker, by=bea) == (state in USABLE)
    assert again(sticker).state == ("rejected" if state in USABLE else state)


def test_what_was_rejected_keeps_no_word_and_no_picture(
    bea: User, django_capture_on_commit_callbacks: Any
) -> None:
    told = {"use_when": "w1", "avoid_when": "w2", "moods": ["w3"], "words": "w4"}
    sticker = shown(make_chat(), "rejected words", market_face={"key": "w6"}, pinned=True, **told)
    vector_of(sticker)
    sha256 = sticker.picture.sha256
    with django_capture_on_commit_callbacks(execute=True):
        acts.reject(sticker, by=bea)
    row = again(sticker)
    assert Texts.of(row) == Texts("")
    assert (row.market_face, row.pinned, row.reason) == ({}, False, "operator")
    assert (row.picture.sha256, row.picture.verdict) == ("", "stored")
    assert store.read(sha256) is None
    assert not StickerVector.objects.exists()
    assert kept(bea) == [(sticker.ref, "Rejected.")]
    assert not [entry for entry in LogEntry.objects.all() if "rejected words" in entry.object_repr]


@pytest.mark.parametrize(("state", "left"), [("stored", "x"), ("learning", "x"), ("vetoed", "")])
def test_what_was_learned_stays_while_somebody_uses_it(bea: User, state: str, left: str) -> None:
    sticker = shown(make_chat(), picture={"learned": {"meaning": "x"}})
    shown(make_chat(), picture=sticker.picture, state=state)
    acts.reject(sticker, by=bea)
    assert again(sticker).picture.learned.get("meaning", "") == left


@pytest.mark.parametrize("state", ["stored", "review"])
def test_a_picture_that_another_chat_holds_stays(
    bea: User, django_capture_on_commit_callbacks: Any, state: str
) -> None:
    sticker = shown(make_chat())
    other = shown(make_chat(), picture=sticker.picture, state=state)
    with django_capture_on_commit_callbacks(execute=True):
        acts.reject(sticker, by=bea)
    assert again(other).picture.sha256
    assert store.read(again(other).picture.sha256)


def test_pinning_tells_whether_it_is_new(bea: User) -> None:
    sticker = shown()
    assert [acts.pin(sticker, pinned=True, by=bea) for _ in range(2)] == [True, False]
    assert again(sticker).pinned
    assert [acts.pin(sticker, pinned=False, by=bea) for _ in range(2)] == [True, False]
    assert kept(bea) == [(sticker.ref, "Pinned."), (sticker.ref, "Unpinned.")]


@pytest.mark.parametrize("state", STATES)
def test_only_what_is_usable_is_promoted_or_pinned(bea: User, state: str) -> None:
    sticker = shown(make_chat(), state=state)
    assert acts.pin(sticker, pinned=True, by=bea) == (state in USABLE)
    assert acts.promote(sticker, by=bea) == (state in USABLE)
    assert again(sticker).state == ("stored" if state in USABLE else state)


def test_a_promoted_sticker_is_the_catalogues_and_its_vector_too(bea: User) -> None:
    sticker = shown(make_chat())
    vector_of(sticker)
    assert acts.promote(sticker, by=bea)
    row = Sticker.objects.get()
    assert (row.chat, row.ref, row.meaning) == (None, sticker.ref, sticker.meaning)
    assert StickerVector.objects.get().scope == 0
    assert not acts.promote(row, by=bea)


def test_the_catalogue_has_a_picture_once(bea: User) -> None:
    sticker = shown(make_chat())
    other = shown(make_chat(), picture=sticker.picture)
    assert acts.promote(sticker, by=bea)
    assert not acts.promote(other, by=bea)
    assert again(other).chat_id is not None
    assert len(kept(bea)) == 1


def test_what_was_learned_with_lines_is_promoted_only_when_read(bea: User) -> None:
    sticker = shown(make_chat(), picture={"shareable": False})
    assert not acts.promote(sticker, by=bea)
    assert acts.promote(sticker, by=bea, with_lines=True)


def test_a_meaning_is_changed_once(bea: User) -> None:
    sticker = shown(meaning="old")
    seen = Texts.of(sticker).digest
    new = Texts("new", "u", "a", ("happy", "开心"), "w")
    assert acts.change_meaning(sticker, new, seen=seen, by=bea)
    assert Texts.of(again(sticker)) == new
    assert not acts.change_meaning(sticker, Texts("newer"), seen=seen, by=bea)
    assert again(sticker).meaning == "new"
    assert kept(bea) == [(sticker.ref, "Changed what it means.")]


@pytest.mark.parametrize("state", STATES)
def test_only_a_usable_sticker_is_worded_anew(bea: User, state: str) -> None:
    sticker = shown(state=state)
    done = acts.change_meaning(sticker, Texts("x"), seen=Texts.of(sticker).digest, by=bea)
    assert done == (state in USABLE)
    assert again(sticker).meaning == ("x" if done else "thanks a lot")


def test_a_command_leaves_no_entry() -> None:
    sticker = shown(state="review")
    assert acts.approve(sticker, by=None)
    assert not LogEntry.objects.exists()


def both(act: Callable[[], bool], other: Callable[[], bool]) -> list[bool]:
    """What came of two acts that begin together, each on a connection of its own."""
    ready = threading.Barrier(2)
    outcomes: list[bool] = []

    def run(one: Callable[[], bool]) -> None:
        try:
            ready.wait()
            outcomes.append(one())
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[one]) for one in (act, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", range(3))
def test_two_operators_at_once_do_a_thing_once(turn: int) -> None:
    bea, cem = User.objects.create_user("bea"), User.objects.create_user("cem")
    sticker = shown(make_chat(), state="review")
    done = both(lambda: acts.approve(sticker, by=bea), lambda: acts.approve(sticker, by=cem))
    assert sorted(done) == [False, True]
    seen = Texts.of(sticker).digest
    done = both(
        lambda: acts.change_meaning(sticker, Texts("a"), seen=seen, by=bea),
        lambda: acts.change_meaning(sticker, Texts("b"), seen=seen, by=cem),
    )
    assert sorted(done) == [False, True]
    twin = shown(make_chat(), picture=sticker.picture)
    done = both(lambda: acts.promote(sticker, by=bea), lambda: acts.promote(twin, by=cem))
    assert sorted(done) == [False, True]
    done = both(lambda: acts.reject(sticker, by=bea), lambda: acts.reject(twin, by=cem))
    assert done == [True, True]
    assert not store.read(sticker.picture.sha256)
    assert LogEntry.objects.count() == 5
