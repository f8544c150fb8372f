"""`manage.py simulate`: what a person types, and what is shown."""

import asyncio
import base64
import hashlib
import http
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from botgateway import events, frames, parts
from botgateway.simulator import bots
from botgateway.simulator.platform import NoConnection, SimulatedPlatform
from botgateway.simulator.session import MOST_PICTURE_BYTES, Session
from botgateway.simulator.world import World
from core.models import Bot
from tests.botgateway.gateway_stub import GatewayStub, gateway_stub

_HELLO = [{"type": "text", "data": {"text": "hello"}}]


async def _simulate(stub: GatewayStub, typed: str, **options: Any) -> str:
    out = io.StringIO()
    defaults = {"bot": "10001", "token": "t", "linger": 0.3, "url": stub.url}
    await asyncio.to_thread(
        call_command,
        "simulate",
        stdout=out,
        **{"stdin": io.StringIO(typed), **defaults, **options},
    )
    return out.getvalue()


async def test_piped_lines_are_said_and_the_answers_are_waited_for() -> None:
    async with gateway_stub() as stub:
        running = asyncio.create_task(_simulate(stub, "@bot hi\njust us\n", linger=1))
        said, aside = await stub.event(1), await stub.event(2)
        await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        own = await stub.event(3)
        shown = await running
    assert (own["post_type"], own["message"]) == ("message_sent", _HELLO)
    assert [segment["type"] for segment in said["message"]] == ["at", "text"]
    assert said["sender"]["nickname"] == "Ann"
    assert [segment["type"] for segment in aside["message"]] == ["text"]
    lines = shown.splitlines()
    assert lines[0] == f"Connected to {stub.url} as bot (10001)."
    assert "#1 Ann: @bot hi" in lines
    assert "#2 Ann: just us" in lines
    assert "#3 bot: hello" in lines
    assert sum("begin with @bot" in line for line in lines) == 1


async def test_every_command_tells_the_gateway_something() -> None:
    typed = "\n".join(
        [
            "hi",
            "/as 10003 Bob",
            "/sticker cat",
            "/poke",
            "/quote 1 indeed",
            "/react #1 👍",
            "/react 1 76",
            "/recall 2",
            "/private",
            "psst",
            "/group 20002",
            "/quit",
            "never said",
        ]
    )
    async with gateway_stub() as stub:
        await _simulate(stub, typed)
        kinds = [
            event.get("notice_type") or f"{event['message_type']}:{event['user_id']}"
            for event in stub.events[1:]
        ]
        emoji = [event["likes"][0]["emoji_id"] for event in stub.events if "likes" in event]
        quote = stub.events[4]["message"][0]
        assert quote == {"type": "reply", "data": {"id": str(stub.events[1]["message_id"])}}
    assert kinds == [
        "group:10002",
        "group:10003",
        "notify",
        "group:10003",
        "group_msg_emoji_like",
        "group_msg_emoji_like",
        "group_recall",
        "private:10003",
    ]
    assert emoji == ["128077", "76"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/react x 👍", "/react N EMOJI"),
        ("/react 1", "there is no message #1"),
        ("/recall 0", "there is no message #0"),
        ("/as", "/as ID"),
        ("/dance", "no such command: /dance"),
    ],
)
async def test_a_wrong_line_is_answered_with_how_to_write_it(line: str, told: str) -> None:
    async with gateway_stub() as stub:
        assert f"? {told}" in await _simulate(stub, f"{line}\n")


def _sent(event: dict[str, Any]) -> tuple[str, bytes]:
    """The stable id by which the gateway knows a sticker of an event, and its bytes."""
    message = frames.decode(json.dumps(event))
    assert isinstance(message, events.MessageEvent)
    (part,) = parts.from_segments(message.segments)
    assert part.type == "sticker"
    address = event["message"][0]["data"]["url"]
    return part.data["id"], base64.b64decode(address.removeprefix("base64://"))


async def test_stickers_are_told_with_their_pictures(tmp_path: Path) -> None:
    mine = tmp_path / "my sticker.gif"
    mine.write_bytes(b"GIF89a of my own")
    typed = f"/sticker cat\n/sticker {mine}\n/face hug\n/sticker dog\n/sticker cat\n"
    async with gateway_stub() as stub:
        shown = await _simulate(stub, typed)
        cat, own, face, dog, again = map(_sent, stub.events[1:6])
    assert own[1] == b"GIF89a of my own"
    assert own[0] == f"md5:{hashlib.md5(own[1], usedforsecurity=False).hexdigest()}"
    assert cat[1].startswith(b"\x89PNG")
    assert face[0] == f"mface:{hashlib.md5(b'hug', usedforsecurity=False).hexdigest()}"
    assert cat == again
    assert cat != dog
    assert "#1 Ann: [sticker]" in shown


@pytest.mark.parametrize("named", ["x.png", "~/nobody", "./wave", "no/such", "C:\\x.gif"])
async def test_a_sticker_file_that_is_not_there_ends_what_was_piped_in(named: str) -> None:
    async with gateway_stub() as stub:
        with pytest.raises(CommandError, match="there is no file") as told:
            await _simulate(stub, f"/sticker {named}\nnever said\n")
        assert len(stub.events) == 1
    assert str(told.value).count("\n") == 0
    assert told.value.returncode == 1


