"""The broker may forget everything, or be gone, at any moment; so may the database's connections:
work goes on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.db import connection

from arise_site.embedded import locations
from arise_site.embedded.servers import Servers
from core.models import Bot
from tests.arise_site.running import temporary_home
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.site import Site
from tests.flows.conftest import Platform
from tests.flows.test_conversation import GROUP, SEND, answers
from tests.flows.waiting import ended_turns, in_database, once


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


@pytest.fixture
def broker() -> Iterator[Servers]:
    """A broker that a test may stop and start."""
    with temporary_home() as home:
        servers = Servers(home, database=False, fast=True)
        servers.claim()
        servers.start()
        yield servers
        servers.stop()


@pytest.fixture
def own_site(
    site: Site, broker: Servers, scripted_model: ScriptedModel, tmp_path: Path
) -> Iterator[Site]:
    """A site that uses this broker; the worker of the other one rests meanwhile."""
    url = locations.redis_url(broker.home)
    own = Site(model_url=scripted_model.url, logs=tmp_path, REDIS_URL=url)
    site.pause("worker")
    try:
        own.start()
        yield own
    finally:
        own.stop()
        site.resume("worker")


async def test_while_the_broker_is_gone_and_after_it_is_back_all_work_goes_on(
    own_site: Site, broker: Servers, platform: Platform, script: Script, bot: Bot
) -> None:
    (server,) = broker.members
    answers(script, "before")
    answers(script, "meanwhile")
    answers(script, "after")
    async with platform(url=own_site.gateway_url) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await asyncio.to_thread(server.stop)
        await onebot.say(GROUP, 10002, "is it gone?", mention_bot=True)
        await onebot.wait_for_sends(2, timeout=20)
        await ended_turns(bot, 2)
        await asyncio.to_thread(broker.restart, server)
        await onebot.say(GROUP, 10002, "is it back?", mention_bot=True)
        await onebot.wait_for_sends(3, timeout=20)
        await ended_turns(bot, 3)
    assert onebot.texts == ["before", "meanwhile", "after"]


def cut() -> bool:
    """End every connection of the site's to its database, as a restart does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'arise'"
        )
        return True


async def test_the_database_ends_all_connections_and_a_turn_goes_on_with_nothing_lost_or_doubled(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.add(once(cut, (SEND, {"content": "one"})))
    script.add(once(cut, (SEND, {"content": "two"})))
    script.add(once(cut))
    answers(script, "three")
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await onebot.wait_for_sends(2, timeout=25)
        await ended_turns(bot, 1)
        await in_database(cut)
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        await onebot.wait_for_sends(3, timeout=25)
        await ended_turns(bot, 2)
    assert onebot.texts == ["one", "two", "three"]
    assert len(script.requests) == 5
