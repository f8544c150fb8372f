"""What became of a send whose outcome was not known: evidence, the wait for it, and no second send."""

from typing import Any

import pytest
from django.utils import timezone

from core.database import database_now
from core.models import Bot, OutboxEntry
from tests.factories import make_bot, make_connection, make_sent
from tests.fakes.model import Script
from tests.fakes.onebot import (
    Behaviour,
    FakeOneBot,
    hangs_up,
    refused,
    silent,
    timeout_but_sent,
    timeout_not_sent,
    timeout_sent_later,
)
from tests.fakes.site import Site
from tests.flows.conftest import NAPCAT, TOKEN, Platform, remove
from tests.flows.test_conversation import GROUP, answers, heard, says_once
from tests.flows.test_own_words import heard_of, seeded, segment
from tests.flows.waiting import (
    ended_turns,
    entries_become,
    eventually,
    in_database,
    introduced,
    rows,
)

HISTORY = "get_group_msg_history"
LAGRANGE = {"app_name": "Lagrange.OneBot", "app_version": "0.0.3"}
ONEBOTS = {"app_name": "onebots", "app_version": "1.0.0"}
PRIVATE = "private:10002"
"""Lagrange has no history of private chats, and onebots none at all."""


async def entry_of(bot: Bot, content: str) -> OutboxEntry:
    """The bot's one entry that says this."""
    (entry,) = await rows(bot.outbox.filter(content=content))
    assert isinstance(entry, OutboxEntry)
    return entry


async def test_a_time_out_that_was_sent_all_the_same_is_found_in_the_history(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "did this arrive?")
    async with platform(**NAPCAT) as onebot:
        onebot.script("send_group_msg", timeout_but_sent())
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send unknown did this arrive?")
        await entries_become(bot, "send sent did this arrive?")
        await ended_turns(bot, 1)
    (said,) = onebot.sent
    assert (await entry_of(bot, said.text)).platform_message_id == str(said.message_id)
    assert len(onebot.called("send_group_msg")) == 1
    assert len(onebot.called(HISTORY)) >= 1


async def test_a_history_that_does_not_come_holds_up_no_other_chat_and_no_other_bot(
    site: Site, platform: Platform, script: Script, bot: Bot
) -> None:
    script.always(says_once("found?", before=lambda: None))
    named: dict[str, Any] = {**NAPCAT}
    other_id, model = str(int(bot.self_id) + 1), {"chat_model": script.model}
    other = await in_database(lambda: make_bot(other_id, token_hash=bot.token_hash, **model))
    async with (
        platform(**NAPCAT) as onebot,
        FakeOneBot(site.gateway_url, self_id=other_id, token=TOKEN, **named) as second,
    ):
        await introduced(other)
        onebot.always("send_group_msg", timeout_but_sent())
        second.always("send_group_msg", timeout_but_sent())
        onebot.script(HISTORY, silent(delivered=False))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_calls(HISTORY)
        await onebot.say("group:20002", 10002, "hi", mention_bot=True)
        await second.say(GROUP, 10002, "hi", mention_bot=True)
        # Sooner than the history that does not come is given up.
        for found in (other.outbox.all(), bot.outbox.filter(chat__external_id="20002")):
            await eventually(lambda found=found: rows(found.filter(state="sent")), timeout=13)  # type: ignore[misc]
        await ended_turns(bot, 2)
        await ended_turns(other, 1)
    await in_database(lambda: remove(other))


async def test_a_plain_message_from_the_bot_itself_is_the_evidence_that_it_was_sent(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "psst")
    async with platform(**LAGRANGE) as onebot:
        onebot.script("send_private_msg", silent(delivered=True))
        await onebot.say(PRIVATE, 10002, "hi")
        await entries_become(bot, "send unknown psst")
        (said,) = onebot.sent
        await onebot.send_event({**onebot.world.message_event(said), "post_type": "message"})
        await entries_become(bot, "send sent psst")
        await ended_turns(bot, 1)
    assert (await entry_of(bot, "psst")).platform_message_id == str(said.message_id)
    assert not await rows(bot.items.filter(from_self=True))


async def test_an_echo_that_comes_before_the_answer_is_evidence_where_none_comes(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "psst")
    async with platform(**ONEBOTS, report_own_messages=True) as onebot:
        onebot.script("send_private_msg", silent(delivered=True))
        await onebot.say(PRIVATE, 10002, "hi")
        await entries_become(bot, "send sent psst")
        await ended_turns(bot, 1)
    (said,) = onebot.sent
    assert (await entry_of(bot, "psst")).platform_message_id == str(said.message_id)
    assert not await rows(bot.items.filter(from_self=True))


