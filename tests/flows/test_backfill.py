"""What was said while the bot was not connected: fetched after the reconnect, through the same door."""

import time
from typing import Any

import pytest

from core.models import Bot, Decision, InboundItem
from tests.fakes.model import Script
from tests.fakes.onebot import FakeOneBot, refused, silent
from tests.flows.conftest import NAPCAT, Platform
from tests.flows.test_conversation import GROUP, answers, at, heard
from tests.flows.test_own_words import heard_of, segment
from tests.flows.waiting import ended_turns, eventually, in_database, introduced, rows

HISTORY = "get_group_msg_history"
LLONEBOT = {"app_name": "LLOneBot", "app_version": "8.1.7"}


def missed(onebot: FakeOneBot, *segments: dict[str, Any], seconds_ago: float = 0) -> None:
    """Somebody says something of which the gateway is not told."""
    now = onebot.world.now
    onebot.world.now = lambda: time.time() - seconds_ago
    onebot.world.keep(GROUP, 10002, list(segments))
    onebot.world.now = now


async def texts(bot: Bot) -> list[str]:
    """What is stored, in the order stored."""
    return [item.text for item in await rows(InboundItem.objects.filter(bot=bot).order_by("pk"))]


async def texts_become(bot: Bot, *expected: str) -> None:
    """Waits until exactly this is stored."""

    async def look() -> bool:
        return await texts(bot) == list(expected)

    await eventually(look)


async def reconnected(onebot: FakeOneBot, bot: Bot) -> None:
    """The implementation connects again, and the gateway knows which one it is."""
    await onebot.connect()
    await introduced(bot)


@pytest.mark.parametrize("implementation", [NAPCAT, LLONEBOT], ids=["NapCat", "LLOneBot"])
async def test_a_mention_that_was_missed_is_stored_in_its_place_and_answered(
    platform: Platform, script: Script, bot: Bot, implementation: dict[str, str]
) -> None:
    answers(script, "here I am")
    async with platform(**implementation) as onebot:
        await heard_of(onebot, bot)
        onebot.hang_up()
        missed(onebot, segment("one"))
        missed(onebot, at(bot), segment(" two"))
        missed(onebot, segment("three"))
        await reconnected(onebot, bot)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        assert await texts(bot) == ["good morning", "one", " two", "three"]
        await reconnected(onebot, bot)
        await onebot.say(GROUP, 10003, "last")
        await texts_become(bot, "good morning", "one", " two", "three", "last")
    assert ">three</message>" in heard(script.requests[0])
    assert len(onebot.called(HISTORY)) >= 2


async def test_what_was_missed_long_ago_is_stored_and_wakes_nothing(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(**NAPCAT) as onebot:
        await heard_of(onebot, bot)
        await eventually(lambda: rows(Decision.objects.filter(chat__bot=bot)))
        onebot.hang_up()
        missed(onebot, at(bot), segment(" are you there?"), seconds_ago=40)
        await reconnected(onebot, bot)
        await texts_become(bot, "good morning", " are you there?")
        decisions = Decision.objects.filter(chat__bot=bot, reason="replayed")
        (decision,) = await eventually(lambda: rows(decisions))
    (item,) = await rows(bot.items.filter(pk=decision.last_item_id))
    assert (item.is_old, item.trigger, decision.verdict) == (True, "mention", "skip")
    assert script.requests == []


async def test_more_than_a_page_is_fetched_and_nothing_is_stored_twice(
    platform: Platform, bot: Bot
) -> None:
    count = 120
    async with platform(**NAPCAT) as onebot:
        await heard_of(onebot, bot)
        onebot.hang_up()
        for number in range(count):
            missed(onebot, segment(f"missed {number}"))
        # One of them comes by itself as well, as implementations replay what they had in hand.
        *_, last = onebot.world.messages.values()
        await onebot.connect()
        await onebot.send_event(onebot.world.message_event(last))
        stored = InboundItem.objects.filter(bot=bot)
        await eventually(lambda: in_database(lambda: stored.count() >= count + 1))
        await reconnected(onebot, bot)
        await onebot.say(GROUP, 10003, "after that")
        await eventually(lambda: rows(stored.filter(text="after that")))
    kept = await texts(bot)
    wanted = ["good morning", *(f"missed {number}" for number in range(count)), "after that"]
    assert sorted(kept) == sorted(wanted)
    replayed = f"missed {count - 1}"
    assert [text for text in kept if text != replayed] == [
        text for text in wanted if text != replayed
    ]
    assert len(onebot.called(HISTORY)) >= 3


async def test_the_bots_own_words_in_a_history_are_no_items(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "my own words")
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        onebot.hang_up()
        missed(onebot, segment("nice words"))
        await reconnected(onebot, bot)
        await texts_become(bot, " hi", "nice words")
        await onebot.say(GROUP, 10002, "last")
        await texts_become(bot, " hi", "nice words", "last")
    assert len(await rows(bot.outbox)) == 1


async def test_a_history_that_is_refused_or_never_comes_leaves_the_connection_at_work(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "here I am")
    async with platform(**NAPCAT) as onebot:
        await heard_of(onebot, bot)
        onebot.hang_up()
        missed(onebot, segment("missed"))
        onebot.script(HISTORY, refused(1200, "no history"), silent(delivered=False))
        await reconnected(onebot, bot)
        await onebot.wait_for_calls(HISTORY, 1)
        await reconnected(onebot, bot)
        await onebot.wait_for_calls(HISTORY, 2)
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await reconnected(onebot, bot)
        await texts_become(bot, "good morning", " hi", "missed")


async def test_a_gap_that_could_not_be_filled_is_filled_later_under_whatever_was_said_since(
    platform: Platform, bot: Bot
) -> None:
    since = 60
    async with platform(**NAPCAT) as onebot:
        await heard_of(onebot, bot)
        onebot.hang_up()
        missed(onebot, segment("missed"))
        onebot.script(HISTORY, silent(delivered=False))
        await reconnected(onebot, bot)
        await onebot.wait_for_calls(HISTORY, 1)
        for number in range(since):
            await onebot.say(GROUP, 10003, f"word {number}")
        stored = InboundItem.objects.filter(bot=bot)
        await eventually(lambda: rows(stored.filter(text=f"word {since - 1}")))
        await reconnected(onebot, bot)
        await onebot.wait_for_calls(HISTORY, 2)
        await eventually(lambda: rows(stored.filter(text="missed")), timeout=5)


async def test_an_implementation_whose_events_tell_no_sequence_is_not_asked(
    platform: Platform, bot: Bot
) -> None:
    async with platform(app_name="Lagrange.OneBot", app_version="0.0.3") as onebot:
        await heard_of(onebot, bot)
        onebot.hang_up()
        missed(onebot, segment("missed"))
        await reconnected(onebot, bot)
        await onebot.say(GROUP, 10003, "last")
        await texts_become(bot, "good morning", "last")
    assert onebot.called(HISTORY) == []
