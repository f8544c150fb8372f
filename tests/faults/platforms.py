"""Platforms that are never killed: they dial again after each loss, keep the record of all that was
said, and answer sends badly at times, by seeded chance."""

import asyncio
import contextlib
import random
from collections.abc import Sequence
from typing import Any

from botgateway.simulator.platform import NoConnection
from botgateway.simulator.world import Frame
from tests.fakes.onebot import (
    SEND_ACTIONS,
    Behaviour,
    FakeOneBot,
    late,
    refused,
    silent,
    timeout_but_sent,
)

REDIAL_SECONDS = 0.2
LATE_SECONDS = (0.2, 2.5)
PEOPLE = (10002, 10003, 10004)


UNSTEADY = SEND_ACTIONS | {"delete_msg"}


class UnsteadyPlatform(FakeOneBot):
    """Of its sends and recalls 4% are done and called a time-out, 4% done and never answered, 2% neither done
    nor answered, 4% refused, 4% answered late."""

    def __init__(self, url: str, *, chance: random.Random, **options: Any) -> None:
        super().__init__(url, **options)
        self._chance = chance

    async def stay_connected(self) -> None:
        """Dials, and dials again whenever the connection is lost, for ever."""
        while True:
            with contextlib.suppress(NoConnection):
                await self.connect()
                await self.wait_closed()
            await asyncio.sleep(REDIAL_SECONDS)

    async def handle_call(self, call: Frame) -> None:
        if call["action"] in UNSTEADY and (behaviour := self._draw()):
            self.script(call["action"], behaviour)
        await super().handle_call(call)

    def _draw(self) -> Behaviour | None:
        kinds = [
            (0.04, timeout_but_sent()),
            (0.04, silent(delivered=True)),
            (0.02, silent(delivered=False)),
            (0.04, refused()),
            (0.04, late(self._chance.uniform(*LATE_SECONDS))),
        ]
        drawn = self._chance.random()
        for share, behaviour in kinds:
            drawn -= share
            if drawn < 0:
                return behaviour
        return None


class People:
    """Who talk in the groups of one platform, whether or not it is connected just now."""

    def __init__(self, platform: FakeOneBot, groups: Sequence[int], chance: random.Random) -> None:
        self._platform = platform
        self._groups = groups
        self._chance = chance
        self._numbers = dict.fromkeys(groups, 0)

    async def ask(self, group: int) -> None:
        """Somebody asks the bot something that has a mark of its own (see tests.faults.talker)."""
        await self._say(group, mention_bot=True)

    async def talk(self, *, every_seconds: float) -> None:
        """Each group hears something so often, in the mean; two of three times the bot is asked."""
        while True:
            pause = self._chance.expovariate(len(self._groups) / every_seconds)
            await asyncio.sleep(pause)
            await self._say(
                self._chance.choice(self._groups), mention_bot=self._chance.random() < 2 / 3
            )

    async def _say(self, group: int, *, mention_bot: bool) -> None:
        self._numbers[group] += 1
        mark = f"{'q' if mention_bot else 'w'}{group}.{self._numbers[group]}"
        with contextlib.suppress(NoConnection):  # then only the platform's history has it
            await self._platform.say(
                f"group:{group}", self._chance.choice(PEOPLE), mark, mention_bot=mention_bot
            )
