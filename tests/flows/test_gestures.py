"""Pokes, reactions and profile likes: from what the model asks for to what the platform is asked."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from django.core.management import call_command

from arise_site.openai_server import Reply
from core import tokens
from core.models import Bot, SentMessage, ToolCall
from tests.fakes.implementations import BY_COLUMN, NAPCAT, OTHER, Implementation
from tests.fakes.model import Script, ToolCallSpec, assistant, says
from tests.fakes.onebot import FakeOneBot, answers, refused, silent
from tests.flows.conftest import TOKEN, Platform, remove
from tests.flows.test_conversation import GROUP, SEND, heard
from tests.flows.test_conversation import answers as says_and_ends
from tests.flows.waiting import ended_turns, in_database, introduced, rows

ANN = "10002"
POKE: ToolCallSpec = ("poke_send", {"user_id": ANN})
LIKE: ToolCallSpec = ("like_profile", {"user_id": ANN})
GESTURES = ("poke_send", "reaction_send", "like_profile")


def react(message_id: object, emoji: str = "👍") -> ToolCallSpec:
    return ("reaction_send", {"message_id": str(message_id), "emoji": emoji})


def say(text: str) -> ToolCallSpec:
    return (SEND, {"content": text})


def deeds(onebot: FakeOneBot) -> list[str]:
    """What the platform was asked to do, in order."""
    return [call.action for call in onebot.calls if not call.action.startswith("get_")]


def offered(request: dict[str, Any]) -> set[str]:
    """The gestures that the model was offered."""
    return {tool["function"]["name"] for tool in request["tools"]} & set(GESTURES)


async def told(bot: Bot) -> list[str]:
    """What each tool call of the bot was told, in order: `ok`, or the code of the refusal."""
    calls = await rows(ToolCall.objects.filter(step__turn__chat__bot=bot).order_by("pk"))
    return [call.result.get("error", "ok") for call in calls]


async def gestures(bot: Bot) -> list[tuple[str, str, str]]:
    entries = await rows(bot.outbox.filter(message=None).order_by("pk"))
    return [(entry.action, entry.state, entry.reason) for entry in entries]


async def test_gestures_leave_in_order_with_messages_and_are_no_messages(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(implementation=NAPCAT) as onebot:
        said = await onebot.say(GROUP, 10002, "earlier")
        calls = [say("one"), POKE, react(said.message_id), say("two"), LIKE]
        script.reply(tool_calls=calls)
        script.reply()
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert await told(bot) == ["ok"] * 5
    assert deeds(onebot) == [
        "send_group_msg",
        "group_poke",
        "set_msg_emoji_like",
        "send_group_msg",
        "send_like",
    ]
    reaction = onebot.called("set_msg_emoji_like")[0].params
    assert reaction == {"message_id": said.message_id, "emoji_id": "128077", "set": True}
    assert (turn.state, turn.sends, turn.gestures) == ("done", 2, 3)
    messages = await rows(SentMessage.objects.filter(chat__bot=bot))
    assert len(messages) == 2
    assert [state for _, state, _ in await gestures(bot)] == ["sent"] * 3


@pytest.mark.parametrize("made", BY_COLUMN.values(), ids=BY_COLUMN)
async def test_every_implementation_is_asked_in_its_own_way_for_what_it_can(
    platform: Platform, script: Script, bot: Bot, made: Implementation
) -> None:
    can = {
        name
        for name in GESTURES
        if made.dialect.action("profile_like" if name == "like_profile" else name)
        and made is not OTHER
    }
    async with platform(implementation=made) as onebot:
        said = await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        script.reply(tool_calls=[POKE, react(said.message_id, "76"), LIKE])
        script.reply()
        await ended_turns(bot, 1)
        assert offered(script.requests[0]) == can
        assert await told(bot) == ["ok" if name in can else "unknown_tool" for name in GESTURES]
        assert len(deeds(onebot)) == len(can)
        assert [state for _, state, _ in await gestures(bot)] == ["sent"] * len(can)
    assert not await rows(SentMessage.objects.filter(chat__bot=bot))


async def test_a_turn_that_only_made_a_gesture_is_done_and_not_silent(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[POKE])
    script.reply()
    async with platform(implementation=NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert (turn.state, turn.sends, turn.gestures) == ("done", 0, 1)


async def test_a_refused_gesture_is_told_with_the_next_request(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[POKE])
    script.reply()
    says_and_ends(script, "well")
    async with platform(implementation=NAPCAT) as onebot:
        onebot.script("group_poke", refused(1200, "对方已关闭戳一戳"))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10002, "and?", mention_bot=True)
        await ended_turns(bot, 2)
    assert await gestures(bot) == [("poke", "failed", "refused")]
    told_of = '<outcome action="poke" target="10002" state="failed" reason="refused"/>'
    requests = [str(request["messages"]) for request in script.requests]
    assert sum(told_of in request for request in requests[:-1]) >= 1
    assert len(onebot.called("group_poke")) == 1


async def test_a_gesture_without_an_answer_holds_no_message_and_is_never_made_again(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[POKE, say("hello")])
    script.reply()
    async with platform(implementation=NAPCAT) as onebot:
        onebot.always("group_poke", silent(delivered=False))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        assert await gestures(bot) == [("poke", "unknown", "no_answer")]
        onebot.hang_up()
        await onebot.connect()
        await introduced(bot)
        says_and_ends(script, "again")
        await onebot.say(GROUP, 10002, "you there?", mention_bot=True)
        await onebot.wait_for_sends(2)
        await ended_turns(bot, 2)
    assert len(onebot.called("group_poke")) == 1
    assert await gestures(bot) == [("poke", "unknown", "no_answer")]


async def test_what_can_not_be_resolved_or_is_too_much_makes_no_call(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(implementation=NAPCAT) as onebot:
        elsewhere = await onebot.say("group:20002", 10003, "elsewhere")
        said = await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        calls: list[ToolCallSpec] = [
            ("poke_send", {"user_id": "10009"}),
            ("like_profile", {"user_id": bot.self_id}),
            react(elsewhere.message_id),
            react("m1"),
            react(said.message_id, "🇨🇳"),
            POKE,
            POKE,
            LIKE,
            react(said.message_id),
            react(said.message_id, "76"),
        ]
        script.reply(tool_calls=calls)
        script.reply()
        await ended_turns(bot, 1)
    assert await told(bot) == [
        "unknown_user",
        "not_yourself",
        "unknown_message",
        "unknown_message",
        "bad_emoji",
        "ok",
        "cooling_down",
        "ok",
        "ok",
        "gesture_budget_spent",
    ]
    assert deeds(onebot) == ["group_poke", "send_like", "set_msg_emoji_like"]


async def test_a_poke_at_somebody_is_made_once_over_all_chats_and_turns_for_a_while(
    platform: Platform, script: Script, bot: Bot
) -> None:
    for _ in range(3):
        script.reply(tool_calls=[POKE])
        script.reply()
    async with platform(implementation=NAPCAT) as onebot:
        for turns, chat in enumerate((GROUP, GROUP, "private:10002"), 1):
            await onebot.say(chat, 10002, "poke me!", mention_bot=chat == GROUP)
            await ended_turns(bot, turns)
    assert await told(bot) == ["ok", "cooling_down", "cooling_down"]
    assert deeds(onebot) == ["group_poke"]


@pytest.mark.parametrize("name", GESTURES)
async def test_a_gesture_that_is_switched_off_is_not_offered(
    platform: Platform, script: Script, bot: Bot, name: str
) -> None:
    says_and_ends(script, "one")
    says_and_ends(script, "two")
    capability = "profile_like" if name == "like_profile" else name
    async with platform(implementation=NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
        await in_database(
            lambda: call_command("chatset", bot.self_id, GROUP, f"cap.{capability}=off")
        )
        await onebot.say(GROUP, 10002, "again", mention_bot=True)
        await ended_turns(bot, 2)
    assert offered(script.requests[0]) == set(GESTURES)
    assert offered(script.requests[2]) == set(GESTURES) - {name}


async def test_what_an_implementation_turns_out_to_lack_is_not_offered_until_it_connects_again(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[POKE])
    script.reply()
    for text in ("two", "three"):
        says_and_ends(script, text)
    async with platform(implementation=NAPCAT) as onebot:
        onebot.script("group_poke", answers(NAPCAT.unknown({}, "group_poke")))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
        assert await gestures(bot) == [("poke", "failed", "refused")]
        await onebot.say(GROUP, 10002, "again", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    asked = len(script.requests)
    async with platform(implementation=NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 3)
    assert "poke_send" in offered(script.requests[0])
    assert offered(script.requests[2]) == {"reaction_send", "like_profile"}
    assert offered(script.requests[asked]) == set(GESTURES)
    assert "<outcome" not in heard(script.requests[asked])


@pytest.fixture
async def other_bot(bot: Bot) -> AsyncIterator[Bot]:
    """Another bot of the same site, with the same model."""
    other = await in_database(
        lambda: Bot.objects.create(
            self_id=str(int(bot.self_id) + 10**9),
            chat_model=bot.chat_model,
            token_hash=tokens.hash_token(TOKEN),
        )
    )
    yield other
    await in_database(lambda: remove(other))


def clock_ahead(seconds: int) -> Callable[[], float]:
    """A platform's clock so far ahead."""
    return lambda: time.time() + seconds


