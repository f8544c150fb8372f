"""What may go wrong in a turn, and how it ends."""

import asyncio
from typing import Any

import pytest
from django.utils import timezone

from core.models import Bot, Chat, Decision, OutboxEntry, SentMessage, ToolCall, Turn
from tests.fakes.model import Script
from tests.fakes.onebot import late, refused, silent
from tests.fakes.site import Site
from tests.flows.conftest import Platform
from tests.flows.test_conversation import GROUP, SEND, answers, heard
from tests.flows.test_own_words import heard_of, in_the_way
from tests.flows.waiting import ended_turns, entries_become, eventually, in_database, rows


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ((SEND, "{broken"), "bad_json"),
        ((SEND, "[1]"), "bad_arguments"),
        ((SEND, {"content": 7}), "bad_arguments"),
        ((SEND, {}), "bad_arguments"),
        ((SEND, {"content": "hi", "volume": 11}), "bad_arguments"),
        ((SEND, {"content": "  \n"}), "empty_message"),
        ((SEND, {"content": "x" * 4001}), "too_long"),
        (("launch_rocket", {}), "unknown_tool"),
    ],
)
async def test_a_bad_tool_call_tells_the_model_what_was_wrong_and_the_turn_goes_on(
    platform: Platform, script: Script, bot: Bot, call: tuple[str, Any], error: str
) -> None:
    script.reply(tool_calls=[call])
    answers(script, "now right")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        sends = await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert [sent.text for sent in sends] == ["now right"]
    assert turn.state == "done"
    first = (await rows(ToolCall.objects.filter(step__turn=turn).order_by("pk")))[0]
    assert (first.result["ok"], first.result["error"]) == (False, error)
    assert f'"error": "{error}"' in script.requests[1]["messages"][-1]["content"]


async def test_a_turn_that_never_ends_is_ended_at_the_step_limit(
    platform: Platform, script: Script, bot: Bot
) -> None:
    for _ in range(8):
        script.reply(tool_calls=[("nonsense", {})])
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert (turn.state, turn.error, turn.steps) == ("failed", "step_limit", 8)


async def test_plain_text_ends_the_turn_and_is_not_sent(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply("I talk to myself")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert turn.state == "silent"
    assert onebot.called("send_group_msg") == []


async def test_staying_silent_keeps_its_reason(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[("stay_silent", {"reason": "they are joking"})])
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert (turn.state, turn.silence_reason) == ("silent", "they are joking")


async def test_a_sixth_message_of_a_turn_is_refused(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[(SEND, {"content": str(n)}) for n in range(6)])
    script.reply()
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(5)
        (turn,) = await ended_turns(bot, 1)
    assert turn.sends == 5
    assert "send_budget_spent" in script.requests[1]["messages"][-1]["content"]


async def test_passing_failures_of_the_endpoint_are_tried_again(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(status=429)
    script.reply(status=503)
    answers(script, "here I am")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    steps = await in_database(lambda: [step.retries for step in turn.step_set.all()])
    assert steps == [2, 0]


@pytest.mark.parametrize(
    ("status", "asked", "error"),
    [(500, 4, "server_error"), (429, 4, "rate_limited"), (401, 1, "refused")],
)
async def test_a_lasting_failure_ends_the_turn_with_its_reason_and_the_chat_lives_on(
    platform: Platform, script: Script, bot: Bot, status: int, asked: int, error: str
) -> None:
    for _ in range(asked):
        script.reply("out of order", status=status)
    answers(script, "well again")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
        assert (turn.state, turn.error) == ("failed", error)
        assert "out of order" in turn.error_detail
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)


async def test_a_refused_send_is_told_in_the_next_context(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "never arrives")
    answers(script, "arrives")
    async with platform() as onebot:
        onebot.script("send_group_msg", refused())
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot, state="failed")))
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10002, "hello?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    assert '<outcome handle="m1" state="failed" reason="refused"/>' in heard(script.requests[2])


async def test_a_send_without_an_answer_is_unknown_and_never_sent_again(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "one", "two")
    async with platform() as onebot:
        onebot.script("send_group_msg", silent(delivered=False))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot, state="sent")))
        await ended_turns(bot, 1)
    first, second = await rows(OutboxEntry.objects.filter(bot=bot).order_by("pk"))
    assert (first.state, first.reason, second.state) == ("unknown", "no_answer", "sent")
    calls = onebot.called("send_group_msg")
    assert [call.params["message"][0]["data"]["text"] for call in calls] == ["one", "two"]


async def test_a_late_answer_settles_an_unknown_send(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "slow line")
    async with platform() as onebot:
        onebot.script("send_group_msg", late(2.5))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot, state="unknown")))
        (entry,) = await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot, state="sent")))
        await ended_turns(bot, 1)
    assert entry.platform_message_id != ""


async def test_the_daily_cap_of_model_calls_is_kept_and_said(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "the last one today")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "first words")
        (chat,) = await eventually(lambda: rows(Chat.objects.filter(bot=bot)))
        await in_database(lambda: Chat.objects.filter(pk=chat.pk).update(daily_model_calls=2))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10002, "and again", mention_bot=True)
        (decision,) = await eventually(
            lambda: rows(Decision.objects.filter(chat=chat, reason="budget_spent"))
        )
    assert decision.verdict == "skip"
    assert len(script.requests) == 2


