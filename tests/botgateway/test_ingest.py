"""What of a message event is stored, beside what the golden frames state."""

import json
from typing import Any

import pytest
from pytest_django import Settings

from botgateway import frames, ingest
from botgateway.clock import ConnectionClock
from botgateway.events import Event, LifecycleEvent
from core.messages import PlatformId, ReceivedItem


def _item(clock: ConnectionClock | None = None, **fields: Any) -> ReceivedItem | None:
    frame = {
        "post_type": "message",
        "message_type": "group",
        "self_id": 10001,
        "group_id": 20001,
        "user_id": 10002,
        "message_id": 1,
        "time": 1760000000,
        "message": "hi",
        "sender": {"nickname": "Ann"},
        **fields,
    }
    event = frames.decode(json.dumps(frame))
    assert isinstance(event, Event)
    clock = clock or ConnectionClock()
    return ingest.received_item(event, bot_id=1, self_id="10001", clock=clock)


def _stored(**fields: Any) -> ReceivedItem:
    item = _item(**fields)
    assert item is not None
    return item


@pytest.mark.parametrize(
    "fields",
    [
        {"post_type": "notice", "notice_type": "notify", "sub_type": "poke"},
        {"message_type": "guild"},
        {"group_id": None},
        {"group_id": 0},
        {"user_id": None},
        {"message_type": "private", "user_id": 10001},
        {"message_type": "private", "user_id": 10001, "target_id": 10001},
    ],
)
def test_what_is_no_message_of_a_known_chat_is_not_stored(fields: dict[str, Any]) -> None:
    assert _item(**fields) is None


def test_ids_are_kept_in_the_type_in_which_they_came() -> None:
    item = _stored(group_id="g-1", message_id=-5)
    assert item.chat.external_id == PlatformId("g-1", is_number=False)
    assert item.message_id == PlatformId("-5")


def test_an_event_of_the_connections_account_is_its_own() -> None:
    assert _stored(self_id=None, user_id=10001).from_self
    assert _stored(post_type="message_sent", user_id=10001).from_self
    assert not _stored().from_self


def test_messages_are_old_by_the_connections_clock(settings: Settings) -> None:
    settings.ARISE_STALE_SECONDS = 30
    clock = ConnectionClock()
    assert _stored(clock=clock).is_old
    clock.learn(LifecycleEvent(time=1760000010))
    assert not _stored(clock=clock).is_old
    assert _stored(clock=clock, time=1759999900).is_old


def test_a_message_without_a_time_was_sent_when_it_came() -> None:
    item = _stored(time=None)
    assert item.sent_at == item.received_at
    assert not item.is_old


def test_the_placeholder_group_is_no_address() -> None:
    private = {"message_type": "private", "sub_type": "group"}
    assert _stored(**private, group_id=284840486).chat.address == {}
    assert _stored(**private, group_id=20001).chat.address == {"group_id": 20001}
    fallback = _stored(**private, group_id=284840486, sender={"group_id": "20002"})
    assert fallback.chat.address == {"group_id": "20002"}
    assert _stored(**private, group_id=None, temp_source=20003).chat.address == {"group_id": 20003}


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        ({"card": "a\nb\u202ec\u2066", "nickname": "x"}, "a bc"),
        ({"card": "\u200b\n", "nickname": "Ann"}, "Ann"),
        ({"card": "", "nickname": "\u2028"}, "10002"),
        ({"card": "👨‍👩‍👧" * 30}, ("👨‍👩‍👧" * 30)[:64].strip()),
        ({"card": 5}, "10002"),
    ],
)
def test_names_are_one_bounded_line_without_control_characters(
    sender: dict[str, Any], name: str
) -> None:
    assert _stored(sender=sender).sender_name == name


def test_an_at_of_nobody_is_not_a_mention() -> None:
    message = [{"type": "at", "data": {"qq": "0"}}, {"type": "at", "data": {"qq": 10001}}]
    item = _stored(message=message)
    assert item.mentions == ["10001"]
    assert item.mentions_bot


@pytest.mark.parametrize(
    ("data", "sticker"),
    [
        ({"sub_type": 0, "summary": "[图片]"}, False),
        ({"subType": "1", "summary": "[图片]"}, True),
        ({"summary": "[动画表情]"}, True),
        ({"sub_type": None, "subType": 3}, True),
        ({"sub_type": 2}, True),
        ({"sub_type": 7}, True),
        ({"sub_type": 4}, False),
        ({"sub_type": 8}, False),
        ({}, False),
    ],
)
def test_which_pictures_are_stickers(data: dict[str, Any], sticker: bool) -> None:
    (part,) = _stored(message=[{"type": "image", "data": data}]).parts
    assert part.type == ("sticker" if sticker else "image")


@pytest.mark.parametrize(
    ("data", "stable_id"),
    [
        ({"filename": "0A1B2C3D4E5F60718293A4B5C6D7E8F9.gif", "file": "https://x.invalid/"}, True),
        ({"file": "0a1b2c3d4e5f60718293a4b5c6d7e8f9.image"}, True),
        ({"file": "000001464e61704361744f6e65426f740a1b2c3d4e5f60718293a4b5c6d7e8f9.png"}, False),
        ({"file": "../0A1B2C3D4E5F60718293A4B5C6D7E8F9.gif"}, False),
        ({"file": "file:///0A1B2C3D4E5F60718293A4B5C6D7E8F9"}, False),
    ],
)
def test_only_a_clean_name_gives_a_stable_id(data: dict[str, Any], stable_id: bool) -> None:
    (part,) = _stored(message=[{"type": "image", "data": data}]).parts
    expected = "md5:0a1b2c3d4e5f60718293a4b5c6d7e8f9" if stable_id else None
    assert part.data.get("id") == expected


def test_paths_and_odd_addresses_are_never_kept() -> None:
    data = {"file": "a.amr", "path": "/etc/passwd", "url": "file:///etc/passwd"}
    (part,) = _stored(message=[{"type": "record", "data": data}]).parts
    assert part.data == {"name": "a.amr"}


def test_an_unknown_segment_is_kept_unless_it_is_enormous() -> None:
    small, big = _stored(
        message=[{"type": "new", "data": {"a": [1]}}, {"type": "new", "data": {"a": "x" * 70_000}}]
    ).parts
    assert small.data == {"type": "new", "data": {"a": [1]}}
    assert big.data == {"type": "new", "data": {"cut": True}}


def test_a_time_that_some_zones_can_not_show_counts_as_none() -> None:
    item = _stored(time=253_402_300_799_000)  # milliseconds
    assert item.sent_at == item.received_at
