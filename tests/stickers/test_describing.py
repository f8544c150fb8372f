"""What stands for a sticker in what the model reads: its meaning, where this chat may know it."""

from typing import Any

import pytest
from django.utils import timezone

from core import context
from core.models import Chat
from stickers.describing import describe
from stickers.models import PictureKey, Sticker
from tests.factories import make_chat, make_item, make_sent
from tests.stickers.making import make_sticker

pytestmark = pytest.mark.django_db
KEY = "mface:a1"


@pytest.fixture
def chat() -> Chat:
    return make_chat()


def known(chat: Chat | None, meaning: str, key: str = KEY, **fields: Any) -> Sticker:
    """A sticker that is known by a key."""
    sticker = make_sticker(chat, meaning, **fields)
    PictureKey.objects.create(key=key, picture=sticker.picture)
    return sticker


def part(key: str = KEY) -> dict[str, Any]:
    return {"type": "sticker", "data": {"id": key}}


def read(chat: Chat) -> str:
    """What a turn over what was said last is told."""
    item = make_item(chat, "", parts=[part()])
    return str(context.assemble(chat, [item], now=timezone.now())[1]["content"])


def test_a_sticker_that_somebody_sends_is_told_by_its_meaning(chat: Chat) -> None:
    known(chat, "well <done>")
    assert ">[sticker: well &lt;done&gt;]</message>" in read(chat)


def test_the_catalogue_is_known_everywhere_and_the_chats_own_meaning_goes_before_it(
    chat: Chat,
) -> None:
    common = known(None, "a greeting")
    assert describe(chat, [part()]) == {KEY: "a greeting"}
    make_sticker(chat, "mockery", picture=common.picture)
    assert describe(chat, [part()]) == {KEY: "mockery"}


@pytest.mark.parametrize("state", [state for state in Sticker.State if state != "stored"])
def test_what_is_not_stored_is_not_told(chat: Chat, state: str) -> None:
    known(chat, "well done", state=state)
    assert ">[sticker]</message>" in read(chat)


def test_another_chats_meanings_and_names_are_not_told(chat: Chat) -> None:
    sticker = known(make_chat(), "a secret of theirs")
    assert describe(chat, [part()]) == {}
    PictureKey.objects.update(chat=sticker.chat)
    make_sticker(chat, "ours", picture=sticker.picture)
    assert describe(chat, [part()]) == {}


def own(chat: Chat, sticker: Sticker, *, as_text: bool = False) -> None:
    """A message of the bot's with that sticker, or the words that went out in its place."""
    data = {"ref": sticker.ref, "sha256": "", "instead": []}
    words = {"type": "text", "data": {"text": "its words"}}
    parts = [words] if as_text else [{"type": "sticker", "data": data}]
    make_sent(chat, "its words", handle="m7", kind="sticker", entry={"parts": parts})


def test_the_bots_own_sticker_is_told_by_its_meaning(chat: Chat) -> None:
    make_item(chat)
    own(chat, known(chat, "well done", key="md5:0"))
    assert ">[sticker: well done]</message>" in read(chat)


def test_a_sticker_of_the_bots_that_is_gone_is_a_bare_one(chat: Chat) -> None:
    make_item(chat)
    sticker = known(chat, "well done", key="md5:0")
    own(chat, sticker)
    sticker.delete()
    told = read(chat)
    assert ">[sticker]</message>" in told
    assert "its words" not in told


def test_words_that_went_out_in_its_place_are_told_as_words(chat: Chat) -> None:
    make_item(chat)
    own(chat, known(chat, "well done", key="md5:0"), as_text=True)
    assert ">its words</message>" in read(chat)


def test_it_costs_one_query(chat: Chat, django_assert_num_queries: Any) -> None:
    known(chat, "well done")
    with django_assert_num_queries(1):
        describe(chat, [part(), part("md5:2"), {"type": "sticker", "data": {"ref": "s1"}}])