async def test_what_two_looks_at_a_history_lack_has_failed_and_is_told(
    platform: Platform, script: Script, bot: Bot
) -> None:
    """Three groups side by side, since the looks are five seconds apart: in the first nothing
    arrived, the second one's history does not reach back, in the third it arrives between the looks."""
    script.always(says_once("my words", before=lambda: None))
    lost, short, slow = GROUP, "group:20002", "group:20003"
    answered = {lost: timeout_not_sent(), short: timeout_not_sent(), slow: timeout_sent_later(2)}
    async with platform(**NAPCAT) as onebot:
        chat = await heard_of(onebot, bot)
        known = await seeded(onebot, chat, "my words", handle="m0")
        assert known.entry is not None
        # The same words in the same time, but known as another message.
        onebot.world.messages[int(known.entry.platform_message_id)].time += 60
        for number, (group, behaviour) in enumerate(answered.items(), 1):
            onebot.script("send_group_msg", behaviour)
            await onebot.say(group, 10002, "hi", mention_bot=True)
            await onebot.wait_for_calls("send_group_msg", number)
            if group == short:
                forgotten = [said for said in onebot.world.messages.values() if said.chat == short]
                for said in forgotten:
                    del onebot.world.messages[said.message_id]
                await onebot.say(short, 10003, "after that")
        await ended_turns(bot, 3)
        await entries_become(
            bot,
            "send sent my words",
            "send failed my words",
            "send unknown my words",
            "send sent my words",
        )
        await onebot.say(lost, 10002, "well?", mention_bot=True)
        await ended_turns(bot, 4)
    asked = dict.fromkeys(answered, 0)
    for call in onebot.called(HISTORY):
        asked[f"group:{call.params['group_id']}"] += 1
    assert min(asked.values()) >= 2
    by_chat = {entry.chat.key: entry for entry in await rows(told_last(bot))}
    assert by_chat[short].history_lacked == 0
    assert by_chat[slow].platform_message_id == str(onebot.sent[-2].message_id)
    context = heard(script.requests[-2])
    assert '<outcome handle="m1" state="failed" reason="not_delivered"/>' in context
    assert len(onebot.called("send_group_msg")) == 4


def told_last(bot: Bot) -> Any:
    """The entry of each chat's message m1."""
    return bot.outbox.select_related("chat").filter(message__handle="m1")


async def test_later_messages_wait_while_evidence_may_come_and_then_go_in_order(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "one", "two", "three")
    async with platform(**NAPCAT) as onebot:
        onebot.script("send_group_msg", timeout_not_sent())
        await onebot.say(GROUP, 10002, "count", mention_bot=True)
        await onebot.wait_for_sends(2)
        await ended_turns(bot, 1)
    one, two = await entry_of(bot, "one"), await entry_of(bot, "two")
    assert onebot.texts == ["two", "three"]
    assert one.evidence_until is not None
    assert two.sending_at is not None
    assert two.sending_at >= one.evidence_until


@pytest.mark.parametrize("delivered", [True, False])
async def test_a_connection_lost_over_a_send_leaves_it_unknown_and_the_wait_begins_anew(
    platform: Platform, script: Script, bot: Bot, delivered: bool
) -> None:
    answers(script, "one", "two")
    async with platform(**NAPCAT) as onebot:
        onebot.script("send_group_msg", hangs_up("before", delivered=delivered))
        await onebot.say(GROUP, 10002, "count", mention_bot=True)
        await entries_become(bot, "send unknown one", "send pending two")
        lost = await entry_of(bot, "one")
        assert (lost.reason, lost.evidence_until) == ("connection_lost", None)
        await onebot.connect()
        connection = await introduced(bot)
        await onebot.wait_for_sends(2 if delivered else 1)
        await entries_become(bot, f"send {'sent' if delivered else 'unknown'} one", "send sent two")
        await ended_turns(bot, 1)
    one, two = await entry_of(bot, "one"), await entry_of(bot, "two")
    assert onebot.texts == (["one", "two"] if delivered else ["two"])
    assert len(onebot.called("send_group_msg")) == 2
    assert one.evidence_until is not None
    assert one.evidence_until > connection.connected_at
    held_until = one.settled_at if delivered else one.evidence_until
    assert two.sending_at is not None
    assert held_until is not None
    assert two.sending_at > held_until


