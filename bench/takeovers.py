"""One bot connects anew again and again while it sends; do sends fail on the new connection?

Entries are put into the Outbox at a steady rate, in eight groups. At random moments a new socket
takes over, while the old one is half open (it stopped reading and writing up to 0.5 s before, and
is never closed), closed late (it lives on until up to 1 s after) or closed early (up to 0.5 s
before). What is under way on the old socket then may be lost, and is unknown. One should see no
send fail that was claimed later than 1 s after the newest connection was up (and 0.5 s or more
before the platform let that one down), no connection of more than 2 s that carried nothing, and
the first delivery soon after each connection.
"""

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench import figures, house
from botgateway.simulator.world import World
from tests.fakes.onebot import SEND_ACTIONS, FakeOneBot
from tests.fakes.site import Site

if TYPE_CHECKING:
    from core.models import Chat

KINDS = ("half open", "closed late", "closed early")
GROUPS = [20_000 + number for number in range(8)]
PAUSE_SECONDS = 0.04
LIFE_SECONDS = (0.2, 2.4)
GRACE_SECONDS, MARGIN_SECONDS, MUTE_SECONDS = 1.0, 0.5, 2.0
EARLY_SECONDS, LATE_SECONDS = 0.5, 1.0
REST_SECONDS = 60.0
WAITS = {
    "ARISE_SEND_TIMEOUT_SECONDS": "1.5",
    "ARISE_SETTLE_SECONDS": "0.5",
    "ARISE_LOG_LEVEL": "WARNING",
}
LOST = """
SELECT extract(epoch FROM sending_at)::float8 FROM core_outboxentry
 WHERE state IN ('failed', 'unknown') ORDER BY sending_at
"""


@dataclass(slots=True)
class Life:
    """One connection: seconds since the epoch when it was up, and when the platform let it down."""

    onebot: FakeOneBot
    up: float
    up_monotonic: float
    down: float = float("inf")

    def first_delivery(self) -> float | None:
        """Seconds from the connection to the first send that it carried."""
        calls = [call.at for call in self.onebot.calls if call.action in SEND_ACTIONS]
        return calls[0] - self.up_monotonic if calls else None


class Platform:
    """The platform of one bot: one world, one socket after the other."""

    def __init__(self, site: Site, account: str, chance: random.Random) -> None:
        self.lives: list[Life] = []
        self.kinds: Counter[str] = Counter()
        self._site = site
        self._account = account
        self._chance = chance
        self._world = World(int(account))
        self._ends: list[asyncio.Task[None]] = []

    async def connect(self) -> None:
        onebot = house.onebot(self._site, self._account)
        onebot.world = self._world
        await onebot.connect()
        self.lives.append(Life(onebot, time.time(), time.monotonic()))

    async def take_over(self) -> None:
        """A new socket, and the old one's end."""
        kind = KINDS[len(self.lives) % len(KINDS)]
        self.kinds[kind] += 1
        old = self.lives[-1]
        old.down = time.time()
        match kind:
            case "half open":
                old.onebot.freeze()
                await asyncio.sleep(self._chance.uniform(0, EARLY_SECONDS))
                await self.connect()
            case "closed early":
                old.onebot.hang_up()
                await asyncio.sleep(self._chance.uniform(0, EARLY_SECONDS))
                await self.connect()
            case _:
                await self.connect()
                seconds = self._chance.uniform(0, LATE_SECONDS)
                self._ends.append(asyncio.create_task(_hang_up_later(old.onebot, seconds)))

    async def close(self) -> None:
        await asyncio.gather(*self._ends)
        for life in self.lives:
            life.onebot.hang_up()
            await life.onebot.close()


async def _hang_up_later(onebot: FakeOneBot, seconds: float) -> None:
    await asyncio.sleep(seconds)
    onebot.hang_up()


