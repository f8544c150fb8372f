"""Pictures on their way from a frame to the model, through every real part."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from arise_site.openai_server import Reply
from core.models import Bot, InboundItem, ItemMedia, Turn
from tests.core.media.drawing import picture
from tests.core.media.servers import Server, answer, running
from tests.fakes.model import Script, assistant, says
from tests.fakes.site import Site
from tests.flows.conftest import Platform
from tests.flows.waiting import ended_turns, rows

GROUP = "group:20001"
SEND = "send_message"


@pytest.fixture(scope="module")
def pictures() -> Iterator[Server]:
    with running() as server:
        yield server


def at(bot: Bot) -> dict[str, Any]:
    return {"type": "at", "data": {"qq": bot.self_id}}


def image(file: str, url: str = "", sub_type: int = 0) -> dict[str, Any]:
    return {"type": "image", "data": {"file": file, "url": url, "sub_type": sub_type}}


def shown(request: dict[str, Any]) -> list[Image.Image]:
    """The pictures in a request, as the model sees them."""
    found: list[Image.Image] = []
    for part in request["messages"][1]["content"]:
        if part["type"] == "image_url":
            head, _, body = part["image_url"]["url"].partition(";base64,")
            assert head in {"data:image/png", "data:image/jpeg"}
            found.append(Image.open(io.BytesIO(base64.b64decode(body, validate=True))))
    return found


async def test_a_picture_reaches_the_model_and_the_stored_request_only_refers_to_it(
    platform: Platform, script: Script, bot: Bot, pictures: Server
) -> None:
    pictures.paths["/cat.png"] = answer(picture("PNG", (2000, 1000), "orange"))
    script.reply(tool_calls=[(SEND, {"content": "an orange wall"})])
    script.reply()
    async with platform() as onebot:
        segments = [at(bot), image(f"{'A' * 32}.png", pictures.url("/cat.png"))]
        said = await onebot.say_segments(GROUP, 10002, segments)
        (sent,) = await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert sent.text == "an orange wall"
    first, second = script.requests
    for request in (first, second):  # each step shows it again
        (seen,) = shown(request)
        assert seen.size == (768, 384)
        assert seen.convert("RGB").getpixel((5, 5)) == (255, 165, 0)
    words, name, _ = first["messages"][1]["content"]
    assert "[图片 1]</message>" in words["text"]
    assert name["text"].startswith(f'[图片 1] in <message id="{said.message_id}" sender="10002"')
    (row,) = await rows(ItemMedia.objects.filter(item__bot=bot))
    assert turn.messages[1]["content"][2]["image_url"] == {"url": f"media:{row.view}"}
    assert "base64" not in str(turn.messages)


async def test_bytes_in_a_frame_reach_the_model_and_no_item_has_them(
    platform: Platform, script: Script, bot: Bot
) -> None:
    content = base64.b64encode(picture("JPEG", (300, 200), "blue")).decode()
    script.reply(tool_calls=[("stay_silent", {"reason": "just a picture"})])
    async with platform() as onebot:
        await onebot.say_segments(GROUP, 10002, [image(f"base64://{content}", sub_type=1)])
        await onebot.say_segments(GROUP, 10002, [at(bot)])
        await ended_turns(bot, 1)
    (request,) = script.requests
    assert [seen.size for seen in shown(request)] == [(300, 200)]
    assert "[sticker 1]" in request["messages"][1]["content"][0]["text"]
    for item in await rows(InboundItem.objects.filter(bot=bot)):
        assert "base64" not in str(item.parts)


async def test_a_picture_that_can_not_be_had_is_a_placeholder(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[("stay_silent", {"reason": "nothing to see"})])
    async with platform() as onebot:
        await onebot.say_segments(GROUP, 10002, [at(bot), image("a.png", "http://10.0.0.1/a.png")])
        await ended_turns(bot, 1)
    (request,) = script.requests
    assert "[图片]</message>" in request["messages"][1]["content"]
    (row,) = await rows(ItemMedia.objects.filter(item__bot=bot))
    assert row.failure == "blocked_address"


async def test_a_view_that_is_gone_is_words_in_the_next_step(
    platform: Platform, script: Script, bot: Bot, pictures: Server, site: Site
) -> None:
    pictures.paths["/dog.png"] = answer(picture("PNG", (50, 50)))

    def lose_it(_request: dict[str, Any]) -> Reply:
        for path in (Path(site.environment["ARISE_HOME"]) / "media").rglob("*"):
            if path.is_file():
                path.unlink()
        return says(assistant(tool_calls=[(SEND, {"content": "seen"})]))

    script.add(lose_it)
    script.reply()
    async with platform() as onebot:
        await onebot.say_segments(GROUP, 10002, [at(bot), image("d.png", pictures.url("/dog.png"))])
        await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert turn.state == Turn.State.DONE
    assert len(shown(script.requests[0])) == 1
    content = script.requests[1]["messages"][1]["content"]
    assert content[2] == {"type": "text", "text": "[图片]"}
