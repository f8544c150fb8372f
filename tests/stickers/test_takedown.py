"""Takedown: a sticker goes from everywhere, for good, and what carries it does not go out."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from pytest_django import Settings

from core import budgets
from core import stickers as core_stickers
from core.database import give_back
from core.media import store
from core.models import Chat, ItemMedia, OutboxEntry
from stickers import funnel, sending
from stickers.models import Fingerprint, Picture, PictureKey, Sticker, StickerVector
from stickers.takedown import Taken, take_down
from tests.factories import make_bot, make_chat, make_item, make_sent
from tests.stickers.making import make_picture, make_sticker

pytestmark = pytest.mark.django_db
WORDS = [{"type": "text", "data": {"text": "well done"}}]
QUOTE = {"type": "reply", "data": {"id": "7"}}


@pytest.fixture(autouse=True)
def _store(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def picture() -> Picture:
    """A picture whose bytes are kept."""
    made = make_picture(sha256=store.spool(b"GIF89a"), learned={"meaning": "well done"})
    PictureKey.objects.create(picture=made, key="md5:" + "1" * 32)
    Fingerprint.objects.create(picture=made, hashes=[1], blocks=b"x")
    return made


def carrying(chat: Chat, sticker: Sticker, state: str, words: Any = WORDS) -> OutboxEntry:
    """A message with that sticker."""
    data = {"ref": sticker.ref, "sha256": sticker.picture.sha256, "instead": words}
    parts = [QUOTE, {"type": "sticker", "data": data}]
    entry = make_sent(chat, "well done", state, kind="sticker", entry={"parts": parts}).entry
    assert entry is not None
    return entry


def test_it_goes_from_all_chats_and_the_catalogue(
    picture: Picture, django_capture_on_commit_callbacks: Any
) -> None:
    for chat in (make_chat(), make_chat(), None):
        sticker = make_sticker(chat, picture=picture)
        StickerVector.objects.create(
            sticker=sticker, scope=0, model="m", vector=[1.0], text_digest="x"
        )
    other = make_sticker(make_chat())
    sha256 = picture.sha256
    admin = User.objects.create(username="admin")
    with django_capture_on_commit_callbacks(execute=True):
        assert take_down(picture, by=admin, reason="operator") == Taken(stickers=3, messages=0)
    assert list(Sticker.objects.all()) == [other]
    assert StickerVector.objects.count() == 0
    assert store.read(sha256) is None
    picture.refresh_from_db()
    assert (picture.verdict, picture.reason, picture.sha256) == ("removed", "operator", "")
    assert picture.learned == {}
    assert picture.removed_by == admin


def test_what_it_is_known_by_stays(picture: Picture) -> None:
    sha256 = picture.sha256
    take_down(picture, reason="operator")
    keys = set(picture.keys.values_list("key", flat=True))
    assert keys == {"md5:" + "1" * 32, f"sha256:{sha256}"}
    assert Fingerprint.objects.get(picture=picture).blocks == b"x"


def test_what_models_were_shown_of_it_goes_too(
    picture: Picture, django_capture_on_commit_callbacks: Any
) -> None:
    view, kept = store.spool(b"a view"), store.spool(b"another's view")
    item = make_item()
    ItemMedia.objects.create(item=item, index=0, sha256=picture.sha256, view=view)
    ItemMedia.objects.create(item=item, index=1, sha256="f" * 64, view=kept)
    with django_capture_on_commit_callbacks(execute=True):
        take_down(picture, reason="operator")
    assert (store.read(view), store.read(kept)) == (None, b"another's view")


def test_its_words_go_out_in_its_place(picture: Picture) -> None:
    chat = make_chat(make_bot(connection_number=7))
    sticker = make_sticker(chat, picture=picture)
    entry = carrying(chat, sticker, "pending")
    assert take_down(picture, reason="operator").messages == 1
    entry.refresh_from_db()
    assert (entry.state, entry.parts) == ("pending", [QUOTE, *WORDS])


def test_what_has_no_words_is_discarded(picture: Picture) -> None:
    chat = make_chat()
    entry = carrying(chat, make_sticker(chat, picture=picture), "pending", words=[])
    take_down(picture, reason="operator")
    entry.refresh_from_db()
    assert (entry.state, entry.reason) == ("discarded", "sticker_taken_down")


@pytest.mark.parametrize("state", ["sending", "sent", "unknown"])
def test_what_left_already_stays_as_it_was(picture: Picture, state: str) -> None:
    chat = make_chat()
    entry = carrying(chat, make_sticker(chat, picture=picture), state)
    parts = entry.parts
    assert take_down(picture, reason="operator").messages == 0
    entry.refresh_from_db()
    assert (entry.state, entry.parts) == (state, parts)


def test_another_sticker_on_its_way_is_left_alone(picture: Picture) -> None:
    chat = make_chat()
    entry = carrying(chat, make_sticker(chat), "pending")
    take_down(picture, reason="operator")
    entry.refresh_from_db()
    assert [part["type"] for part in entry.parts] == ["reply", "sticker"]


@pytest.mark.django_db(transaction=True)
def test_a_message_that_is_just_being_written_is_found(picture: Picture) -> None:
    chat = make_chat()
    sticker = make_sticker(chat, picture=picture)
    taken = threading.Thread(target=_take_down, args=(picture,))
    with transaction.atomic():
        assert sending.find(chat, sticker.ref) is not None
        taken.start()
        taken.join(0.5)  # it waits for this transaction, or has overtaken it
        entry = carrying(chat, sticker, "pending")
    taken.join()
    entry.refresh_from_db()
    assert entry.parts == [QUOTE, *WORDS]


def _take_down(picture: Picture) -> None:
    try:
        take_down(picture, reason="operator")
    finally:
        give_back()


class TestSending:
    """Which sticker a ref names, and how often one was sent."""

    def test_a_chats_own_and_the_catalogues(self) -> None:
        chat = make_chat()
        face = {"emoji_id": "a1"}
        own, common = make_sticker(chat, market_face=face), make_sticker(None)
        found = sending.find(chat, f" {own.ref}")
        assert found == core_stickers.Sendable(own.ref, own.picture.sha256, face)
        assert sending.find(chat, common.ref) is not None

    @pytest.mark.parametrize("state", [state for state in Sticker.State if state != "stored"])
    def test_none_that_is_not_stored(self, state: str) -> None:
        chat = make_chat()
        assert sending.find(chat, make_sticker(chat, state=state).ref) is None

    def test_none_of_another_chat_and_none_without_bytes(self) -> None:
        chat = make_chat()
        assert sending.find(chat, make_sticker(make_chat()).ref) is None
        assert sending.find(chat, make_sticker(chat, picture=make_picture(sha256="")).ref) is None
        assert sending.find(chat, "") is None

    def test_each_time_that_it_is_sent_counts_once(self) -> None:
        chat = make_chat()
        sticker = make_sticker(chat)
        entry = carrying(chat, sticker, "sent")
        core_stickers.tell_sent(entry)
        sticker.refresh_from_db()
        assert (sticker.times_sent, sticker.last_sent_at) == (1, entry.settled_at)
        assert funnel.counts(chat.pk, budgets.today()) == {funnel.SENT: 1}
