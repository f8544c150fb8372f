"""A sticker from the model's search to the platform, and its words where it can't be sent."""

import json
from typing import Any

from core.media import store
from core.models import Bot, Chat, SentMessage, ToolCall, Turn
from stickers.models import FunnelCount, Picture, PictureKey, Sticker
from tests.core.media.drawing import animation
from tests.factories import make_chat
from tests.fakes import implementations
from tests.fakes.model import Script, assistant, says
from tests.fakes.onebot import FakeOneBot, refused, silent
from tests.flows.conftest import NAPCAT, Platform
from tests.flows.test_conversation import GROUP, SEND
from tests.flows.waiting import ended_turns, entries_become, in_database, introduced, rows
from tests.stickers.making import embedded, make_picture, make_sticker

ANIMATION = animation()
FACE = {
    "emoji_id": "a1b2c3d4e5f60718293a4b5c6d7e8f90",
    "emoji_package_id": 231764,
    "key": "0123456789abcdef",
    "summary": "[贴贴]",
}
CANT_SEND = "消息体无法解析, 请检查是否发送了不支持的消息类型"


async def known(bot: Bot, **fields: Any) -> tuple[Chat, Sticker]:
    """The group with one sticker that it has learned."""

    def make() -> tuple[Chat, Sticker]:
        chat = make_chat(bot, external_id="20001")
        picture = make_picture(sha256=store.spool(ANIMATION))
        sticker = make_sticker(chat, "congratulations, well done", picture=picture, **fields)
        PictureKey.objects.create(picture=picture, key=sticker.file_id)
        return chat, embedded(sticker)

    return await in_database(make)


def sends(script: Script, ref: str, content: str = "well done", **given: Any) -> None:
    """One turn that sends this sticker and then ends."""
    script.reply(tool_calls=[(SEND, {"content": content, "sticker": ref, **given})])
    script.reply()


def found_and_sent(request: dict[str, Any]) -> Any:
    """The model's next answer: the first of the stickers that it was told of."""
    (told,) = [json.loads(one["content"]) for one in request["messages"] if one["role"] == "tool"]
    ref = told["stickers"][0]["ref"]
    return says(assistant(tool_calls=[(SEND, {"content": "well done", "sticker": ref})]))


async def asked(onebot: FakeOneBot, bot: Bot, **said: Any) -> None:
    """Somebody means the bot, once it is known what its platform can."""
    await introduced(bot)
    await onebot.say(GROUP, 10002, "I passed the exam!", mention_bot=True, **said)


def heard(onebot: FakeOneBot) -> list[list[tuple[str, dict[str, Any]]]]:
    """The segments of each message that the platform was asked to send."""
    messages = [call.params["message"] for call in onebot.called("send_group_msg")]
    return [[(one["type"], one["data"]) for one in message] for message in messages]


async def sent_log(bot: Bot) -> SentMessage:
    (message,) = await rows(SentMessage.objects.filter(chat__bot=bot).select_related("entry"))
    assert isinstance(message, SentMessage)
    return message


async def test_a_sticker_is_found_and_sent_as_it_was_and_counted_once(
    platform: Platform, script: Script, bot: Bot
) -> None:
    chat, sticker = await known(bot)
    script.reply(tool_calls=[("search_stickers", {"query": "well done, congratulations"})])
    script.add(found_and_sent)
    script.reply()
    async with platform(**NAPCAT, report_own_messages=True) as onebot:
        await asked(onebot, bot)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    ((segment,),) = heard(onebot)
    kind, data = segment
    assert kind == "image"
    assert (data["sub_type"], data["subType"], data["summary"]) == (1, 1, "[动画表情]")
    assert data["file"].startswith("base64://R0lGODlh")
    message = await sent_log(bot)
    entry = message.entry
    assert entry is not None
    assert (message.kind, entry.state, entry.content) == ("sticker", "sent", "well done")
    assert entry.platform_message_id == str(onebot.sent[0].message_id)
    await in_database(sticker.refresh_from_db)
    assert (sticker.times_sent, sticker.last_sent_at) == (1, entry.settled_at)
    (counted,) = await rows(FunnelCount.objects.filter(chat=chat, name="sent"))
    assert counted.times == 1
    (chat,) = await rows(Chat.objects.filter(bot=bot))
    assert chat.messages == 1  # the echo of the sticker is no item


