"""Speaking aloud, from the model's call to the segment on the platform."""

from typing import Any

from core.models import Bot, Chat, ModelCallCount, OutboxEntry, SentMessage, ToolCall
from tests.factories import make_chat
from tests.fakes.model import UNSPEAKABLE, Script, ScriptedModel, recording
from tests.fakes.onebot import FakeOneBot, refused, silent
from tests.flows.conftest import NAPCAT, Platform
from tests.flows.test_conversation import GROUP, SEND
from tests.flows.waiting import ended_turns, entries_become, in_database, introduced, rows

SPOKEN = "SUQzZ29vZCBtb3JuaW5n"
"""What the scripted voice makes of "good morning", in base64."""
CANT_CONVERT = "语音转换失败, 请检查语音文件是否正常"


def speaks(script: Script, content: str) -> None:
    """One turn that says this aloud and then ends."""
    script.reply(tool_calls=[(SEND, {"content": content, "voice": True})])
    script.reply()


def send_arguments(request: dict[str, Any]) -> list[str]:
    """The arguments of `send_message` that the model was shown."""
    (send,) = [tool for tool in request["tools"] if tool["function"]["name"] == SEND]
    return list(send["function"]["parameters"]["properties"])


def heard(onebot: FakeOneBot) -> list[list[dict[str, Any]]]:
    """The segments of each message that the platform was asked to send."""
    return [call.params["message"] for call in onebot.called("send_group_msg")]


async def asked(onebot: FakeOneBot, bot: Bot) -> None:
    """Somebody means the bot, once it is known what its platform can."""
    await introduced(bot)
    await onebot.say(GROUP, 10002, "hi", mention_bot=True)


async def test_the_model_speaks_aloud_and_people_hear_it(
    platform: Platform, script: Script, bot: Bot
) -> None:
    assert recording("good morning") == b"ID3good morning"
    speaks(script, "good morning")
    async with platform(**NAPCAT) as onebot:
        await asked(onebot, bot)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert "voice" in send_arguments(script.requests[0])
    assert heard(onebot) == [[{"type": "record", "data": {"file": f"base64://{SPOKEN}"}}]]
    (message,) = await rows(SentMessage.objects.filter(chat__bot=bot).select_related("entry"))
    assert (message.kind, message.entry.state, message.entry.content) == (
        "voice",
        "sent",
        "good morning",
    )
    (paid,) = await rows(ModelCallCount.objects.filter(chat__bot=bot))
    assert paid.calls == 3


async def test_a_voice_that_fails_goes_out_as_text_and_the_trace_and_the_log_say_so(
    platform: Platform, script: Script, bot: Bot, site: Any
) -> None:
    speaks(script, f"this is {UNSPEAKABLE}")
    async with platform(**NAPCAT) as onebot:
        await asked(onebot, bot)
        await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
    assert onebot.texts == [f"this is {UNSPEAKABLE}"]
    (call,) = await rows(ToolCall.objects.filter(step__turn=turn))
    assert (call.result["ok"], call.result["voice"]) == (True, False)
    assert "server_error" in call.result["note"]
    assert f"turn {turn.pk}: a message goes out as text" in site.log("worker")


async def test_a_chat_without_a_voice_is_not_shown_one(
    platform: Platform, script: Script, bot: Bot, scripted_model: ScriptedModel
) -> None:
    chat = await in_database(lambda: make_chat(bot, external_id="20001"))
    await in_database(
        lambda: chat.capability_settings.create(target="cap", name="voice", allowed=False)
    )
    speaks(script, "good night")
    async with platform(**NAPCAT) as onebot:
        await asked(onebot, bot)
        (turn,) = await ended_turns(bot, 1)
    assert "voice" not in send_arguments(script.requests[0])
    (call,) = await rows(ToolCall.objects.filter(step__turn=turn))
    assert call.result["error"] == "bad_arguments"
    assert (heard(onebot), turn.sends) == ([], 0)
    assert "good night" not in [request["input"] for request in scripted_model.spoken]


async def test_a_voice_that_the_platform_can_not_convert_goes_out_as_its_words(
    platform: Platform, script: Script, bot: Bot
) -> None:
    speaks(script, "good morning")
    async with platform(**NAPCAT, report_own_messages=True) as onebot:
        onebot.script("send_group_msg", refused(message=CANT_CONVERT))
        await asked(onebot, bot)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert onebot.texts == ["good morning"]
    assert [segments[0]["type"] for segments in heard(onebot)] == ["record", "text"]
    (entry,) = await rows(OutboxEntry.objects.filter(bot=bot))
    assert (entry.state, CANT_CONVERT in entry.error) == ("sent", True)
    (chat,) = await rows(Chat.objects.filter(bot=bot))
    assert chat.messages == 1  # the echo of its words is no item


async def test_a_voice_of_unknown_outcome_is_settled_by_what_the_platform_tells(
    platform: Platform, script: Script, bot: Bot
) -> None:
    speaks(script, "good morning")
    async with platform(**NAPCAT) as onebot:
        onebot.script("send_group_msg", silent(delivered=True))
        await asked(onebot, bot)
        (said,) = await onebot.wait_for_sends(1)
        onebot.hang_up()
    async with platform(**NAPCAT) as onebot:
        said.segments = [{"type": "record", "data": {"file": "a.amr"}}]
        await onebot.send_event(onebot.world.message_event(said))
        await entries_become(bot, "send sent good morning")
