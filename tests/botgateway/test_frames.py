"""Hostile frames: nothing that comes in breaks the connection."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from botgateway import events, frames, ingest
from botgateway.actions import Response
from botgateway.clock import ConnectionClock
from botgateway.events import MessageEvent, OtherEvent
from botgateway.frames import Invalid

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(["0", "-1", "10001", "all", "text", "image", "2" * 200]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
_KEYS = [
    "self_id", "time", "sub_type", "user_id", "group_id", "message_id", "target_id", "sender_id",
    "operator_id", "sender", "message", "likes", "code", "is_add", "file", "status", "interval",
    "temp_source", "message_seq", "real_seq", "group_name", "duration", "times", "flag", "comment",
    "retcode", "data", "wording", "error", "echo",
]  # fmt: skip
_TYPES = {
    "post_type": ["message", "message_sent", "notice", "meta_event", "request", "x"],
    "message_type": ["group", "private", "guild"],
    "notice_type": ["notify", "reaction", "group_msg_emoji_like", "group_ban", "essence",
                    "group_admin", "group_upload", "group_recall", "group_decrease", "bot_offline"],
    "meta_event_type": ["heartbeat", "lifecycle"],
}  # fmt: skip
_FRAMES = st.fixed_dictionaries(
    {},
    optional={
        **{key: st.sampled_from(values) | _JSON for key, values in _TYPES.items()},
        **dict.fromkeys(_KEYS, _JSON),
        "sub_type": st.sampled_from(["poke", "profile_like", "group"]) | _JSON,
        "message": st.text()
        | st.lists(
            st.fixed_dictionaries(
                {"type": st.sampled_from(["text", "at", "face", "image", "mface", "file", "reply"])},
                optional={"data": _JSON | st.dictionaries(
                    st.sampled_from(["text", "qq", "id", "file", "url", "sub_type", "emoji_id", "name"]),
                    _JSON,
                )},
            ),
            max_size=5,
        ),
    },
)  # fmt: skip


def _take(raw: str | bytes) -> events.Event | Response | Invalid:
    """Decodes and goes the whole way in, as the gateway does."""
    decoded = frames.decode(raw)
    if isinstance(decoded, events.Event):
        clock = ConnectionClock()
        clock.learn(decoded)
        item = ingest.received_item(decoded, bot_id=1, self_id="10001", clock=clock)
        if item is not None:
            item.identity()
            stored = json.dumps([part.as_json() for part in item.parts], ensure_ascii=False)
            stored.encode()
            assert "\x00" not in item.text + item.sender_name + item.chat.title
            json.loads(stored, parse_constant=pytest.fail)
    return decoded


@given(st.binary() | st.text(st.characters()))
def test_any_bytes_and_any_text_are_taken(raw: bytes | str) -> None:
    _take(raw)


@given(_FRAMES)
def test_any_values_in_any_field_are_taken(frame: dict[str, Any]) -> None:
    _take(json.dumps(frame))


@given(_JSON)
def test_any_json_is_taken(value: Any) -> None:
    _take(json.dumps(value))


def _message(**fields: Any) -> dict[str, Any]:
    return {
        "post_type": "message",
        "message_type": "group",
        "self_id": 10001,
        "group_id": 20001,
        "user_id": 10002,
        "message_id": 1,
        "time": 1760000000,
        "message": "hi",
        **fields,
    }


def test_nesting_5000_deep_is_invalid_and_shallower_nesting_is_cut() -> None:
    for opening, closing in ("[]", ('{"a":', "}")):
        deep = opening * 5000 + "1" + closing * 5000
        assert isinstance(frames.decode(deep), Invalid)
    lists: Any = "x"
    objects: Any = "x"
    for _ in range(100):
        lists, objects = [lists], {"a": objects}
    for nested in (lists, objects):
        event = _take(json.dumps(_message(message=[{"type": "odd", "data": {"v": nested}}])))
        assert isinstance(event, MessageEvent)
        kept = json.dumps(event.segments[0].data)
        assert '{"cut": true}' in kept
        assert "x" not in kept


def test_a_deep_frame_is_taken_from_a_deep_stack_too() -> None:
    def below(depth: int) -> object:
        return below(depth - 1) if depth else frames.decode("[" * 900 + "]" * 900)

    assert isinstance(below(300), Invalid)


def test_surrogates_and_nul_are_cleaned_everywhere_keys_included() -> None:
    raw = (
        r'{"post_type":"odd","a\u0000b":"\ud83d","k\udc00":[{"x":"\u0000y\ud800"}],'
        r'"good":"\ud83d\ude00"}'
    )
    event = frames.decode(raw)
    assert isinstance(event, OtherEvent)
    assert event.raw == {
        "post_type": "odd",
        "ab": "\ufffd",
        "k\ufffd": [{"x": "y\ufffd"}],
        "good": "😀",
    }


def test_numbers_that_json_does_not_have_become_null() -> None:
    event = frames.decode('{"post_type":"odd","a":NaN,"b":-Infinity,"c":1e999,"d":1.5}')
    assert isinstance(event, OtherEvent)
    assert event.raw == {"post_type": "odd", "a": None, "b": None, "c": None, "d": 1.5}


def test_a_huge_number_does_not_take_the_frame_with_it() -> None:
    raw = json.dumps(_message()).replace("10002", "9" * 5000)
    event = frames.decode(raw)
    assert isinstance(event, MessageEvent)
    assert event.user_id is None
    assert event.chat_id is not None
    assert event.chat_id.value == "20001"


def test_binary_frames_are_taken_whatever_their_bytes() -> None:
    raw = json.dumps(_message(message="好")).encode()
    event = frames.decode(raw)
    assert isinstance(event, MessageEvent)
    broken = frames.decode(json.dumps(_message(message="X")).encode().replace(b"X", b"\xff\xfe"))
    assert isinstance(broken, MessageEvent)
    assert broken.segments[0].data["text"] == "\ufffd\ufffd"


@pytest.mark.parametrize("raw", ["", "nonsense", "{", "[]", "null", "1", '"x"', "{}", b"\xff\x00"])
def test_what_is_neither_event_nor_response_is_invalid(raw: str | bytes) -> None:
    assert isinstance(frames.decode(raw), Invalid)


def test_control_characters_and_a_byte_order_mark_are_tolerated() -> None:
    assert isinstance(
        frames.decode('\ufeff{"post_type":"message","message_type":"group"}'), MessageEvent
    )
    event = frames.decode('{"post_type":"x","a":"line\nline"}')
    assert isinstance(event, OtherEvent)
    assert event.raw["a"] == "line\nline"


def test_ids_keep_their_type_and_their_characters() -> None:
    event = frames.decode(json.dumps(_message(group_id="0020001", user_id=10002.0)))
    assert isinstance(event, MessageEvent)
    assert event.chat_id is not None
    assert event.chat_id.wire() == "0020001"
    assert event.user_id is not None
    assert event.user_id.wire() == 10002


@pytest.mark.parametrize("none", [0, -1, "", "0", None, True, [], 1.5])
def test_ids_that_mean_none(none: Any) -> None:
    event = frames.decode(json.dumps(_message(message_id=none)))
    assert isinstance(event, MessageEvent)
    assert event.message_id is None