async def test_a_face_of_the_platform_goes_out_by_its_key_where_there_are_such(
    platform: Platform, script: Script, bot: Bot
) -> None:
    _, sticker = await known(bot, market_face=FACE)
    sends(script, sticker.ref)
    sends(script, sticker.ref)
    async with platform(implementation=implementations.LAGRANGE) as onebot:
        await asked(onebot, bot)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert heard(onebot) == [[("mface", FACE)]]
    async with platform(implementation=implementations.GOCQHTTP) as onebot:
        await asked(onebot, bot)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    assert [kind for ((kind, _),) in heard(onebot)] == ["image"]


async def test_a_refused_sticker_goes_out_as_its_words_and_the_model_is_told(
    platform: Platform, script: Script, bot: Bot
) -> None:
    _, sticker = await known(bot)
    sends(script, sticker.ref)
    script.reply()
    async with platform(**NAPCAT, report_own_messages=True) as onebot:
        onebot.script("send_group_msg", refused(message=CANT_SEND))
        await asked(onebot, bot)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10002, "thanks", mention_bot=True)
        await ended_turns(bot, 2)
    assert onebot.texts == ["well done"]
    entry = (await sent_log(bot)).entry
    assert entry is not None
    assert (entry.state, entry.reason) == ("sent", "sent_as_text")
    assert CANT_SEND in entry.error
    told = '<outcome handle="m1" state="sent" reason="sent_as_text"/>'
    assert sum(told in str(request["messages"]) for request in script.requests) == 1
    await in_database(sticker.refresh_from_db)
    assert sticker.times_sent == 0


async def test_a_sticker_of_unknown_outcome_is_settled_by_its_echo_and_counted_then(
    platform: Platform, script: Script, bot: Bot
) -> None:
    _, sticker = await known(bot)
    sends(script, sticker.ref)
    async with platform(**NAPCAT) as onebot:
        onebot.script("send_group_msg", silent(delivered=True))
        await asked(onebot, bot)
        (said,) = await onebot.wait_for_sends(1)
        onebot.hang_up()
    async with platform(**NAPCAT) as onebot:
        await in_database(sticker.refresh_from_db)
        assert sticker.times_sent == 0
        said.segments = [{"type": "image", "data": {"file": "0A.gif", "sub_type": 1}}]
        await onebot.send_event(onebot.world.message_event(said))
        await entries_become(bot, "send sent well done")
    await in_database(sticker.refresh_from_db)
    assert sticker.times_sent == 1


async def test_a_chat_without_stickers_is_not_shown_any_and_sends_none(
    platform: Platform, script: Script, bot: Bot
) -> None:
    chat, sticker = await known(bot)
    await in_database(
        lambda: chat.capability_settings.create(target="cap", name="sticker", allowed=False)
    )
    sends(script, sticker.ref)
    async with platform(**NAPCAT) as onebot:
        await asked(onebot, bot)
        (turn,) = await ended_turns(bot, 1)
    tools = {tool["function"]["name"]: tool["function"] for tool in script.requests[0]["tools"]}
    assert "search_stickers" not in tools
    assert "sticker" not in tools[SEND]["parameters"]["properties"]
    (call,) = await rows(ToolCall.objects.filter(step__turn=turn))
    assert call.result["error"] == "bad_arguments"
    assert (heard(onebot), turn.sends) == ([], 0)


async def test_a_ref_of_another_chat_is_refused_and_no_call_is_made(
    platform: Platform, script: Script, bot: Bot
) -> None:
    other = await in_database(lambda: make_sticker(make_chat(bot, external_id="20009")))
    sends(script, other.ref)
    async with platform(**NAPCAT) as onebot:
        await asked(onebot, bot)
        (turn,) = await ended_turns(bot, 1)
    (call,) = await rows(ToolCall.objects.filter(step__turn=turn))
    assert call.result["error"] == "unknown_sticker"
    assert heard(onebot) == []


async def test_a_member_has_a_sticker_of_the_bots_forgotten_by_quoting_it(
    platform: Platform, script: Script, bot: Bot
) -> None:
    _, sticker = await known(bot)
    sends(script, sticker.ref)
    script.reply(tool_calls=[("forget_sticker", {"message_id": "m1"})])
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await asked(onebot, bot)
        (said,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await asked(onebot, bot, reply_to=said.message_id)
        turns: list[Turn] = await ended_turns(bot, 2)
    offered = [
        {tool["function"]["name"] for tool in request["tools"]} for request in script.requests
    ]
    assert ["forget_sticker" in names for names in offered] == [False, False, True, True]
    (call,) = await rows(ToolCall.objects.filter(step__turn=turns[1]))
    assert call.result == {"ok": True, "forgotten": 1}
    assert await rows(Sticker.objects.filter(pk=sticker.pk)) == []
    (picture,) = await rows(Picture.objects.filter(pk=sticker.picture_id))
    assert picture.verdict == "removed"
