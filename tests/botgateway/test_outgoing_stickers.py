"""Stickers on their way out: the frame of each implementation, and what goes out where one can't."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from hypothesis import given
from hypothesis import strategies as st

from botgateway import actions, delivery, dialects, outgoing
from botgateway.actions import read_response
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from botgateway.dialects import Dialect
from core import capabilities, outcomes, sending
from core.media import store
from core.messages import PlatformId
from core.models import OutboxEntry
from core.sending import Claimed
from tests.factories import make_bot, make_chat, make_sent
from tests.flows.waiting import in_database

FRAMES = Path(__file__).parent.parent / "fixtures" / "outgoing"
ANIMATION = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"
FACE = {
    "emoji_id": "a1b2c3d4e5f60718293a4b5c6d7e8f90",
    "emoji_package_id": 231764,
    "key": "0123456789abcdef",
    "summary": "[贴贴]",
}
WORDS = [{"type": "text", "data": {"text": "well done"}}]
QUOTE = {"type": "reply", "data": {"id": "1234567890"}}
NAMES = {
    "napcat": dialects.NAPCAT,
    "llonebot": dialects.LLONEBOT,
    "lagrange": dialects.LAGRANGE,
    "gocqhttp": dialects.GOCQHTTP,
    "gocqhttpfork": dialects.GOCQHTTP_FORK,
    "onebots": dialects.ONEBOTS,
    "snowluma": dialects.SNOWLUMA,
    "unknown": dialects.DEFAULT,
}
FACES = [name for name, dialect in NAMES.items() if dialect.market_faces]
PICTURES = [name for name in NAMES if name not in FACES]


def sticker(sha256: str, face: Mapping[str, Any] | None = None, words: Any = WORDS) -> Any:
    data = {"ref": "sq7fj2k9x", "sha256": sha256, "instead": words}
    return {"type": "sticker", "data": {**data, "market_face": dict(face or {})}}


def claimed(parts: list[dict[str, Any]], payload: bytes | None = None) -> Claimed:
    return Claimed(1, "send", "group", PlatformId("20001"), {}, parts, None, payload)


@pytest.fixture
def kept() -> str:
    """The digest of an animation in the media store."""
    return store.spool(ANIMATION)


async def frame(dialect: Dialect, parts: list[dict[str, Any]]) -> Any:
    """What is written to an implementation for these parts in the group 20001."""
    made = await outgoing.of(dialect, claimed(parts), parts)
    return json.loads(actions.send_message("group", 20001, made.parts, {}).frame("c1-43"))


def golden(name: str) -> Any:
    return json.loads((FRAMES / f"{name}.json").read_text())


@pytest.mark.parametrize("name", NAMES)
async def test_a_face_of_the_platform_goes_out_as_the_implementation_can(
    kept: str, name: str
) -> None:
    made = await frame(NAMES[name], [sticker(kept, FACE)])
    assert made == golden("group_market_face" if name in FACES else "group_picture")


@pytest.mark.parametrize("name", NAMES)
async def test_any_other_goes_out_as_its_very_bytes(kept: str, name: str) -> None:
    assert await frame(NAMES[name], [sticker(kept)]) == golden("group_picture")


@pytest.mark.parametrize("name", NAMES)
async def test_a_picture_may_quote_and_a_face_stands_alone(kept: str, name: str) -> None:
    assert await frame(NAMES[name], [QUOTE, sticker(kept)]) == golden("group_picture_quoting")
    made = await frame(NAMES[name], [QUOTE, sticker(kept, FACE)])
    assert made == golden("group_market_face" if name in FACES else "group_picture_quoting")


@pytest.mark.parametrize("lacking", ["key", "emoji_package_id", "emoji_id"])
async def test_a_face_without_all_that_it_needs_goes_out_as_a_picture(
    kept: str, lacking: str
) -> None:
    face = {name: value for name, value in FACE.items() if name != lacking}
    assert await frame(dialects.NAPCAT, [sticker(kept, face)]) == golden("group_picture")


async def test_a_face_always_has_a_summary(kept: str) -> None:
    (segment,) = (await frame(dialects.LAGRANGE, [sticker(kept, {**FACE, "summary": ""})]))[
        "params"
    ]["message"]
    assert segment["data"]["summary"] == "[动画表情]"


async def test_the_animation_is_kept_to_the_byte(kept: str) -> None:
    made = await outgoing.of(dialects.NAPCAT, claimed([]), [sticker(kept)])
    assert made.media_bytes == len(ANIMATION)
    file = made.parts[0]["data"]["file"]
    assert file == outgoing.as_file(ANIMATION)


@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters()))
def test_no_text_of_a_sticker_becomes_anything_but_a_value(
    summary: str, key: str, emoji_id: str
) -> None:
    face = {**FACE, "summary": f"[CQ:at,qq=all]{summary}", "key": key, "emoji_id": emoji_id or "a"}
    call = actions.send_group_msg(20001, [{"type": "sticker", "data": face}])
    (segment,) = json.loads(call.frame("c1"))["params"]["message"]
    assert (segment["type"], set(segment)) == ("mface", {"type", "data"})
    assert set(segment["data"]) == {"emoji_package_id", "emoji_id", "key", "summary"}
    told = segment["data"]["summary"]
    assert len(told) <= 40
    assert "\n" not in told


DELIVERED = {"retcode": 0, "status": "ok", "data": {"message_id": 5}}
REFUSED = {
    "retcode": 1200,
    "status": "failed",
    "message": "消息体无法解析, 请检查是否发送了不支持的消息类型",
}
MUTED = {"retcode": 1200, "status": "failed", "message": "EventChecker Failed: 被禁言"}
LEFT_PERHAPS = {"retcode": 1200, "status": "failed", "message": "Timeout: sendMsg"}
Answers = list[dict[str, Any]]


def waiting(parts: list[dict[str, Any]]) -> tuple[OutboxEntry, Claimed]:
    """An entry with these parts, claimed."""
    bot = make_bot(connection_number=7)
    chat = make_chat(bot)
    made = make_sent(chat, "well done", "pending", kind="sticker", entry={"parts": parts})
    assert made.entry is not None
    (claim,) = sending.claim(bot.pk, 7)
    return made.entry, claim


async def nowhere(*_: object) -> None:
    """Neither written nor closed."""


async def delivered(
    entry: OutboxEntry, claim: Claimed, *answers: dict[str, Any], dialect: Dialect
) -> list[tuple[str, list[str]]]:
    """The frames that were written, each answered in turn: the action, and its types of segments."""
    frames: list[dict[str, Any]] = []

    async def answer(text: str) -> None:
        frames.append(json.loads(text))
        told = {**answers[len(frames) - 1], "echo": frames[-1]["echo"]}
        connection.calls.resolve(read_response(told))

    connection = LiveConnection(7, entry.bot_id, "1", "universal", Calls(answer), nowhere)
    connection.dialect = dialect
    await delivery.deliver(connection, claim)
    await in_database(entry.refresh_from_db)
    return [
        (one["action"], [segment["type"] for segment in one["params"].get("message", [])])
        for one in frames
    ]


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    abilities = dict.fromkeys(("sticker", "quote"), capabilities.Ability(True))
    platform = capabilities.Platform(abilities)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: platform)


Case = tuple[Callable[[str], list[dict[str, Any]]], Answers, list[list[str]], str, str]
CASES: dict[str, Case] = {
    "sent": (lambda kept: [sticker(kept)], [DELIVERED], [["image"]], "sent", ""),
    "refused": (
        lambda kept: [sticker(kept)],
        [REFUSED, DELIVERED],
        [["image"], ["text"]],
        "sent",
        "sent_as_text",
    ),
    "a face refused": (
        lambda kept: [sticker(kept, FACE)],
        [REFUSED, DELIVERED],
        [["mface"], ["text"]],
        "sent",
        "sent_as_text",
    ),
    "refused under a quote": (
        lambda kept: [QUOTE, sticker(kept)],
        [REFUSED, DELIVERED],
        [["reply", "image"], ["reply", "text"]],
        "sent",
        "sent_as_text",
    ),
    "refused without words": (
        lambda kept: [sticker(kept, words=[])],
        [REFUSED],
        [["image"]],
        "failed",
        "refused",
    ),
    "gone": (lambda _: [sticker("0" * 64)], [DELIVERED], [["text"]], "sent", "sent_as_text"),
    "gone and refused": (
        lambda _: [sticker("0" * 64)],
        [REFUSED],
        [["text"]],
        "failed",
        "refused",
    ),
    "gone without words": (
        lambda _: [sticker("0" * 64, words=[])],
        [],
        [],
        "failed",
        "unsendable",
    ),
    "muted": (lambda kept: [sticker(kept)], [MUTED], [["image"]], "failed", "refused"),
    "in doubt": (
        lambda kept: [sticker(kept)],
        [LEFT_PERHAPS],
        [["image"]],
        "unknown",
        "unclear_answer",
    ),
}


@pytest.mark.usefixtures("able")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("case", CASES)
async def test_what_goes_out_for_a_sticker_and_never_twice_in_doubt(kept: str, case: str) -> None:
    parts, answers, types, state, reason = CASES[case]
    entry, claim = await in_database(lambda: waiting(parts(kept)))
    written = await delivered(entry, claim, *answers, dialect=dialects.NAPCAT)
    assert [segments for _, segments in written] == types
    assert (entry.state, entry.reason) == (state, reason)
    is_told = await in_database(lambda: outcomes.lines(outcomes.untold(entry.chat)))
    assert bool(is_told) is bool(reason)


@pytest.mark.usefixtures("able")
@pytest.mark.django_db(transaction=True)
async def test_a_store_that_can_not_be_read_leaves_it_to_the_next_try(
    kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, claim = await in_database(lambda: waiting([sticker(kept)]))

    def away(sha256: str) -> bytes:
        raise OperationalError("restarting")

    monkeypatch.setattr(store, "read", away)
    assert await delivered(entry, claim, dialect=dialects.NAPCAT) == []
    assert (entry.state, entry.connection_number) == ("pending", None)


@pytest.mark.usefixtures("able")
@pytest.mark.django_db(transaction=True)
async def test_lagrange_sends_the_sticker_without_a_quote_that_it_does_not_know(kept: str) -> None:
    entry, claim = await in_database(lambda: waiting([QUOTE, sticker(kept)]))
    thrown = {"retcode": 200, "status": "failed"}
    written = await delivered(entry, claim, thrown, thrown, DELIVERED, dialect=dialects.LAGRANGE)
    assert written == [
        ("send_group_msg", ["reply", "image"]),
        ("get_msg", []),
        ("send_group_msg", ["image"]),
    ]
    assert (entry.state, entry.reason) == ("sent", "")
