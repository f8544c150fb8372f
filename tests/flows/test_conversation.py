"""From a frame in a group to the answer in it, through every real part."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from core.models import Bot, Decision, InboundItem, SentMessage, Turn
from tests.fakes.model import Script, assistant, says
from tests.fakes.onebot import late
from tests.flows.conftest import Platform
from tests.flows.waiting import ended_turns, eventually, rows

GROUP = "group:20001"
SEND = "send_message"


def answers(script: Script, *texts: str) -> None:
    """One turn that says `texts` in one step and then ends."""
    script.reply(tool_calls=[(SEND, {"content": text}) for text in texts])
    script.reply()


def heard(request: dict[str, Any]) -> str:
    """What the model was told of the chat."""
    return str(request["messages"][1]["content"])


async def test_a_mention_is_answered_in_the_group_and_kept_in_the_sent_log(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "hello Ann")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (sent,) = await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert sent.text == "hello Ann"
    assert sent.chat == GROUP
    assert (turn.state, turn.trigger, turn.steps, turn.sends) == ("done", "mention", 2, 1)
    assert (turn.prompt_tokens, turn.completion_tokens) == (200, 20)
    (message,) = await rows(SentMessage.objects.filter(turn=turn).select_related("entry"))
    assert (message.handle, message.entry.content) == ("m1", "hello Ann")
    assert (message.entry.state, message.entry.platform_message_id) == (
        "sent",
        str(sent.message_id),
    )
    (item,) = await rows(InboundItem.objects.filter(turn=turn))
    assert (item.text, item.trigger, item.mentions) == (" hi", "mention", [bot.self_id])


async def test_the_model_is_given_the_persona_the_words_as_xml_and_its_tools(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "ok")
    async with platform() as onebot:
        said = await onebot.say(GROUP, 10002, '<b>&"hi"', mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    request = script.requests[0]
    assert "You are a helpful bear." in request["messages"][0]["content"]
    assert f'<message id="{said.message_id}" sender="10002" name="' in heard(request)
    assert f'>@user:{bot.self_id} &lt;b&gt;&amp;"hi"</message>' in heard(request)
    offered = [tool["function"]["name"] for tool in request["tools"]]
    gestures = ["poke_send", "reaction_send", "like_profile"]
    assert offered == [SEND, "stay_silent", "self_recall", "edit", *gestures, "search_stickers"]


async def test_a_private_conversation_is_answered_and_remembered(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "first answer")
    answers(script, "second answer")
    async with platform() as onebot:
        await onebot.say("private:10002", 10002, "one")
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.say("private:10002", 10002, "two")
        sends = await onebot.wait_for_sends(2)
        await ended_turns(bot, 2)
    assert [(sent.chat, sent.text) for sent in sends] == [
        ("private:10002", "first answer"),
        ("private:10002", "second answer"),
    ]
    context = heard(script.requests[2])
    assert ">one</message>" in context
    assert '<message handle="m1" state="sent"' in context
    assert context.index("first answer") < context.index(">two</message>")


async def test_three_quick_mentions_are_one_turn(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "all three")
    async with platform() as onebot:
        for words in ("one", "two", "three"):
            await onebot.say(GROUP, 10002, words, mention_bot=True)
        await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert len(await rows(InboundItem.objects.filter(turn=turn))) == 3
    assert all(f" {words}</message>" in heard(script.requests[0]) for words in ("one", "three"))


async def test_the_same_frame_twice_is_one_item_and_one_turn(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "once")
    async with platform() as onebot:
        said = await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.send_event(onebot.world.message_event(said))
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.send_event(onebot.world.message_event(said))
        await onebot.say(GROUP, 10003, "something else")
        await eventually(lambda: rows(InboundItem.objects.filter(bot=bot, text="something else")))
    assert len(await rows(InboundItem.objects.filter(bot=bot, text=" hi"))) == 1
    assert len(await rows(Turn.objects.filter(chat__bot=bot))) == 1


async def test_words_not_meant_for_the_bot_cost_no_model_call_and_leave_a_reason(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "talking to others")
        await onebot.say(GROUP, 10003, "so do I")
        (decision,) = await eventually(lambda: rows(Decision.objects.filter(chat__bot=bot)))
    items = await rows(InboundItem.objects.filter(bot=bot).order_by("pk"))
    assert (decision.verdict, decision.reason) == ("skip", "not_addressed")
    assert (decision.first_item_id, decision.last_item_id) == (items[0].pk, items[-1].pk)
    assert script.requests == []


async def test_what_is_said_between_turns_is_in_the_next_turns_context(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "yes")
    answers(script, "again")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "first", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10003, "overheard")
        await eventually(lambda: rows(Decision.objects.filter(chat__bot=bot, verdict="skip")))
        await onebot.say(GROUP, 10002, "second", mention_bot=True)
        await onebot.wait_for_sends(2)
        await ended_turns(bot, 2)
    assert ">overheard</message>" in heard(script.requests[2])


async def test_a_quote_of_the_bots_words_is_answered(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "original")
    answers(script, "about that")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (sent,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10003, "really?", reply_to=sent.message_id)
        await onebot.wait_for_sends(2)
        turns = await ended_turns(bot, 2)
    assert turns[1].trigger == "quote"


async def test_old_messages_replayed_after_a_reconnect_are_stored_and_wake_nothing(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "now")
    async with platform() as onebot:
        said = onebot.world.keep(GROUP, 10002, [at(bot), {"type": "text", "data": {"text": "old"}}])
        frame = onebot.world.message_event(said)
        await onebot.send_event({**frame, "time": frame["time"] - 3600})
        (decision,) = await eventually(lambda: rows(Decision.objects.filter(chat__bot=bot)))
        assert (decision.verdict, decision.reason) == ("skip", "replayed")
        await onebot.say(GROUP, 10002, "new", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert len(script.requests) == 2


async def test_messages_are_old_by_the_connections_own_clock(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "your clock is fine with me")
    async with platform(behind_seconds=86_400) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)


async def test_messages_of_one_chat_leave_in_the_order_written(
    platform: Platform, script: Script, bot: Bot
) -> None:
    texts = ["one", "two", "three", "four", "five"]
    answers(script, *texts)
    async with platform() as onebot:
        onebot.always("send_group_msg", late(0.05))
        await onebot.say(GROUP, 10002, "count", mention_bot=True)
        sends = await onebot.wait_for_sends(5)
        await ended_turns(bot, 1)
    assert [sent.text for sent in sends] == texts


async def test_sixty_chats_that_ask_at_once_are_answered_side_by_side(
    platform: Platform, script: Script, bot: Bot
) -> None:
    # The model answers only once all sixty wait for it: more than there are connections to the
    # database, so none may be held over the wait, and no turn may wait for another one.
    all_ask = threading.Barrier(60, timeout=30)
    script.always(says_once("here you are", before=all_ask.wait))
    chats = [f"group:{21_000 + number}" for number in range(60)]
    async with platform() as onebot:
        await asyncio.gather(*(onebot.say(chat, 10002, "hi", mention_bot=True) for chat in chats))
        sends = await onebot.wait_for_sends(60, timeout=40)
        await ended_turns(bot, 60, timeout=40)
    assert sorted(sent.chat for sent in sends) == sorted(chats)


async def test_a_temporary_session_is_answered_through_its_group(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "psst")
    async with platform() as onebot:
        said = onebot.world.keep("private:10004", 10004, [{"type": "text", "data": {"text": "hi"}}])
        frame = onebot.world.message_event(said)
        await onebot.send_event({**frame, "sub_type": "group", "group_id": 20001})
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    (call,) = onebot.called("send_private_msg")
    assert (call.params["user_id"], call.params["group_id"]) == (10004, 20001)


async def test_ids_go_out_in_the_type_in_which_they_came(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "hi")
    async with platform() as onebot:
        said = onebot.world.keep(GROUP, 10002, [at(bot)])
        frame = onebot.world.message_event(said)
        await onebot.send_event({**frame, "group_id": "20001"})
        await onebot.wait_for_calls("send_group_msg", 1)
        await ended_turns(bot, 1)
    (call,) = onebot.called("send_group_msg")
    assert call.params["group_id"] == "20001"
    assert call.params["message"] == [{"type": "text", "data": {"text": "hi"}}]


async def test_what_the_model_wrote_goes_out_as_text_whatever_it_looks_like(
    platform: Platform, script: Script, bot: Bot
) -> None:
    hostile = "[CQ:at,qq=all] @小明 ＠all &#91;x&#93; `code`\n(｡･ω･｡)"
    answers(script, hostile)
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    (call,) = onebot.called("send_group_msg")
    assert call.params["message"] == [{"type": "text", "data": {"text": hostile}}]


def at(bot: Bot) -> dict[str, Any]:
    return {"type": "at", "data": {"qq": bot.self_id}}


def says_once(text: str, *, before: Callable[[], object]) -> Any:
    """A model that says `text` where the last word is a person's, and else ends."""

    def reply(request: dict[str, Any]) -> Any:
        if request["messages"][-1]["role"] == "tool":
            return says(assistant())
        before()
        return says(assistant(tool_calls=[(SEND, {"content": text})]))

    return reply
