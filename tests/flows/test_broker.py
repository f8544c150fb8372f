"""The broker may forget everything at any moment: work goes on."""

import redis
from django.conf import settings

from core.models import Bot
from tests.fakes.model import Script
from tests.flows.conftest import Platform
from tests.flows.test_conversation import GROUP, answers
from tests.flows.waiting import ended_turns, in_database


async def test_a_broker_that_forgets_everything_stops_nothing(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "before")
    answers(script, "after")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        with redis.Redis.from_url(settings.REDIS_URL) as broker:
            await in_database(broker.flushdb)
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        await onebot.wait_for_sends(2, timeout=20)
        await ended_turns(bot, 2)
