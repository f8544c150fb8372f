"""Pokes and reactions, from the frame to what the model is told and to the console's lines."""

from typing import Any

from core import records
from core.models import Bot, CapabilitySetting, Decision, InboundItem, Turn
from tests.fakes.model import Script
from tests.flows.conftest import Platform
from tests.flows.test_conversation import GROUP, answers, heard
from tests.flows.waiting import ended_turns, eventually, in_database, rows


async def items(bot: Bot, count: int, **of: Any) -> list[InboundItem]:
    """The bot's items of that kind, once there are so many."""

    async def look() -> list[InboundItem] | None:
        found = await rows(InboundItem.objects.filter(bot=bot, **of).order_by("pk"))
        return found if len(found) >= count else None

    found = await eventually(look)
    assert found is not None
    assert len(found) == count
    return found


async def test_a_poke_at_the_bot_starts_a_turn_that_is_told_of_it(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "hey!")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "just talking")
        await items(bot, 1)
        await onebot.poke(GROUP, 10002)
        (sent,) = await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert (sent.chat, turn.trigger) == (GROUP, "poke")
    assert f'<poke sender="10002" name="Ann" target="{bot.self_id}" time="' in heard(
        script.requests[0]
    )
    assert "just talking" in heard(script.requests[0])


async def test_pokes_between_others_and_the_bots_own_gestures_start_none(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform() as onebot:
        said = await onebot.say(GROUP, 10002, "hi all")
        await onebot.poke(GROUP, 10002, target=10003)
        await onebot.poke(GROUP, 10002, target=0)
        for gesture in (
            onebot.world.poke_event(GROUP, onebot.world.self_id, 10002),
            onebot.world.poke_event("private:10002", onebot.world.self_id, 10002),
            onebot.world.reaction_event(said, onebot.world.self_id, "76", is_add=True),
        ):
            await onebot.send_event(gesture)
        await onebot.say("private:10009", onebot.world.self_id, "the last frame")
        pokes = await items(bot, 2, kind="poke")
        await items(bot, 1, text="the last frame")
        await eventually(lambda: rows(Decision.objects.filter(chat__bot=bot, verdict="skip")))
    assert [(poke.sender_id, poke.target_id) for poke in pokes] == [
        ("10002", "10003"),
        ("10002", ""),
    ]
    assert not await rows(InboundItem.objects.filter(bot=bot, kind="reaction"))
    assert script.requests == []
    assert not await rows(Turn.objects.filter(chat__bot=bot))


async def test_a_private_poke_is_answered_in_private(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "you too")
    async with platform() as onebot:
        await onebot.poke("private:10002", 10002)
        (sent,) = await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert (sent.chat, turn.trigger) == ("private:10002", "poke")


async def test_a_reaction_to_the_bots_words_starts_no_turn_and_is_told_with_the_next_one(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "a joke")
    answers(script, "thanks")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "tell me a joke", mention_bot=True)
        (joke,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.react(joke, 10003, "128077")
        await onebot.react(joke, 10003, "128077", is_add=False)
        last = (await items(bot, 2, kind="reaction"))[-1].pk
        await eventually(lambda: rows(Decision.objects.filter(last_item_id=last)))
        assert len(await rows(Turn.objects.filter(chat__bot=bot))) == 1
        await onebot.say(GROUP, 10002, "again", mention_bot=True)
        await onebot.wait_for_sends(2)
        await ended_turns(bot, 2)
    told = heard(script.requests[2])
    assert f' emoji="128077" target="{joke.message_id}" handle="m1" time="' in told
    assert told.count('<reaction sender="10003"') == 2
    assert told.count('removed="true"/>') == 1


async def test_messages_and_interactions_of_one_batch_are_told_side_by_side(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "I see")
    async with platform() as onebot:
        said = await onebot.say(GROUP, 10002, "look", mention_bot=True)
        await onebot.react(said, 10003, "76")
        await onebot.poke(GROUP, 10002)
        await onebot.say(GROUP, 10003, "what?")
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    told = heard(script.requests[0])
    new = told[told.index("<new>") :]
    places = [
        new.index(one) for one in (" look</message>", "<reaction ", "<poke ", ">what?</message>")
    ]
    assert places == sorted(places)
    assert f'emoji="76" target="{said.message_id}"' in new


async def test_an_interaction_that_is_redelivered_is_stored_once(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "once")
    async with platform() as onebot:
        poke = onebot.world.poke_event(GROUP, 10002, onebot.world.self_id)
        for _ in range(3):
            await onebot.send_event(poke)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert len(await rows(InboundItem.objects.filter(bot=bot))) == 1


async def test_what_an_operator_switched_off_does_not_come_in(
    platform: Platform, script: Script, bot: Bot
) -> None:
    def switch_off() -> None:
        CapabilitySetting.objects.create(bot=bot, target="cap", name="poke_receive", allowed=False)

    await in_database(switch_off)
    async with platform() as onebot:
        said = await onebot.say(GROUP, 10002, "hi")
        await onebot.poke(GROUP, 10002)
        await onebot.react(said, 10002, "76")
        await items(bot, 1, kind="reaction")
    assert not await rows(InboundItem.objects.filter(bot=bot, kind="poke"))
    assert script.requests == []


async def test_interactions_are_lines_with_what_their_kind_has(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform() as onebot:
        said = await onebot.say(GROUP, 10002, "hi")
        await onebot.poke(GROUP, 10002, target=10003)
        await onebot.react(said, 10003, "76", is_add=False)
        await items(bot, 3)
    interactions = InboundItem.objects.filter(bot=bot).exclude(kind="message")
    poke, reaction = await in_database(lambda: list(records.items(interactions)))
    empty: dict[str, Any] = {
        "platform_message_id": None,
        "text": "",
        "mentions_bot": False,
        "reply_to": None,
    }
    empty |= {"mentions": [], "stickers": [], "images": [], "from_self": False, "chat": GROUP}
    by_ann = {"kind": "poke", "sender_id": "10002", "sender_name": "Ann"}
    assert poke.items() >= {**empty, **by_ann, "target_id": "10003", "emoji": []}.items()
    target = str(said.message_id)
    by_bob = {"kind": "reaction", "sender_id": "10003", "target_id": target, "emoji": ["76"]}
    assert reaction.items() >= {**empty, **by_bob, "removed": True}.items()