async def test_a_sticker_file_that_is_too_large_is_not_sent(tmp_path: Path) -> None:
    large = tmp_path / "large.gif"
    large.write_bytes(b"GIF89a".ljust(MOST_PICTURE_BYTES + 1))
    async with gateway_stub() as stub:
        with pytest.raises(CommandError, match="larger than"):
            await _simulate(stub, f"/sticker {large}\n")
        assert len(stub.events) == 1


async def test_at_a_terminal_a_file_that_is_not_there_may_be_typed_anew() -> None:
    typed = io.StringIO("/sticker x.png\nstill here\n")
    typed.isatty = lambda: True  # type: ignore[method-assign]
    async with gateway_stub() as stub:
        shown = await _simulate(stub, "", stdin=typed)
        assert "  ? there is no file x.png" in shown.splitlines()
        assert [event.get("raw_message") for event in stub.events[1:]] == ["still here"]


async def test_stickers_of_the_bot_are_shown() -> None:
    picture = {"file": "base64://R0lGODlh", "sub_type": 1, "subType": 1}
    face = {"emoji_id": "a1", "emoji_package_id": 5, "key": "k", "summary": "[hug]"}
    async with gateway_stub() as stub:
        running = asyncio.create_task(_simulate(stub, "hi\n", linger=1))
        await stub.event(1)
        for kind, data in (("image", picture), ("mface", face)):
            message = [{"type": kind, "data": data}]
            await stub.call("send_group_msg", group_id=20001, message=message)
        shown = await running
    assert "#2 bot: [sticker, 6 bytes]" in shown
    assert "#3 bot: [sticker [hug]]" in shown


async def test_gestures_of_the_bot_are_shown() -> None:
    async with gateway_stub() as stub:
        running = asyncio.create_task(_simulate(stub, "hi\n", linger=1))
        said = await stub.event(1)
        await stub.call("set_msg_emoji_like", message_id=said["message_id"], emoji_id="76")
        await stub.call("group_poke", group_id=20001, user_id=10002)
        answer = await stub.call("send_private_msg", user_id=10002, message=_HELLO)
        await stub.call("delete_msg", message_id=answer["data"]["message_id"])
        shown = await running
    assert "* bot reacts with face 76: #1" in shown
    assert "* bot pokes Ann in group:20001" in shown
    assert "#2 bot (private:10002): hello" in shown
    assert "* bot recalled: #2" in shown


async def test_no_server_a_refusal_and_a_closed_connection_are_one_line_each() -> None:
    async with gateway_stub() as stub:
        stub.refuse_with = http.HTTPStatus.UNAUTHORIZED
        with pytest.raises(CommandError, match=r"refused \(HTTP 401\)$"):
            await _simulate(stub, "")
        stub.refuse_with = None
        running = asyncio.create_task(_simulate(stub, "", linger=10))
        await stub.event(0)
        await stub.close_connection(4000, "replaced")
        with pytest.raises(CommandError, match=r"closed the connection \(4000 replaced\)"):
            await running
    with pytest.raises(CommandError, match="nothing to talk to"):
        await _simulate(stub, "")
    with pytest.raises(CommandError, match="--bot needs --token"):
        await _simulate(stub, "", token="")


async def test_a_lost_connection_is_made_again_and_a_taken_place_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("botgateway.simulator.session.RECONNECT_SECONDS", 0.05)
    shown: list[str] = []
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    async with gateway_stub() as stub:
        platform = SimulatedPlatform(
            stub.url, self_id=10001, world=World(10001, groups={20001: ""})
        )
        async with platform:
            session = Session(platform, shown.append, group=20001, user=10002)
            running = asyncio.create_task(session.run(lines, linger_seconds=1))
            await stub.event(0)
            await stub.close_connection(1012, "restarting")
            await stub.event(1)
            await lines.put("still here")
            assert (await stub.event(2))["raw_message"] == "still here"
            await stub.close_connection(4000, "replaced")
            with pytest.raises(NoConnection, match="4000 replaced"):
                await running
    assert any("1012 restarting" in line for line in shown)
    assert any("connected again" in line for line in shown)


async def test_typed_bytes_that_are_no_text_do_not_end_the_session() -> None:
    async with gateway_stub() as stub:
        typed = io.TextIOWrapper(io.BytesIO(b"\xff hi\n"), "utf-8", errors="surrogateescape")
        await _simulate(stub, "", stdin=typed)
        assert (await stub.event(1))["raw_message"] == "\ufffd hi"


@pytest.mark.parametrize("options", [{"group": ""}, {"user": " "}, {"linger": -1.0}])
async def test_bad_options_are_refused_before_anything_is_done(options: dict[str, Any]) -> None:
    async with gateway_stub() as stub:
        with pytest.raises(CommandError, match="--"):
            await _simulate(stub, "", **options)
        assert stub.headers == []


@pytest.mark.django_db
def test_the_invented_bot_is_made_once_with_a_fresh_token_each_time() -> None:
    first, old_token = bots.provide()
    again, token = bots.provide()
    assert (again.pk, again.name, again.self_id) == (first.pk, "Simulator", "1000")
    assert token != old_token
    assert Bot.objects.get().token_hash == hashlib.sha256(token.encode()).hexdigest()


@pytest.mark.django_db
def test_a_disabled_invented_bot_stays_disabled() -> None:
    Bot.objects.create(self_id=bots.SELF_ID, name="Off", enabled=False)
    with pytest.raises(CommandError, match="disabled in the console"):
        call_command("simulate", stdin=io.StringIO(""))
