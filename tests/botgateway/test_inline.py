"""Pictures whose bytes are in their frame: kept under their digest where they are of use, dropped
elsewhere, and in no stored item."""

import asyncio
import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from botgateway import inlet, inline, parts
from botgateway.inlet import Inlet
from botgateway.segments import Segment
from core import inbound
from core.media import store
from core.messages import ChatAddress, Part, PartType, PlatformId, Received, ReceivedItem
from core.models import Bot, InboundItem
from tests.factories import make_bot, make_chat

pytestmark = pytest.mark.django_db
CONTENT = b"\x89PNG and so on"
INLINE = "base64://" + base64.b64encode(CONTENT).decode()
KEPT = f"media:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    settings.ARISE_CHAT_MODEL_KINDS = ["image"]
    settings.ARISE_VISION_MODEL = ""
    return tmp_path


@pytest.fixture
def bot() -> Bot:
    return make_bot()


def said(bot: Bot, *pieces: Part, group: str = "20001") -> ReceivedItem:
    now = timezone.now()
    address = ChatAddress("group", PlatformId(group))
    return ReceivedItem(
        bot.pk, address, "message", "10002", now, now, PlatformId("7"), parts=pieces
    )


def picture(kind: PartType = "image", url: str = INLINE) -> Part:
    return Part(kind, {"url": url, "sub_type": 0, "id": "md5:" + "a" * 32})


def urls(put: Sequence[Received]) -> list[str | None]:
    (item,) = put
    assert isinstance(item, ReceivedItem)
    return [part.data.get("url") for part in item.parts]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("key", ["file", "url"])
@pytest.mark.parametrize("kind", ["image", "mface"])
def test_a_frame_may_carry_the_bytes_of_a_picture(kind: str, key: str) -> None:
    (part,) = parts.from_segments([Segment(kind, {key: INLINE})])
    assert part.data["url"] == INLINE
    assert INLINE not in str({name: value for name, value in part.data.items() if name != "url"})


def test_an_address_comes_before_bytes() -> None:
    data = {"file": INLINE, "url": "http://pictures.test/a.png"}
    (part,) = parts.from_segments([Segment("image", data)])
    assert part.data["url"] == "http://pictures.test/a.png"


def test_bytes_beyond_the_bound_and_those_of_other_media_are_dropped() -> None:
    huge = "base64://" + "A" * parts.MOST_INLINE
    (part,) = parts.from_segments([Segment("image", {"file": huge})])
    assert "url" not in part.data
    for kind in ("record", "video", "file"):
        (part,) = parts.from_segments([Segment(kind, {"file": INLINE})])
        assert "base64" not in str(part.data)


def test_a_reference_that_a_frame_makes_up_is_no_address() -> None:
    (part,) = parts.from_segments([Segment("image", {"url": KEPT, "file": KEPT})])
    assert "url" not in part.data


def test_a_picture_of_use_is_kept_and_referred_to(bot: Bot) -> None:
    make_chat(bot, external_id="20001")
    item = said(bot, Part("text", {"text": "look"}), picture())
    put = inline.put_away([item])
    assert urls(put) == [None, KEPT]
    assert store.read(KEPT.removeprefix("media:")) == CONTENT
    assert put[0] == replace(item, parts=(item.parts[0], picture(url=KEPT)))


def test_the_identity_of_an_item_does_not_change(bot: Bot) -> None:
    item = said(bot, picture())
    (put,) = inline.put_away([item])
    assert isinstance(put, ReceivedItem)
    assert put.identity() == item.identity() == said(bot, picture(url="")).identity()