async def send(chats: Sequence["Chat"]) -> None:
    """Put entries into the Outbox at a steady rate, for ever."""
    from core import wake  # noqa: PLC0415
    from core.database import give_back  # noqa: PLC0415
    from tests.factories import make_sent  # noqa: PLC0415

    def put(number: int) -> None:
        chat = chats[number % len(chats)]
        make_sent(chat, f"a{number}", "pending")
        give_back()
        wake.outbox(chat.bot_id)

    number = 0
    while True:
        await asyncio.to_thread(put, number)
        number += 1
        await asyncio.sleep(PAUSE_SECONDS)


async def run(platform: Platform, chats: Sequence["Chat"], given: argparse.Namespace) -> bool:
    """All reconnects, then rest; whether it came to rest."""
    from tests.faults import scene  # noqa: PLC0415

    chance = random.Random(f"{given.seed} moments")
    await platform.connect()
    sending = asyncio.create_task(send(chats))
    for _ in range(given.reconnects):
        await asyncio.sleep(chance.uniform(*LIFE_SECONDS))
        assert not sending.done(), sending.exception()
        await platform.take_over()
    await asyncio.sleep(GRACE_SECONDS + MARGIN_SECONDS)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    rested = await scene.rest([platform.lives[0].onebot], REST_SECONDS)
    await platform.close()
    return rested


def lost(lives: Sequence[Life], claimed: Sequence[float]) -> dict[str, int]:
    """The lost sends, by when they were claimed."""
    found: Counter[str] = Counter()
    for at in claimed:
        life = next((life for life in reversed(lives) if life.up <= at), lives[0])
        if at > life.down - MARGIN_SECONDS:
            found["while the platform let its socket down"] += 1
        elif at <= life.up + GRACE_SECONDS:
            found["within 1 s of the newest connection"] += 1
        else:
            found["later"] += 1
    return dict(found)


def tell(platform: Platform, claimed: list[float], found: Any) -> dict[str, int]:
    """Print what was seen; the counts that must be 0."""
    by_time = lost(platform.lives, claimed)
    first = [1000 * one for life in platform.lives if (one := life.first_delivery()) is not None]
    told = {name: count for name, count in found.told.items() if "entries" in name}
    print(f"reconnects {sum(platform.kinds.values())}: {dict(platform.kinds)}; {told}")
    print(f"lost sends, claimed {by_time}")
    print(
        f"connection up to first delivery, {len(first)} of {len(platform.lives)} connections:"
        f" p50 {figures.percentile(first, 0.5):.0f}, p99 {figures.percentile(first, 0.99):.0f},"
        f" max {max(first):.0f} ms"
    )
    mute = [
        life
        for life in platform.lives
        if life.first_delivery() is None and life.down - life.up > MUTE_SECONDS
    ]
    late = {
        "failed later than 1 s after the connection": by_time.get("later", 0),
        "connections of more than 2 s that carried nothing": len(mute),
    }
    return {**late, **found.faults}


def main() -> None:
    parser = figures.parser("takeovers", __doc__)
    parser.add_argument("--reconnects", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with house.services(fast=True), house.scripted_model() as model:
        # Models can be imported only since the services have set Django up.
        from core.models import Bot  # noqa: PLC0415
        from tests.factories import make_chat  # noqa: PLC0415
        from tests.faults import checker  # noqa: PLC0415

        (account,) = house.add_bots(1)
        row = Bot.objects.get(self_id=account)
        chats = [make_chat(row, external_id=str(group)) for group in GROUPS]
        house.let_go()
        with house.running_site(model, **WAITS) as site:
            platform = Platform(site, account, random.Random(f"{given.seed} platform"))
            rested = asyncio.run(run(platform, chats, given))
        claimed = [at for (at,) in house.rows(LOST)]
        found = checker.examine(checker.record_of([platform.lives[0].onebot]), [])
        must_be_0 = tell(platform, claimed, found)
    print("must be 0:")
    for name, count in must_be_0.items():
        print(f"  {name:50}{count:5}")
    broken = {name: count for name, count in must_be_0.items() if count}
    if broken or not rested:
        sys.exit(f"broken: {broken or 'it did not come to rest'}")


if __name__ == "__main__":
    main()
