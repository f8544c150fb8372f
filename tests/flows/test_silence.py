"""A bot that may not speak costs nothing, says so, and is back by itself when it may again."""

import threading
import time
from typing import Any

import pytest

from arise_site.openai_server import Reply
from core import standing
from core.models import Bot, Chat, Decision, OutboxEntry, SentMessage, Turn
from tests.fakes.model import Script, assistant, says
from tests.fakes.onebot import FakeOneBot
from tests.flows.conftest import Platform
from tests.flows.test_conversation import GROUP, answers
from tests.flows.waiting import ended_turns, eventually, in_database, rows


async def ban(onebot: FakeOneBot, user: Any, duration: int, *, lift: bool = False) -> None:
    told = {"sub_type": "lift_ban" if lift else "ban", "duration": duration, "operator_id": 10003}
    await onebot.send_event(onebot.world.notice(GROUP, "group_ban", user_id=user, **told))


async def beat(onebot: FakeOneBot, *, online: bool) -> None:
    status = {"online": online, "good": online}
    told = {"meta_event_type": "heartbeat", "status": status, "interval": 30_000}
    await onebot.send_event(onebot.world.event("meta_event", **told))


async def silenced(bot: Bot, reason: str) -> Chat:
    """The bot's chat, once that holds of it."""
    (chat,) = await eventually(lambda: rows(Chat.objects.filter(bot=bot, silence_reason=reason)))
    assert isinstance(chat, Chat)
    return chat


async def skipped(bot: Bot, reason: str) -> None:
    """Waits until a question was not answered for that reason."""
    await eventually(lambda: rows(Decision.objects.filter(chat__bot=bot, reason=reason)))


async def mute(onebot: FakeOneBot) -> None:
    await ban(onebot, onebot.world.self_id, 600)


async def unmute(onebot: FakeOneBot) -> None:
    await ban(onebot, onebot.world.self_id, 0, lift=True)


async def mute_all(onebot: FakeOneBot) -> None:
    await ban(onebot, 0, -1)


async def unmute_all(onebot: FakeOneBot) -> None:
    await ban(onebot, 0, 0, lift=True)


async def log_out(onebot: FakeOneBot) -> None:
    await onebot.send_event(onebot.world.event("notice", notice_type="bot_offline", message="被踢"))


async def log_in(onebot: FakeOneBot) -> None:
    await beat(onebot, online=True)


@pytest.mark.parametrize(
    ("begin", "end", "reason"),
    [
        (mute, unmute, "muted"),
        (mute_all, unmute_all, "whole_group_muted"),
        (log_out, log_in, "logged_out"),
    ],
)
async def test_while_the_bot_may_not_speak_a_question_costs_no_model_call(
    platform: Platform, script: Script, bot: Bot, begin: Any, end: Any, reason: str
) -> None:
    answers(script, "here again")
    async with platform() as onebot:
        await begin(onebot)
        await onebot.say(GROUP, 10002, "there?", mention_bot=True)
        await skipped(bot, reason)
        assert script.requests == []
        await end(onebot)
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        (sent,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert sent.text == "here again"


async def test_a_mute_that_is_over_needs_no_news_to_be_over(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "here again")
    async with platform() as onebot:
        await ban(onebot, onebot.world.self_id, 3)
        chat = await silenced(bot, "muted")
        await onebot.say(GROUP, 10002, "there?", mention_bot=True)
        await skipped(bot, "muted")
        assert chat.silenced_until is not None
        ends = chat.silenced_until.timestamp()

        async def is_over() -> bool:
            return time.time() > ends

        await eventually(is_over)
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)


