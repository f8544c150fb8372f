"""A sticker on its way from a frame to a meaning, beside turns and whatever they come to."""

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from core.database import give_back
from core.models import Bot, CapabilitySetting, Chat, OutboxEntry, Turn
from stickers import recognition
from stickers.models import Picture, Sticker
from tests.factories import make_chat
from tests.fakes.model import Script, ScriptedModel, assistant, says
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import Site
from tests.flows.conftest import EYES, NAPCAT, Platform, insist
from tests.flows.test_conversation import GROUP
from tests.flows.test_silence import mute, silenced
from tests.flows.waiting import ended_turns, eventually, in_database, rows
from tests.stickers import crowd, drawing

SEEN = says(
    assistant(tool_calls=[(recognition.TOOL_NAME, {"meaning": "so tired", "sensitive": False})])
)
SLOW = says(assistant(tool_calls=[("stay_silent", {"reason": "nothing to say"})]), delay=3)


@pytest.fixture(scope="module")
def all_eyes(scripted_model: ScriptedModel) -> Script:
    return scripted_model.script(EYES)


@pytest.fixture
def eyes(all_eyes: Script) -> Iterator[Script]:
    """The model that sees stickers; it has a meaning for each."""
    all_eyes.always(SEEN)
    all_eyes.requests.clear()
    yield all_eyes
    insist(Picture.objects.all().delete)  # the next test's stickers are new ones again


@pytest.fixture
def chat(bot: Bot) -> Chat:
    return make_chat(bot, external_id="20001", sticker_learning=True)


def sticker(seed: int) -> dict[str, Any]:
    """A collected sticker as NapCat tells it."""
    content = drawing.sticker(seed)
    name = drawing.md5_of(content).removeprefix("md5:").upper()
    url = "base64://" + base64.b64encode(content).decode()
    data = {"file": f"{name}.jpg", "url": url, "sub_type": 1, "summary": "[动画表情]"}
    return {"type": "image", "data": data}


def at(bot: Bot) -> dict[str, Any]:
    return {"type": "at", "data": {"qq": bot.self_id}}


async def learned(chat: Chat, count: int = 1) -> list[Sticker]:
    async def look() -> list[Sticker]:
        stored = await rows(Sticker.objects.filter(chat=chat, state="stored"))
        return stored if len(stored) >= count else []

    return await eventually(look)


async def show(onebot: FakeOneBot, *segments: dict[str, Any]) -> None:
    await onebot.say_segments(GROUP, 10002, list(segments))


async def test_a_turn_that_really_runs_and_ends_in_silence_learns_all_the_same(
    platform: Platform, script: Script, bot: Bot, chat: Chat, eyes: Script
) -> None:
    script.reply(tool_calls=[("stay_silent", {"reason": "nothing to say"})])
    async with platform(**NAPCAT) as onebot:
        await show(onebot, at(bot), sticker(101))
        (turn,) = await ended_turns(bot, 1)
        (kept,) = await learned(chat)
    assert (turn.state, turn.sends) == ("silent", 0)
    assert not await rows(OutboxEntry.objects.filter(bot=bot))
    assert (kept.meaning, kept.times_sent) == ("so tired", 0)
    assert len(eyes.requests) == 1


async def test_a_turn_that_runs_does_not_delay_it_and_a_new_message_does_not_cancel_it(
    platform: Platform, script: Script, bot: Bot, chat: Chat, eyes: Script
) -> None:
    script.add(SLOW)
    async with platform(**NAPCAT) as onebot:
        await show(onebot, at(bot))
        await in_database(lambda: script.wait_for_requests(1))
        await show(onebot, sticker(102))
        await onebot.say(GROUP, 10003, "something else")
        await learned(chat)
        (turn,) = await rows(Turn.objects.filter(chat=chat))
        assert turn.ended_at is None  # the model of the turn has not even answered yet
        await ended_turns(bot, 1)


async def test_a_sticker_that_addresses_nobody_is_learned_without_a_turn(
    platform: Platform, script: Script, bot: Bot, chat: Chat, eyes: Script
) -> None:
    async with platform(**NAPCAT) as onebot:
        await show(onebot, sticker(103))
        await learned(chat)
    assert not await rows(Turn.objects.filter(chat=chat))


async def test_it_is_learned_while_the_bot_may_not_speak(
    platform: Platform, script: Script, bot: Bot, chat: Chat, eyes: Script
) -> None:
    async with platform(**NAPCAT) as onebot:
        await mute(onebot)
        await silenced(bot, "muted")
        await show(onebot, at(bot), sticker(104))
        await learned(chat)
    assert not await rows(Turn.objects.filter(chat=chat))


async def test_the_same_sticker_many_times_at_once_is_paid_once(
    platform: Platform, script: Script, bot: Bot, chat: Chat, eyes: Script
) -> None:
    eyes.always(says(SEEN.body["choices"][0]["message"], delay=1))
    async with platform(**NAPCAT) as onebot:
        for _ in range(8):
            await show(onebot, sticker(105))
        await learned(chat)
        await show(onebot, sticker(106))
        await learned(chat, 2)
    assert len(eyes.requests) == 2
    assert await in_database(Picture.objects.count) == 2


def test_a_crowd_of_sightings_over_two_workers_one_of_which_dies_is_paid_once_each(
    site: Site, chat: Chat, eyes: Script, settings: Settings
) -> None:
    settings.ARISE_VISION_MODEL = EYES  # this process takes in what is seen
    Chat.objects.filter(pk=chat.pk).update(sticker_rate=10_000)
    CapabilitySetting.objects.create(chat=chat, target="cap", name="sticker", allowed=True)
    eyes.always(says(SEEN.body["choices"][0]["message"], delay=0.2))
    drawn = [crowd.Drawn(number) for number in range(12)]
    site.start_worker("second")
    crowd.feed([chat], list(crowd.sightings(drawn, 300, seed=1)))
    eyes.wait_for_requests(6, timeout=60)
    site.kill("second")
    end = time.monotonic() + 90
    while faults := crowd.broken(drawn, len(eyes.requests)):
        assert time.monotonic() < end, faults
        time.sleep(0.5)
        # What only the dead worker had taken is seen again.
        crowd.feed([chat], [(one.spooled[0], one.names[0]) for one in drawn])
    give_back()
