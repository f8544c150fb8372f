"""Bots in groups where people talk, over a site whose processes may die at any moment."""

import asyncio
import contextlib
import functools
import random
from collections.abc import AsyncIterator, Iterator, Sequence

from arise_site.openai_server import ChatCompletionsServer
from core import tokens
from core.models import Bot
from tests.factories import make_bot, make_chat
from tests.fakes.onebot import FakeOneBot
from tests.faults import checker
from tests.faults.checker import Record
from tests.faults.forks import ForkingSite
from tests.faults.platforms import People, UnsteadyPlatform
from tests.faults.talker import Talker
from tests.flows.waiting import in_database

TOKEN = "a-token-of-the-scene"
WAITS = {
    "ARISE_DEBOUNCE_SECONDS": "0.2",
    "ARISE_DEBOUNCE_MAX_SECONDS": "1",
    "ARISE_AMBIENT_SECONDS": "0.5",
    "ARISE_SEND_PACE": "0",
    "ARISE_DRAFT_SECONDS": "0.3",
    "ARISE_SEND_TIMEOUT_SECONDS": "1",
    "ARISE_SETTLE_SECONDS": "0.5",
    "ARISE_LEASE_SECONDS": "1.5",
    "ARISE_MODEL_TIMEOUT_SECONDS": "10",
    "ARISE_WORKER_CONCURRENCY": "16",
    "ARISE_CHAT_MODEL": "talker",
    "ARISE_LOG_LEVEL": "WARNING",
}
LOOKS_AT_REST = 4
LOOK_SECONDS = 0.5


def add_bots(count: int, *, groups: int, first_account: int = 2_000_001) -> list[Bot]:
    """Bots, each in so many groups; a group's number is nobody else's. No daily cap holds them up."""
    bots = []
    for number in range(count):
        bot = make_bot(str(first_account + number), token_hash=tokens.hash_token(TOKEN))
        for group in groups_of(number, groups):
            make_chat(bot, external_id=str(group), daily_model_calls=1_000_000)
        bots.append(bot)
    return bots


def groups_of(bot: int, count: int) -> list[int]:
    """The groups of the bot of this number, from 0."""
    return [20_000 + 100 * bot + group for group in range(count)]


@contextlib.contextmanager
def talking_model(seed: int) -> Iterator[tuple[Talker, str]]:
    """The talker over HTTP, and its address."""
    talker = Talker(seed)
    server = ChatCompletionsServer(talker.answer)
    server.start()
    try:
        yield talker, server.url
    finally:
        server.stop()


class Scene:
    """The platforms of some bots and the people in their groups; half of them echo what is sent."""

    def __init__(self, site: ForkingSite, bots: Sequence[Bot], *, groups: int, seed: int) -> None:
        self.platforms = [
            UnsteadyPlatform(
                site.gateway_url,
                chance=random.Random(f"{seed} platform {number}"),
                self_id=bot.self_id,
                token=TOKEN,
                report_own_messages=number % 2 == 1,
            )
            for number, bot in enumerate(bots)
        ]
        self.people = [
            People(platform, groups_of(number, groups), random.Random(f"{seed} people {number}"))
            for number, platform in enumerate(self.platforms)
        ]

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """While inside, the platforms dial, and dial again after each loss."""
        dialling = [asyncio.ensure_future(one.stay_connected()) for one in self.platforms]
        try:
            yield
        finally:
            await _end(dialling)
            await asyncio.gather(*(platform.close() for platform in self.platforms))

    @contextlib.asynccontextmanager
    async def talking(self, *, every_seconds: float) -> AsyncIterator[None]:
        """While inside, every group hears something so often."""
        talks = [
            asyncio.ensure_future(people.talk(every_seconds=every_seconds))
            for people in self.people
        ]
        try:
            yield
        finally:
            await _end(talks)


async def rest(platforms: Sequence[FakeOneBot], seconds: float) -> bool:
    """Wait until nothing is left to be done, for so long; whether it came to that."""
    still = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while still < LOOKS_AT_REST:
                look = functools.partial(_is_work_left, checker.record_of(platforms))
                still = 0 if await in_database(look) else still + 1
                await asyncio.sleep(LOOK_SECONDS)
    return still >= LOOKS_AT_REST


def _is_work_left(record: Record) -> bool:
    return bool(checker.unstored(record)) or any(checker.open_work().values())


async def _end(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended
