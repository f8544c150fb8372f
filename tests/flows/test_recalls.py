"""What people take back: hidden from then on, and not answered where it was the question."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from core.models import Bot, Decision, InboundItem, ModelCallCount, TurnStep
from tests.fakes.model import Script
from tests.flows.conftest import NAPCAT, Platform
from tests.flows.test_conversation import GROUP, SEND, answers, heard
from tests.flows.test_own_words import deeds, heard_of, in_the_way
from tests.flows.waiting import (
    ended_turns,
    entries_become,
    eventually,
    in_database,
    once,
    rows,
)

STUCK = "send unknown stuck"


def is_recalled(bot: Bot) -> Callable[[], bool]:
    """Whether something of the bot's chats was taken back."""
    return InboundItem.objects.filter(bot=bot, recalled_at__isnull=False).exists


@pytest.mark.parametrize("chat", [GROUP, "private:10002"])
async def test_what_was_taken_back_after_it_was_answered_is_hidden_from_later_contexts(
    platform: Platform, script: Script, bot: Bot, chat: str
) -> None:
    answers(script, "noted")
    answers(script, "yes")
    async with platform(**NAPCAT) as onebot:
        said = await onebot.say(chat, 10002, "my secret is 4711", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.recall(said)
        await eventually(lambda: in_database(is_recalled(bot)))
        await onebot.say(chat, 10002, "are you there?", mention_bot=True)
        await onebot.wait_for_sends(2)
        await ended_turns(bot, 2)
    context = heard(script.requests[2])
    assert "4711" in heard(script.requests[0])
    assert "4711" not in context
    assert f'<message id="{said.message_id}"' in context
    assert 'recalled="true"/>' in context
    assert "noted" in context
    assert "<outcome" not in context


async def test_a_question_that_was_taken_back_before_it_was_judged_costs_no_model_call(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(**NAPCAT) as onebot:
        said = await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.recall(said)
        (decision,) = await eventually(lambda: rows(Decision.objects.filter(chat__bot=bot)))
    assert (decision.verdict, decision.reason) == ("skip", "recalled")
    assert script.requests == []


@pytest.mark.parametrize("step", [0, 1])
async def test_a_question_that_is_taken_back_while_the_model_thinks_breaks_its_turn_off(
    platform: Platform, script: Script, bot: Bot, step: int
) -> None:
    if step:
        script.reply(tool_calls=[(SEND, {"content": "a draft"})])
    script.add(once(is_recalled(bot), (SEND, {"content": "too late"})))
    answers(script, "to the next question")
    async with platform(**NAPCAT) as onebot:
        chat = await heard_of(onebot, bot)
        await in_database(lambda: in_the_way(bot))
        said = await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        drafts = ["send pending a draft"] if step else []
        await eventually(lambda: in_database(lambda: len(script.requests) > step))
        await entries_become(bot, STUCK, *drafts)
        await onebot.recall(said)
        await entries_become(bot, STUCK, *[line.replace("pending", "discarded") for line in drafts])
        (turn,) = await ended_turns(bot, 1)
        calls = await rows(ModelCallCount.objects.filter(chat=chat))
        assert [count.calls for count in calls] == [step + 1]
        await in_database(lambda: bot.outbox.update(evidence_until=timezone.now()))
        await onebot.say(GROUP, 10002, "next question", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    assert turn.error == "question_recalled"
    assert turn.state == ("done" if step else "silent")
    assert len(await rows(TurnStep.objects.filter(turn=turn))) == step
    assert onebot.texts == ["to the next question"]
    discarded = '<outcome handle="m2" state="discarded" reason="question_recalled"/>'
    assert (discarded in heard(script.requests[step + 1])) == bool(step)


async def test_what_else_was_asked_gets_a_new_turn_when_one_question_is_taken_back(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.add(once(is_recalled(bot), (SEND, {"content": "too late"})))
    answers(script, "to Bob")
    async with platform(**NAPCAT) as onebot:
        said = await onebot.say(GROUP, 10002, "question of Ann", mention_bot=True)
        await onebot.say(GROUP, 10003, "question of Bob", mention_bot=True)
        await eventually(lambda: in_database(lambda: len(script.requests) == 1))
        await onebot.recall(said)
        await onebot.wait_for_sends(1)
        broken_off, turn = await ended_turns(bot, 2)
    assert "question of Ann" in heard(script.requests[0])
    assert "question of Ann" not in heard(script.requests[1])
    assert "question of Bob" in heard(script.requests[1])
    assert (broken_off.error, turn.state, onebot.texts) == ("question_recalled", "done", ["to Bob"])
    items = await rows(InboundItem.objects.filter(bot=bot))
    assert {item.turn_id for item in items} == {turn.pk}
    (decision,) = await rows(Decision.objects.filter(chat__bot=bot))
    assert decision.turn_id == turn.pk


@pytest.mark.parametrize("others", [True, False])
async def test_an_answer_that_is_not_out_yet_is_discarded_with_its_question(
    platform: Platform, script: Script, bot: Bot, others: bool
) -> None:
    answers(script, "an answer")
    answers(script, "another one")
    async with platform(**NAPCAT) as onebot:
        await heard_of(onebot, bot)
        await in_database(lambda: in_the_way(bot))
        said = await onebot.say(GROUP, 10002, "question of Ann", mention_bot=True)
        if others:
            await onebot.say(GROUP, 10003, "question of Bob", mention_bot=True)
        await entries_become(bot, STUCK, "send pending an answer")
        await eventually(lambda: in_database(lambda: len(script.requests) == 2))
        await onebot.recall(said)
        if not others:
            await entries_become(bot, STUCK, "send discarded an answer")
            await onebot.say(GROUP, 10003, "question of Bob", mention_bot=True)
        await entries_become(bot, STUCK, "send discarded an answer", "send pending another one")
        await in_database(lambda: bot.outbox.update(evidence_until=timezone.now()))
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    assert (onebot.texts, deeds(onebot)) == (["another one"], ["send_group_msg"])
    context = heard(script.requests[2])
    assert '<outcome handle="m2" state="discarded" reason="question_recalled"/>' in context
    assert "question of Ann" not in context
    items = await rows(InboundItem.objects.filter(bot=bot, text__contains="Bob"))
    assert [item.turn_id is not None for item in items] == [True]


async def test_what_was_not_meant_for_the_bot_is_taken_back_without_stopping_the_answer(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.add(once(is_recalled(bot), (SEND, {"content": "to Ann"})))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        said = await onebot.say(GROUP, 10003, "by the way")
        await onebot.say(GROUP, 10002, "question of Ann", mention_bot=True)
        await eventually(lambda: in_database(lambda: len(script.requests) == 1))
        await onebot.recall(said)
        await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert (turn.state, turn.steps) == ("done", 2)