async def test_an_administrator_speaks_in_a_group_that_is_muted_as_a_whole(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "I may")
    async with platform() as onebot:
        onebot.world.bot_role = "admin"
        await onebot.say(GROUP, 10002, "hi")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="admin")))
        await mute_all(onebot)
        await onebot.say(GROUP, 10002, "you?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)


async def test_a_bot_that_was_put_out_is_back_with_the_first_message_that_it_hears(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "glad to be back")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot)))
        told = {"sub_type": "kick_me", "operator_id": 10003, "user_id": onebot.world.self_id}
        await onebot.send_event(onebot.world.notice(GROUP, "group_decrease", **told))
        await silenced(bot, "removed")
        await onebot.say(GROUP, 10002, "welcome back", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)


async def test_a_platform_that_tells_of_a_mute_when_it_is_asked_is_believed(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform() as onebot:
        onebot.world.muted_until = {onebot.world.self_id: int(time.time()) + 600}
        await onebot.say(GROUP, 10002, "hi")
        await silenced(bot, "muted")
        await onebot.say(GROUP, 10002, "there?", mention_bot=True)
        await skipped(bot, "muted")
    assert script.requests == []


async def test_after_the_whole_groups_mute_the_bots_own_is_asked_for(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        onebot.world.muted_until = {onebot.world.self_id: int(time.time()) + 600}
        await mute_all(onebot)
        await silenced(bot, "whole_group_muted")
        await unmute_all(onebot)
        chat = await silenced(bot, "muted")
    assert chat.silenced_until is not None


async def test_a_reconnect_ends_a_mute_of_the_whole_group_that_nobody_tells_of_any_more(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "here again")
    async with platform() as onebot:
        await mute_all(onebot)
        await silenced(bot, "whole_group_muted")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi")
        await silenced(bot, "")
        await onebot.say(GROUP, 10002, "there?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)


async def test_a_heartbeat_tells_that_the_account_is_logged_out_and_in_again(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        await beat(onebot, online=False)
        await eventually(lambda: rows(Bot.objects.filter(pk=bot.pk, is_logged_out=True)))
        await beat(onebot, online=True)
        await eventually(lambda: rows(Bot.objects.filter(pk=bot.pk, is_logged_out=False)))


async def test_an_implementation_whose_heartbeats_always_say_online_is_not_believed(
    platform: Platform, bot: Bot
) -> None:
    async with platform(app_name="Lagrange.OneBot", app_version="0.0.3") as onebot:
        await log_out(onebot)
        await beat(onebot, online=True)
        await onebot.say(GROUP, 10002, "there?", mention_bot=True)
        await skipped(bot, "logged_out")
        await onebot.send_event(onebot.world.event("notice", notice_type="bot_online"))
        await eventually(lambda: rows(Bot.objects.filter(pk=bot.pk, is_logged_out=False)))


async def test_a_new_connection_tells_that_the_account_is_back(
    platform: Platform, bot: Bot
) -> None:
    await in_database(lambda: standing.keep_login(bot.pk, is_logged_out=True))
    async with platform():
        await eventually(lambda: rows(Bot.objects.filter(pk=bot.pk, is_logged_out=False)))


async def test_a_mute_in_the_middle_of_a_turn_ends_it_and_its_words_wait_for_its_end(
    platform: Platform, script: Script, bot: Bot
) -> None:
    is_muted = threading.Event()

    def reply(_request: dict[str, Any]) -> Reply:
        assert is_muted.wait(15)
        return says(assistant(tool_calls=[("send_message", {"content": "said too late"})]))

    script.add(reply)
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "you?", mention_bot=True)
        await eventually(lambda: rows(Turn.objects.filter(chat__bot=bot)))
        await mute(onebot)
        await silenced(bot, "muted")
        is_muted.set()
        held = OutboxEntry.objects.filter(bot=bot, state="pending", held="muted")
        (entry,) = await eventually(lambda: rows(held))
        await unmute(onebot)
        (sent,) = await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert sent.text == "said too late"
    assert (turn.state, turn.error, turn.steps) == ("done", "muted", 1)
    assert len(script.requests) == 1
    (message,) = await rows(SentMessage.objects.filter(entry=entry).select_related("entry"))
    assert (message.entry.state, message.entry.held) == ("sent", "")
