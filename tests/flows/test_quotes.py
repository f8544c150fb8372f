"""Quotes: what the model may quote, and how it leaves."""

from typing import Any

import pytest
from django.core.management import call_command

from core.models import Bot, ToolCall
from tests.fakes.implementations import LAGRANGE, NAPCAT, ONEBOTS
from tests.fakes.model import Script, ToolCallSpec
from tests.fakes.onebot import answers, silent
from tests.flows.conftest import Platform
from tests.flows.test_conversation import GROUP, SEND
from tests.flows.test_own_words import THINK, deeds, edit, then
from tests.flows.waiting import ended_turns, in_database, rows


def say(text: str, quote: object = None) -> ToolCallSpec:
    return (SEND, {"content": text} if quote is None else {"content": text, "quote": str(quote)})


def segments(text: str, quote: object = None) -> list[dict[str, Any]]:
    quoted = [] if quote is None else [{"type": "reply", "data": {"id": str(quote)}}]
    return [*quoted, {"type": "text", "data": {"text": text}}]


def takes_quotes(request: dict[str, Any]) -> bool:
    """Whether the model was offered to quote."""
    (tool,) = [tool for tool in request["tools"] if tool["function"]["name"] == SEND]
    return "quote" in tool["function"]["parameters"]["properties"]


async def told(bot: Bot) -> list[str]:
    calls = await rows(ToolCall.objects.filter(step__turn__chat__bot=bot).order_by("pk"))
    return [call.result.get("error", "ok") for call in calls if call.name != THINK[0]]


async def test_what_somebody_said_and_what_the_bot_said_is_quoted_by_its_platform_id(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(implementation=NAPCAT) as onebot:
        said = await onebot.say(GROUP, 10002, "which?", mention_bot=True)
        script.reply(tool_calls=[say("this one", said.message_id)])
        script.reply(tool_calls=[THINK])
        then(script, bot, "send sent this one", say("as I said", "m1"))
        script.reply()
        first, second = await onebot.wait_for_sends(2)
        await ended_turns(bot, 1)
    assert takes_quotes(script.requests[0])
    assert first.segments == segments("this one", said.message_id)
    assert second.segments == segments("as I said", first.message_id)


async def test_a_quote_that_names_nothing_here_is_refused_and_nothing_is_said(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(implementation=NAPCAT) as onebot:
        elsewhere = await onebot.say("group:20002", 10002, "elsewhere")
        taken_back = await onebot.say(GROUP, 10003, "oops")
        await onebot.recall(taken_back)
        script.reply(
            tool_calls=[
                say("a", elsewhere.message_id),
                say("b", "m9"),
                say("c", 12345),
                say("d", taken_back.message_id),
                say("said", None),
                say("e", "m1"),
            ]
        )
        script.reply()
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert await told(bot) == [
        "unknown_quote",
        "unknown_quote",
        "unknown_quote",
        "message_recalled",
        "ok",
        "quote_not_sent",
    ]
    assert turn.sends == 1
    assert onebot.texts == ["said"]
    assert len(await rows(bot.outbox)) == 1


async def test_where_quotes_are_off_they_are_neither_offered_nor_taken(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(implementation=NAPCAT) as onebot:
        said = await onebot.say(GROUP, 10002, "hello")
        for _ in range(2):
            script.reply(tool_calls=[say("hi", said.message_id)])
            script.reply()
        await onebot.say(GROUP, 10002, "one", mention_bot=True)
        await ended_turns(bot, 1)
        await in_database(lambda: call_command("chatset", bot.self_id, GROUP, "cap.quote=off"))
        await onebot.say(GROUP, 10002, "two", mention_bot=True)
        await ended_turns(bot, 2)
    assert [takes_quotes(script.requests[index]) for index in (0, 2)] == [True, False]
    assert await told(bot) == ["ok", "bad_arguments"]
    assert len(onebot.sent) == 1


async def test_an_implementation_of_which_nobody_knows_is_not_asked_to_quote(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[say("hi")])
    script.reply()
    async with platform(implementation=ONEBOTS) as onebot:
        await onebot.say(GROUP, 10002, "one", mention_bot=True)
        await ended_turns(bot, 1)
    assert not takes_quotes(script.requests[0])


async def test_other_words_of_a_message_keep_its_quote(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(implementation=NAPCAT) as onebot:
        said = await onebot.say(GROUP, 10002, "which?", mention_bot=True)
        script.reply(tool_calls=[say("old", said.message_id)])
        script.reply(tool_calls=[THINK])
        then(script, bot, "send sent old", edit("m1", "new"))
        script.reply()
        _, new = await onebot.wait_for_sends(2)
        await ended_turns(bot, 1)
    assert new.segments == segments("new", said.message_id)


async def test_the_echo_of_a_message_that_quotes_settles_it(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(implementation=NAPCAT, report_own_messages=True) as onebot:
        onebot.script("send_group_msg", silent(delivered=True))
        said = await onebot.say(GROUP, 10002, "which?", mention_bot=True)
        script.reply(tool_calls=[say("this", said.message_id)])
        script.reply()
        (sent,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    (entry,) = await rows(bot.outbox)
    assert (entry.state, entry.platform_message_id) == ("sent", str(sent.message_id))


@pytest.mark.parametrize("known", [True, False])
async def test_a_quote_that_lagrange_does_not_know_is_left_out_and_the_words_arrive(
    platform: Platform, script: Script, bot: Bot, known: bool
) -> None:
    async with platform(implementation=LAGRANGE) as onebot:
        said = await onebot.say(GROUP, 10002, "which?", mention_bot=True)
        if not known:
            del onebot.world.messages[said.message_id]
            onebot.script("send_group_msg", answers(LAGRANGE.failure({}, "")))
        script.reply(tool_calls=[say("this", said.message_id)])
        script.reply()
        (sent,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert sent.segments == segments("this", said.message_id if known else None)
    assert deeds(onebot) == ["send_group_msg"] * (1 if known else 2)
    (entry,) = await rows(bot.outbox)
    assert entry.state == "sent"
    assert entry.error.startswith("Sent without its quote") is not known
