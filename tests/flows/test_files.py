"""An overlong skill as a file, the whole way: Outbox, platform, Sent Log, and taken back."""

import base64
from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from core.models import Bot, SentMessage
from skills.models import Skill
from tests.factories import make_skill
from tests.fakes.model import Script, assistant, says
from tests.fakes.site import Site
from tests.flows.conftest import NAPCAT, Platform
from tests.flows.waiting import ended_turns, entries, entries_become, once, rows

GROUP = "group:20001"
BODY = "# Rules\n\n" + "Deal the cards. " * 400
READ = ("inject_skills", {"names": ["poker"], "level": "full"})


@pytest.fixture
def skill(bot: Bot, django_db_blocker: DjangoDbBlocker) -> Iterator[Skill]:
    with django_db_blocker.unblock():
        skill = make_skill("poker", BODY, for_all_chats=False)
        skill.bots.add(bot)
        yield skill
        skill.delete()


async def sent(bot: Bot) -> SentMessage:
    (message,) = await rows(SentMessage.objects.filter(chat__bot=bot).select_related("entry"))
    assert isinstance(message, SentMessage)
    return message


@pytest.mark.usefixtures("skill")
async def test_an_overlong_skill_is_sent_as_a_file_and_taken_back(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[READ])
    said = f"The file poker.md, {len(BODY)} characters."
    script.add(once(lambda: f"send sent {said}" in entries(bot), ("self_recall", {"handle": "m1"})))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "the rules?", mention_bot=True)
        await entries_become(bot, f"send recalled {said}", "recall sent")
        await ended_turns(bot, 1)
        (call,) = onebot.called("send_group_msg")
        (recall,) = onebot.called("delete_msg")
    (segment,) = call.params["message"]
    assert (segment["type"], segment["data"]["name"]) == ("file", "poker.md")
    content = base64.b64decode(segment["data"]["file"].removeprefix("base64://"))
    assert content.decode() == BODY
    message = await sent(bot)
    assert message.entry is not None
    assert (message.kind, message.entry.state) == ("file", "recalled")
    assert str(recall.params["message_id"]) == message.entry.platform_message_id


@pytest.mark.usefixtures("skill")
async def test_a_file_is_sent_once_although_its_worker_dies_after_the_step(
    platform: Platform, script: Script, bot: Bot, site: Site
) -> None:
    script.reply(tool_calls=[READ])

    def dies() -> bool:
        site.kill("worker")
        site.start_worker()
        return True

    script.add(once(dies))
    script.always(says(assistant()))
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "the rules?", mention_bot=True)
        await ended_turns(bot, 1, timeout=40)
        assert len(onebot.called("send_group_msg")) == 1
    message = await sent(bot)
    assert message.entry is not None
    assert message.entry.state == "sent"


@pytest.mark.usefixtures("skill")
async def test_an_implementation_that_takes_no_files_gets_none_and_the_model_a_cut_text(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[READ])
    script.reply()
    async with platform(app_name="Lagrange.OneBot", app_version="1") as onebot:
        await onebot.say(GROUP, 10002, "the rules?", mention_bot=True)
        await ended_turns(bot, 1)
    assert "The text is cut here" in str(script.requests[1]["messages"][-1]["content"])
    assert not onebot.called("send_group_msg")
    assert not onebot.called("upload_group_file")
