"""A turn run again in the real worker: the model is asked, and the platform hears nothing of it."""

from core import tasks
from core.models import Bot, OutboxEntry, SentMessage, TurnRerun
from tests.fakes.model import Script
from tests.flows.conftest import Platform
from tests.flows.waiting import ended_turns, eventually, in_database, rows

GROUP = "group:20001"
SEND = "send_message"


async def test_nothing_of_it_is_sent_or_kept(platform: Platform, script: Script, bot: Bot) -> None:
    script.reply(tool_calls=[(SEND, {"content": "hello Ann"})])
    script.reply()
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        (turn,) = await ended_turns(bot, 1)
        script.reply(tool_calls=[(SEND, {"content": "hello again"})])
        script.reply()
        rerun = await in_database(
            lambda: TurnRerun.objects.create(turn=turn, model=script.model, persona="An owl.")
        )
        await in_database(lambda: tasks.run_again.delay(rerun.pk))
        ended = TurnRerun.objects.filter(pk=rerun.pk, ended_at__isnull=False)
        (done,) = await eventually(lambda: rows(ended))
        assert (done.state, len(done.steps)) == ("done", 2)
        assert done.steps[0]["results"] == [{"ok": True, "handle": "m2"}]
        # What is said afterwards comes right behind what was said before.
        script.reply(tool_calls=[(SEND, {"content": "and now"})])
        script.reply()
        await onebot.say(GROUP, 10002, "hi?", mention_bot=True)
        sent = await onebot.wait_for_sends(2)
        await ended_turns(bot, 2)
    assert [one.text for one in sent] == ["hello Ann", "and now"]
    handles = await rows(SentMessage.objects.filter(chat=turn.chat_id).order_by("pk"))
    assert [message.handle for message in handles] == ["m1", "m2"]
    assert len(await rows(OutboxEntry.objects.filter(bot=bot))) == 2
    assert "An owl." in script.requests[2]["messages"][0]["content"]
    assert script.requests[2]["messages"][1:] == script.requests[0]["messages"][1:]
