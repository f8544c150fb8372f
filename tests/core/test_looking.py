"""Looking at a chat's pictures before its turn: only those that it would show, each once, and never
so that the turn waits for long or fails by it."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from core import budgets, looking
from core.database import database_now
from core.media import store
from core.models import Chat, InboundItem, ItemMedia, StoredMedia, Turn
from tests.core.media.drawing import animation, picture
from tests.core.media.servers import Server, answer, running, silent
from tests.factories import make_bot, make_chat, make_item, make_turn

pytestmark = pytest.mark.django_db
PNG = picture("PNG", (1000, 500))


@pytest.fixture
def pictures(settings: Settings, tmp_path: Path) -> Iterator[Server]:
    """A server of pictures that may be asked."""
    settings.MEDIA_ROOT = tmp_path
    settings.ARISE_CHAT_MODEL_KINDS = ["image"]
    settings.ARISE_VISION_MODEL = ""
    with running() as server:
        settings.ARISE_MEDIA_ALLOWED_HOSTS = [f"127.0.0.1:{server.port}"]
        server.paths = {"/a.png": answer(PNG), "/b.gif": answer(animation())}
        yield server


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot(), daily_model_calls=1)


def say(chat: Chat, *urls: str, kind: str = "image", **fields: Any) -> InboundItem:
    parts = [{"type": kind, "data": {"url": url} if url else {}} for url in urls]
    fields.setdefault("trigger", "mention")
    return make_item(chat, "", parts=parts, **fields)


def test_a_picture_is_fetched_examined_and_kept_as_a_view(pictures: Server, chat: Chat) -> None:
    item = say(chat, pictures.url("/a.png"), pictures.url("/b.gif"))
    looking.look(chat.pk)
    first, second = ItemMedia.objects.filter(item=item).order_by("index")
    assert first.sha256 == hashlib.sha256(PNG).hexdigest()
    assert (first.failure, second.failure) == ("", "")
    kept = StoredMedia.objects.get(pk=first.view)
    assert (kept.width, kept.height) == (768, 384)
    assert store.read(second.view)
    assert store.read(first.sha256) is None  # the bytes as they came are of no use


def test_each_picture_is_fetched_once(pictures: Server, chat: Chat) -> None:
    say(chat, pictures.url("/a.png"))
    looking.look(chat.pk)
    looking.look(chat.pk)
    assert pictures.connections == 1


def test_what_was_fetched_for_another_purpose_is_looked_at_where_it_is_kept(
    pictures: Server, chat: Chat
) -> None:
    item = say(chat, "http://10.0.0.1/expired", kind="sticker")
    digest = store.spool(PNG)
    ItemMedia.objects.create(item=item, index=0, sha256=digest)
    looking.look(chat.pk)
    row = ItemMedia.objects.get(item=item)
    assert (row.sha256, row.failure) == (digest, "")
    assert store.read(row.view)


def test_what_was_fetched_and_not_kept_is_fetched_again(pictures: Server, chat: Chat) -> None:
    item = say(chat, pictures.url("/a.png"), pictures.url("/gone"), kind="sticker")
    pictures.paths["/gone"] = answer(b"", "404 Not Found")
    for index in range(2):
        ItemMedia.objects.create(item=item, index=index, sha256="a" * 64)
    looking.look(chat.pk)
    first, second = ItemMedia.objects.filter(item=item).order_by("index")
    assert first.view
    assert (second.view, second.failure) == ("", "http_status")
    assert second.sha256 == "a" * 64  # by which it can be forgotten


def test_what_stood_in_the_way_is_kept_and_not_tried_again(pictures: Server, chat: Chat) -> None:
    pictures.paths["/gone"] = answer(b"", "404 Not Found")
    pictures.paths["/page"] = answer(b"<html>expired")
    say(chat, pictures.url("/gone"), pictures.url("/page"), "", "http://10.0.0.1/")
    looking.look(chat.pk)
    looking.look(chat.pk)
    rows = ItemMedia.objects.order_by("index")
    codes = ["http_status", "not_a_picture", "no_address", "blocked_address"]
    assert [row.failure for row in rows] == codes
    assert [row.view for row in rows] == [""] * 4
    assert pictures.connections == 2


def test_inline_bytes_are_looked_at_from_the_spool(pictures: Server, chat: Chat) -> None:
    item = say(chat, f"media:{store.spool(PNG)}")
    looking.look(chat.pk)
    assert ItemMedia.objects.get(item=item).view


def test_the_newest_four_of_new_and_recent_items_are_fetched(pictures: Server, chat: Chat) -> None:
    old = [say(chat, pictures.url("/a.png"), trigger="") for _ in range(3)]
    chat.judged_item_id = old[-1].pk
    chat.save()
    new = [say(chat, pictures.url("/a.png"), trigger="") for _ in range(2)]
    asked = make_item(chat, "what are those?", trigger="mention")
    assert asked.pk > new[-1].pk
    looking.look(chat.pk)
    fetched = set(ItemMedia.objects.values_list("item", flat=True))
    assert fetched == {old[1].pk, old[2].pk, new[0].pk, new[1].pk}


def test_what_was_taken_back_is_not_fetched(pictures: Server, chat: Chat) -> None:
    say(chat, pictures.url("/a.png"), recalled_at=timezone.now(), trigger="")
    make_item(chat, "hi", trigger="mention")
    looking.look(chat.pk)
    assert pictures.connections == 0


def test_only_kinds_that_the_model_takes_are_fetched(
    pictures: Server, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_CHAT_MODEL_KINDS = ["sticker"]
    say(chat, pictures.url("/a.png"))
    sticker = say(chat, pictures.url("/b.gif"), kind="sticker")
    looking.look(chat.pk)
    assert [row.item_id for row in ItemMedia.objects.all()] == [sticker.pk]
    assert pictures.connections == 1


def mute(chat: Chat) -> None:
    chat.silence_reason = "muted"
    chat.save()


def switch_off(chat: Chat) -> None:
    chat.enabled = False
    chat.save()


def switch_bot_off(chat: Chat) -> None:
    chat.bot.enabled = False
    chat.bot.save()


def log_out(chat: Chat) -> None:
    chat.bot.is_logged_out = True
    chat.bot.save()


def spend(chat: Chat) -> None:
    assert not budgets.reserve(chat, now=database_now())


def go_on(chat: Chat) -> None:
    make_turn(chat, state=Turn.State.RUNNING)


def ask_nothing(chat: Chat) -> None:
    InboundItem.objects.update(trigger="")


def replay(chat: Chat) -> None:
    InboundItem.objects.update(is_old=True)


def judge_before(chat: Chat) -> None:
    chat.judged_item_id = InboundItem.objects.latest("pk").pk
    chat.save()


@pytest.mark.parametrize(
    "stand_in_the_way",
    [
        mute, switch_off, switch_bot_off, log_out, spend, go_on, ask_nothing, replay, judge_before,
    ],
)  # fmt: skip
def test_nothing_is_fetched_for_a_turn_that_will_not_be(
    pictures: Server, chat: Chat, stand_in_the_way: Callable[[Chat], None]
) -> None:
    say(chat, pictures.url("/a.png"))
    stand_in_the_way(chat)
    looking.look(chat.pk)
    assert pictures.connections == 0
    assert not ItemMedia.objects.exists()


def test_a_mute_that_is_over_stands_in_no_ones_way(pictures: Server, chat: Chat) -> None:
    say(chat, pictures.url("/a.png"))
    chat.silence_reason = "muted"
    chat.silenced_until = timezone.now() - timedelta(seconds=1)
    chat.save()
    looking.look(chat.pk)
    assert pictures.connections == 1


def test_where_no_model_takes_pictures_nothing_is_asked(
    pictures: Server,
    chat: Chat,
    settings: Settings,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    settings.ARISE_CHAT_MODEL_KINDS = []
    say(chat, pictures.url("/a.png"))
    with django_assert_num_queries(0):
        looking.look(chat.pk)
    assert pictures.connections == 0


def test_slow_pictures_are_not_waited_for(
    pictures: Server, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = threading.Event()
    monkeypatch.setattr(looking, "MOST_SECONDS", 1.0)
    pictures.paths |= {f"/{number}": silent(gone) for number in range(3)}
    say(chat, pictures.url("/0"), pictures.url("/1"), pictures.url("/2"), pictures.url("/a.png"))
    looking.look(chat.pk)
    gone.set()
    rows = ItemMedia.objects.order_by("index")
    assert [row.failure for row in rows] == ["timeout", "timeout", "timeout", ""]


def test_what_a_sticker_was_learned_by_meanwhile_is_still_known(
    pictures: Server, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By that it is found when its sender is to be forgotten."""
    item = say(chat, "ftp://x/none.png")
    seen = looking._seen

    def slowly(wanted: Any) -> Any:
        outcome = seen(wanted)
        ItemMedia.objects.create(item=item, index=0, sha256="a" * 64)
        return outcome

    monkeypatch.setattr(looking, "_seen", slowly)
    looking.look(chat.pk)
    row = ItemMedia.objects.get()
    assert (row.sha256, row.failure) == ("a" * 64, "bad_address")


def test_whatever_fails_the_turn_goes_on(pictures: Server, chat: Chat, settings: Settings) -> None:
    say(chat, pictures.url("/a.png"))
    settings.MEDIA_ROOT = Path("/proc/arise")
    looking.look(chat.pk)
    looking.look(10**9)
    assert not ItemMedia.objects.exists()