@pytest.mark.parametrize("how", [silent(delivered=False), hangs_up("before", delivered=False)])
async def test_nobody_waits_where_the_implementation_has_no_way_to_give_evidence(
    platform: Platform, script: Script, bot: Bot, how: Behaviour
) -> None:
    answers(script, "one", "two")
    await in_database(lambda: make_connection(bot, reports_own=False, closed_at=timezone.now()))
    async with platform(**ONEBOTS) as onebot:
        onebot.script("send_group_msg", how)
        await onebot.say(GROUP, 10002, "count", mention_bot=True)
        await eventually(lambda: rows(bot.outbox.filter(content="one", state="unknown")))
        if how.hang_up != "never":
            await onebot.connect()
        waits = await eventually(lambda: in_database(lambda: waited_for(bot)))
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert waits == "not any more"
    assert (await entry_of(bot, "one")).state == "unknown"
    assert onebot.texts == ["two"]
    assert onebot.called(HISTORY) == []


def waited_for(bot: Bot) -> str:
    """Whether evidence is waited for, once it is known until when."""
    entry = bot.outbox.get(content="one")
    if entry.evidence_until is None:
        return ""
    return "not any more" if entry.evidence_until <= database_now() else "still"


PARTS = [
    {"type": "reply", "data": {"id": "4711"}},
    {"type": "mention", "data": {"id": "10002", "name": "Ann"}},
    segment(" look at this"),
]
REPAIRED = [segment("@Ann"), segment(" look at this")]
UNKNOWN_TYPE = refused(1200, "未知的消息类型：reply")


@pytest.mark.parametrize(
    ("parts", "behaviour", "state", "calls"),
    [
        pytest.param(PARTS, UNKNOWN_TYPE, "sent", 2, id="unknown type"),
        pytest.param(PARTS, refused(1200, "Error: Get Uid Error"), "sent", 2, id="unknown person"),
        pytest.param(PARTS, timeout_not_sent(), "unknown", 1, id="time-out"),
        pytest.param(PARTS, refused(1200, "EventChecker Failed: 被禁言"), "failed", 1, id="muted"),
        pytest.param(PARTS[2:], UNKNOWN_TYPE, "failed", 1, id="nothing to leave out"),
    ],
)
async def test_a_refusal_of_a_part_is_tried_once_more_without_it_and_a_time_out_never(
    platform: Platform,
    bot: Bot,
    parts: list[dict[str, Any]],
    behaviour: Behaviour,
    state: str,
    calls: int,
) -> None:
    async with platform(**NAPCAT) as onebot:
        chat = await heard_of(onebot, bot)
        onebot.script("send_group_msg", behaviour)
        await in_database(lambda: make_sent(chat, "look", "pending", entry={"parts": parts}))
        await entries_become(bot, f"send {state} look")
    made = onebot.called("send_group_msg")
    assert len(made) == calls
    entry = await entry_of(bot, "look")
    if calls == 2:
        assert made[1].params["message"] == REPAIRED
        assert behaviour.message in entry.error
        assert "without its quote and mentions" in entry.error
        assert entry.platform_message_id == str(onebot.sent[0].message_id)


async def test_a_repaired_message_is_known_again_by_what_was_said_instead(
    platform: Platform, bot: Bot
) -> None:
    async with platform(**NAPCAT) as onebot:
        chat = await heard_of(onebot, bot)
        onebot.script("send_group_msg", UNKNOWN_TYPE, timeout_but_sent())
        await in_database(lambda: make_sent(chat, "look", "pending", entry={"parts": PARTS}))
        await entries_become(bot, "send unknown look")
        await entries_become(bot, "send sent look")
    (said,) = onebot.sent
    entry = await entry_of(bot, "look")
    assert (said.segments, entry.parts) == (REPAIRED, REPAIRED)
    assert entry.platform_message_id == str(said.message_id)


async def test_what_a_repaired_message_is_refused_for_again_is_not_tried_a_third_time(
    platform: Platform, bot: Bot
) -> None:
    async with platform(**NAPCAT) as onebot:
        chat = await heard_of(onebot, bot)
        onebot.always("send_group_msg", UNKNOWN_TYPE)
        await in_database(lambda: make_sent(chat, "look", "pending", entry={"parts": PARTS}))
        await entries_become(bot, "send failed look")
    assert len(onebot.called("send_group_msg")) == 2
