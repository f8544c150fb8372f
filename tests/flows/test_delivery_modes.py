"""Review, shadow and pause through the real processes, seen from the platform's side."""

from core import by_hand, chatsettings, pausing
from core.models import Bot, Chat, Decision, InboundItem, OutboxEntry, SentMessage, Turn
from tests.factories import make_chat
from tests.fakes.model import Script
from tests.fakes.onebot import FakeOneBot
from tests.flows.conftest import NAPCAT, Platform
from tests.flows.test_conversation import GROUP, SEND, answers, heard
from tests.flows.test_own_words import deeds
from tests.flows.waiting import (
    ended_turns,
    entries,
    entries_become,
    eventually,
    in_database,
    once,
    rows,
)


async def group(bot: Bot, **fields: str) -> Chat:
    """The chat in which people speak, set before anybody does."""
    return await in_database(lambda: make_chat(bot, external_id="20001", **fields))


async def switch(chat: Chat, mode: str) -> None:
    change = chatsettings.parse([f"delivery_mode={mode}"])
    await in_database(lambda: chatsettings.apply(Chat.objects.get(pk=chat.pk), change))


async def held(bot: Bot, count: int) -> list[OutboxEntry]:
    """What waits for review, once it is so much and nothing of it is a draft any more."""

    async def look() -> list[OutboxEntry] | None:
        waiting = OutboxEntry.objects.filter(bot=bot, state="pending", held="review")
        found = await rows(waiting.select_related("message").order_by("pk"))
        return found if len(found) == count else None

    found = await eventually(look)
    assert found is not None
    return found


async def done(bot: Bot, count: int) -> list[Turn]:
    """The bot's turns, once so many have ended; their words may still wait."""

    async def look() -> list[Turn] | None:
        turns = await rows(Turn.objects.filter(chat__bot=bot, ended_at__isnull=False))
        return turns if len(turns) == count else None

    found = await eventually(look)
    assert found is not None
    return found


async def approve(entry: OutboxEntry, text: str | None = None) -> None:
    seen = by_hand.digest(entry)
    await in_database(lambda: by_hand.approve(entry.pk, seen=seen, by=None, text=text))


async def discard(entry: OutboxEntry) -> None:
    seen = by_hand.digest(entry)
    await in_database(lambda: by_hand.discard(entry.pk, seen=seen, by=None))


async def ask(onebot: FakeOneBot, words: str = "hi") -> None:
    await onebot.say(GROUP, 10002, words, mention_bot=True)


async def test_review_holds_until_it_is_decided_and_the_model_hears_what_came_of_it(
    platform: Platform, script: Script, bot: Bot
) -> None:
    await group(bot, delivery_mode="review")
    answers(script, "as it is", "too rude", "never this")
    answers(script, "understood")
    async with platform() as onebot:
        await ask(onebot)
        await done(bot, 1)
        first, second, third = await held(bot, 3)
        assert deeds(onebot) == []
        await approve(second, "kinder")  # behind the first one still
        await discard(third)
        await approve(first)
        await onebot.wait_for_sends(2)
        await entries_become(
            bot, "send sent as it is", "send sent kinder", "send discarded never this"
        )
        await ask(onebot, "and now?")
        (last,) = await held(bot, 1)
        await approve(last)
        sends = await onebot.wait_for_sends(3)
        await ended_turns(bot, 2)
    assert [one.text for one in sends] == ["as it is", "kinder", "understood"]
    told = heard(script.requests[-1])
    assert 'handle="m2" state="sent"' in told
    assert ">kinder<" in told
    assert "too rude" not in told
    assert '<outcome handle="m3" state="discarded" reason="discarded_by_operator"/>' in told


async def test_a_turn_of_review_takes_back_what_is_held_and_changes_what_was_seen(
    platform: Platform, script: Script, bot: Bot
) -> None:
    await group(bot, delivery_mode="review")
    script.reply(tool_calls=[(SEND, {"content": "one"}), (SEND, {"content": "two"})])
    script.reply(
        tool_calls=[
            ("edit", {"handle": "m1", "new_content": "uno"}),
            ("self_recall", {"handle": "m2"}),
        ]
    )
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await ask(onebot)
        await done(bot, 1)
        (entry,) = await held(bot, 1)
        await approve(entry)
        (sent,) = await onebot.wait_for_sends(1)
        await entries_become(bot, "send sent uno", "send discarded two")
    assert sent.text == "uno"
    assert len(deeds(onebot)) == 1


