"""Frames as implementations send them, each understood as stated."""

from pathlib import Path
from typing import Any

import pytest

from tests.botgateway.observing import observe
from tests.botgateway.onebot_expected import EXPECTED

FRAMES = Path(__file__).parent.parent / "fixtures" / "onebot"


def test_every_frame_has_an_expectation_and_none_is_missing() -> None:
    assert {path.stem for path in FRAMES.glob("*.json")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_golden_frame_is_understood_as_stated(name: str) -> None:
    raw = (FRAMES / f"{name}.json").read_bytes()
    expected = EXPECTED[name]
    observed = observe(raw)
    assert {key: observed.get(key) for key in expected} == expected
    assert observe(raw.decode()) == observed


def _seen(name: str) -> dict[str, Any]:
    return observe((FRAMES / f"{name}.json").read_bytes())


def test_a_market_face_in_four_shapes_is_one_sticker() -> None:
    shapes = [
        "napcat__group_mface_as_image",
        "llonebot__group_mface",
        "lagrange__group_mface",
        "snowluma__group_market_face_image",
    ]
    kept = {key: value for key, value in _seen(shapes[0])["resend"].items() if key != "summary"}
    for shape in shapes:
        seen = _seen(shape)
        assert seen["stickers"] == _seen(shapes[0])["stickers"]
        assert {key: seen["resend"][key] for key in kept} == kept


def test_a_collected_sticker_is_one_in_every_dialect() -> None:
    shapes = [
        "napcat__group_sticker_subtype1",
        "llonebot__group_sticker_sub_type",
        "lagrange__group_sticker_named_picture",
        "gocqhttp__group_sticker_sub_type_text",
        "gocqhttp__group_string_picture",
    ]
    assert len({tuple(_seen(shape)["stickers"]) for shape in shapes}) == 1


@pytest.mark.parametrize("implementation", ["napcat", "gocqhttp"])
def test_an_upload_that_arrives_twice_has_one_file_id(implementation: str) -> None:
    notice = _seen(f"{implementation}__notice_group_upload")
    assert _seen(f"{implementation}__group_file_message")["file_ids"] == [notice["file"]]


def test_one_message_id_in_two_groups_is_two_messages() -> None:
    one, other = (
        _seen("lagrange__group_same_id_as_in_another"),
        _seen("lagrange__group_same_id_in_another"),
    )
    assert one["message_id"] == other["message_id"]
    assert one["chat"] != other["chat"]


def test_a_reaction_means_the_same_in_every_dialect() -> None:
    adding = ["napcat__notice_emoji_like_old", "lagrange__notice_reaction_add"]
    adding.append("snowluma__notice_emoji_like_add")
    taking = ["llonebot__notice_emoji_like_remove", "lagrange__notice_reaction_remove"]
    taking.append("snowluma__notice_emoji_like_remove")
    for name in adding + taking:
        seen = _seen(name)
        assert (seen["chat"], seen["actor"]) == ("group:20001", "10002")
        assert seen["removed"] is (name in taking)