@pytest.mark.parametrize(
    ("fields", "models", "kind", "is_kept"),
    [
        ({}, ["image"], "image", True),
        ({}, ["image"], "sticker", True),
        ({}, ["sticker"], "sticker", True),
        ({}, ["sticker"], "image", False),
        ({}, [], "image", False),
        ({}, [], "sticker", False),
        ({"sticker_learning": True}, [], "sticker", True),
        ({"sticker_learning": True}, [], "image", False),
        ({"enabled": False}, ["image"], "image", False),
        ({"enabled": False, "sticker_learning": True}, ["image"], "sticker", False),
    ],
)
def test_bytes_are_kept_only_where_the_chat_has_a_use_for_them(
    bot: Bot,
    folder: Path,
    settings: Settings,
    fields: dict[str, bool],
    models: list[str],
    kind: PartType,
    is_kept: bool,
) -> None:
    settings.ARISE_CHAT_MODEL_KINDS = models
    make_chat(bot, external_id="20001", **fields)
    assert urls(inline.put_away([said(bot, picture(kind))])) == [KEPT if is_kept else None]
    assert bool(files(folder)) == is_kept


@pytest.mark.parametrize("enabled", [True, False])
def test_a_new_chat_is_as_its_bot_has_new_ones(enabled: bool) -> None:
    bot = make_bot(new_group_chats_enabled=enabled)
    assert urls(inline.put_away([said(bot, picture())])) == [KEPT if enabled else None]


def test_what_is_no_base64_is_dropped_and_the_words_stay(bot: Bot, folder: Path) -> None:
    item = said(bot, Part("text", {"text": "look"}), picture(url="base64://not base64!"))
    (put,) = inline.put_away([item])
    assert isinstance(put, ReceivedItem)
    assert put.text == "look"
    assert urls([put]) == [None, None]
    assert not files(folder)


def test_a_full_disk_costs_the_picture_and_nothing_else(bot: Bot, settings: Settings) -> None:
    settings.MEDIA_ROOT = Path("/proc/arise")
    assert urls(inline.put_away([said(bot, picture())])) == [None]


def test_words_alone_ask_the_database_for_nothing(
    bot: Bot, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    batch: list[Received] = [said(bot, Part("text", {"text": "hi"}), picture(url="http://a.test"))]
    with django_assert_num_queries(0):
        assert inline.put_away(batch) == batch


def test_no_item_is_stored_with_its_pictures_bytes(bot: Bot) -> None:
    make_chat(bot, external_id="20001")
    inlet._receive([said(bot, picture(), picture("sticker"), picture(url="base64://AAA"))])
    (item,) = InboundItem.objects.all()
    assert "base64" not in str(item.parts)
    assert [part["data"].get("url") for part in item.parts] == [KEPT, KEPT, None]


async def test_pictures_that_wait_for_the_database_are_bounded(bot: Bot) -> None:
    """Words go on; what would fill the memory does not."""
    waiting = Inlet()
    item = said(bot, picture(url="base64://" + "A" * (inlet.MOST_INLINE // 4)))
    for _ in range(8):
        await waiting.put(item)
    held = [waiting._waiting.get_nowait() for _ in range(8)]
    assert sum(map(inline.characters, held)) <= inlet.MOST_INLINE
    assert [bool(inline.characters(one)) for one in held] == [True] * 3 + [False] * 5


async def test_once_they_are_stored_there_is_room_again(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[Received] = []

    async def keep(_inlet: Inlet, batch: list[Received]) -> list[inbound.DueChat]:
        stored.extend(batch)
        return []

    monkeypatch.setattr(Inlet, "_store", keep)
    waiting = Inlet()
    running = asyncio.create_task(waiting.run())
    item = said(bot, picture(url="base64://" + "A" * (inlet.MOST_INLINE // 2)))
    for count in range(1, 5):
        await waiting.put(item)
        async with asyncio.timeout(5):
            while len(stored) < count or waiting._inline:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
    running.cancel()
    assert all(map(inline.characters, stored))


async def test_who_gives_up_waiting_takes_up_no_room(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inlet, "MOST_WAITING", 1)
    waiting = Inlet()
    item = said(bot, picture())
    await waiting.put(item)
    held = waiting._inline
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await waiting.put(item)
    assert waiting._inline == held == len(INLINE)