async def test_two_bots_that_poke_back_come_to_an_end(
    platform: Platform, script: Script, bot: Bot, other_bot: Bot
) -> None:
    bots = (bot, other_bot)

    def pokes_back(request: dict[str, Any]) -> Reply:
        if request["messages"][-1]["role"] == "tool":
            return says(assistant())
        whom = [one.self_id for one in bots if one.self_id not in request["messages"][0]["content"]]
        return says(assistant(tool_calls=[("poke_send", {"user_id": whom[0]})]))

    async def tell_the_other(poking: FakeOneBot, poked: FakeOneBot) -> None:
        for count in range(1, 20):
            await poking.wait_for_calls("group_poke", count, 30)
            # Two pokes of one second are one: a redelivered notice has nothing else to be known by.
            poked.world.now = clock_ahead(count)
            await poked.poke(GROUP, poking.world.self_id)

    script.always(pokes_back)
    async with (
        platform(implementation=NAPCAT) as one,
        platform(implementation=NAPCAT, self_id=other_bot.self_id) as two,
    ):
        await introduced(other_bot)
        watching = [
            asyncio.create_task(tell_the_other(one, two)),
            asyncio.create_task(tell_the_other(two, one)),
        ]
        await one.poke(GROUP, other_bot.self_id)
        await ended_turns(other_bot, 1)
        await ended_turns(bot, 2)
        for task in watching:
            task.cancel()
    assert (len(one.called("group_poke")), len(two.called("group_poke"))) == (1, 1)
    assert await told(bot) == ["ok", "cooling_down"]
    assert await told(other_bot) == ["ok"]