async def test_a_disabled_chat_is_neither_stored_nor_answered(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "before")
        (chat,) = await eventually(lambda: rows(Chat.objects.filter(bot=bot)))
        await in_database(lambda: Chat.objects.filter(pk=chat.pk).update(enabled=False))
        await onebot.say(GROUP, 10002, "secret", mention_bot=True)
        await onebot.say("group:20002", 10002, "elsewhere")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, external_id="20002")))
    texts = await in_database(lambda: [item.text for item in bot.items.order_by("pk")])
    assert texts == ["before", "elsewhere"]


async def test_a_killed_workers_turn_goes_on_from_its_last_committed_step(
    site: Site, platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[(SEND, {"content": "step one"})])
    script.reply(delay=8)
    script.reply(tool_calls=[(SEND, {"content": "step two"})])
    script.reply()
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await asyncio.to_thread(script.wait_for_requests, 2)
        await asyncio.to_thread(site.kill, "worker")
        await asyncio.to_thread(site.start_worker)
        sends = await onebot.wait_for_sends(2, timeout=30)
        (turn,) = await ended_turns(bot, 1)
    assert [sent.text for sent in sends] == ["step one", "step two"]
    assert (turn.state, turn.runs, turn.steps) == ("done", 2, 3)
    again = script.requests[2]["messages"]
    assert again == script.requests[1]["messages"]
    assert len(await rows(SentMessage.objects.filter(chat__bot=bot))) == 2
    assert not await rows(Turn.objects.filter(chat__bot=bot, state="running"))


async def test_a_turn_in_which_its_worker_died_three_times_is_parked_and_the_chat_lives_on(
    site: Site, platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(delay=8)
    answers(script, "alive")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "poison", mention_bot=True)
        await asyncio.to_thread(script.wait_for_requests, 1)
        await in_database(lambda: Turn.objects.filter(chat__bot=bot).update(runs=3))
        await asyncio.to_thread(site.kill, "worker")
        await asyncio.to_thread(site.start_worker)
        (turn,) = await ended_turns(bot, 1, timeout=30)
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    assert (turn.state, turn.error) == ("abandoned", "crashed")
    assert "died 3 times" in turn.error_detail
    assert len(script.requests) == 3


async def test_a_worker_that_is_told_to_stop_hands_its_turn_over_after_the_step(
    site: Site, platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[(SEND, {"content": "before the deploy"})], delay=1)
    script.reply(tool_calls=[(SEND, {"content": "after the deploy"})])
    script.reply()
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await asyncio.to_thread(script.wait_for_requests, 1)
        await asyncio.to_thread(site.end, "worker")
        assert len(script.requests) == 1
        await asyncio.to_thread(site.start_worker)
        sends = await onebot.wait_for_sends(2, timeout=30)
        (turn,) = await ended_turns(bot, 1)
    assert [sent.text for sent in sends] == ["before the deploy", "after the deploy"]
    assert (turn.state, turn.runs) == ("done", 1)


async def test_an_answer_that_could_not_leave_in_time_is_not_sent_late_and_the_model_is_told(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "too late")
    answers(script, "sorry")
    async with platform() as onebot:
        await heard_of(onebot, bot)
        await in_database(lambda: in_the_way(bot))
        await in_database(lambda: bot.chats.update(patience_seconds=1))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send unknown stuck", "send discarded too late")
        await in_database(lambda: bot.chats.update(patience_seconds=600))
        await in_database(lambda: bot.outbox.update(evidence_until=timezone.now()))
        await onebot.say(GROUP, 10002, "hello?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    assert onebot.texts == ["sorry"]
    outcome = '<outcome handle="m2" state="discarded" reason="expired"/>'
    assert outcome in heard(script.requests[2])


async def test_an_echo_settles_a_send_that_got_no_answer(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "did you get this?")
    async with platform() as onebot:
        onebot.script("send_group_msg", silent(delivered=True))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (sent,) = await onebot.wait_for_sends(1)
        await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot, state="unknown")))
        await onebot.tell_own(sent)
        (entry,) = await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot, state="sent")))
        await ended_turns(bot, 1)
    assert entry.platform_message_id == str(sent.message_id)
    assert not await rows(bot.items.filter(from_self=True))


async def test_a_worker_that_slept_through_its_lease_commits_nothing(
    site: Site, platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[(SEND, {"content": "of the one that slept"})], delay=1)
    script.reply(tool_calls=[(SEND, {"content": "of the one that took over"})])
    script.reply()
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await asyncio.to_thread(script.wait_for_requests, 1)
        site.pause("worker")
        try:
            site.start_worker("second")
            await onebot.wait_for_sends(1, timeout=30)
            (turn,) = await ended_turns(bot, 1)
        finally:
            site.resume("worker")
        await eventually(lambda: in_database(lambda: "was taken over" in site.log("worker")))
        await asyncio.to_thread(site.end, "second")
        sends = onebot.sent
    assert [sent.text for sent in sends] == ["of the one that took over"]
    assert (turn.state, turn.runs, turn.steps) == ("done", 2, 2)
    assert len(await rows(SentMessage.objects.filter(chat__bot=bot))) == 1