async def test_of_a_chat_in_shadow_nothing_leaves_and_all_of_it_counts_as_said(
    platform: Platform, script: Script, bot: Bot
) -> None:
    chat = await group(bot, delivery_mode="shadow")
    script.reply(
        tool_calls=[
            (SEND, {"content": "imagined words"}),
            ("poke_send", {"user_id": "10002"}),
            (SEND, {"content": "imagined and taken back"}),
        ]
    )
    script.reply(
        tool_calls=[
            ("edit", {"handle": "m1", "new_content": "changed words"}),
            ("self_recall", {"handle": "m2"}),
        ]
    )
    script.reply()
    answers(script, "still nobody hears")
    answers(script, "said aloud")
    async with platform(**NAPCAT) as onebot:
        await ask(onebot)
        await ended_turns(bot, 1)
        await ask(onebot, "what did you say?")
        await ended_turns(bot, 2)
        assert deeds(onebot) == []
        told = heard(script.requests[-2])
        assert 'handle="m1" state="sent"' in told
        assert ">changed words<" in told
        assert 'handle="m2" state="recalled"' in told
        assert "<outcome" not in told
        await switch(chat, "live")
        await ask(onebot, "and now?")
        (sent,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 3)
    assert sent.text == "said aloud"
    assert len(deeds(onebot)) == 1
    made = await rows(OutboxEntry.objects.filter(bot=bot).order_by("pk"))
    assert {(one.state, one.reason) for one in made[:-1]} == {("discarded", "shadow")}


async def test_a_switch_to_shadow_ends_what_was_written_live(
    platform: Platform, script: Script, bot: Bot
) -> None:
    chat = await group(bot)
    script.reply(tool_calls=[(SEND, {"content": "not any more"})])
    script.add(once(lambda: entries(bot) == ["send discarded not any more"]))
    async with platform() as onebot:
        await ask(onebot)
        await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot)))
        await switch(chat, "shadow")
        await ended_turns(bot, 1)
    assert deeds(onebot) == []


async def test_after_a_pause_nothing_leaves_nothing_is_paid_and_all_goes_on_by_itself(
    platform: Platform, script: Script, bot: Bot
) -> None:
    chat = await group(bot)
    script.reply(tool_calls=[(SEND, {"content": "held at the last moment"})])
    paused = Bot.objects.filter(pk=bot.pk, paused_at__isnull=False)
    script.add(once(paused.exists))
    answers(script, "back again")
    async with platform() as onebot:
        await ask(onebot)
        await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot)))
        await in_database(lambda: pausing.pause(Bot.objects.get(pk=bot.pk)))
        await done(bot, 1)
        await ask(onebot, "are you there?")
        asked = Decision.objects.filter(chat=chat, verdict="skip", reason="paused")
        await eventually(lambda: rows(asked))
        await eventually(lambda: rows(OutboxEntry.objects.filter(bot=bot, held="paused")))
        assert deeds(onebot) == []
        assert len(script.requests) == 2
        assert len(await rows(InboundItem.objects.filter(chat=chat))) == 2
        await entries_become(bot, "send pending held at the last moment")
        await in_database(lambda: pausing.resume(Bot.objects.get(pk=bot.pk)))
        await onebot.wait_for_sends(1)
        await ask(onebot, "well?")
        sends = await onebot.wait_for_sends(2)
        await ended_turns(bot, 2)
    assert [one.text for one in sends] == ["held at the last moment", "back again"]


async def test_an_operator_takes_back_and_changes_what_was_said(
    platform: Platform, script: Script, bot: Bot
) -> None:
    await group(bot)
    answers(script, "one", "two")
    answers(script, "ok")
    async with platform(**NAPCAT) as onebot:
        await ask(onebot)
        await onebot.wait_for_sends(2)
        await ended_turns(bot, 1)
        one, two = await rows(
            SentMessage.objects.filter(chat__bot=bot).select_related("entry").order_by("pk")
        )
        seen = by_hand.digest(one.entry), by_hand.digest(two.entry)
        await in_database(lambda: by_hand.recall(one.pk, seen=seen[0], by=None))
        await in_database(lambda: by_hand.edit(two.pk, seen=seen[1], by=None, text="zwei"))
        await entries_become(
            bot,
            "send recalled one",
            "send recalled two",
            "recall sent",
            "recall sent",
            "send sent zwei",
        )
        await ask(onebot, "and?")
        await onebot.wait_for_sends(4)
        await ended_turns(bot, 2)
    told = heard(script.requests[-2])
    assert '<outcome handle="m1" state="recalled" reason="recalled_by_operator"/>' in told
    assert told.count("<outcome") == 1
    assert ">zwei<" in told
