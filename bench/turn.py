"""A turn without model latency: from a mention's frame to the frame of its answer.

Debounce, draft and typing pace are 0, and the scripted model answers at once, so that what is left
is our own: store, hint, lease, context, two model calls over HTTP, the step's commit, the Outbox.
Prints, as medians over runs, p50 and p99 milliseconds with 1 and with 8 turns in flight, and with
1 in a chat of many past messages; CPU milliseconds of web and worker a turn (what they use while
idle is taken off); and from Postgres itself (pg_stat_statements) how many statements a turn takes
in all, `--statements` names them. Commits wait for the disk, whose own time for one is printed;
`--no-disk` leaves it out. One should see p50 within some 10 ms of the disk's share, and p50 flat
(ratio at most 1.2) however long the chat's past is.
"""

import asyncio
import statistics as stats
import time
from dataclasses import dataclass
from typing import Any

from bench import figures, house, scripts, statements
from botgateway.simulator.world import Frame
from tests.fakes.model import Script
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import Site

NO_WAITS = {
    "ARISE_DEBOUNCE_SECONDS": "0",
    "ARISE_DRAFT_SECONDS": "0",
    "ARISE_SEND_PACE": "0",
    "ARISE_AMBIENT_SECONDS": "1",
}
ANSWER_SECONDS = 60.0
TAIL_SECONDS = 0.05
IDLE_SECONDS = 5.0
CHATS_A_LANE = 4
OLD_CHAT = "group:90001"
UNJUDGED = "SELECT count(*) FROM core_chat WHERE turn_due_at IS NOT NULL"
STORED = "SELECT coalesce(sum(messages), 0) FROM core_chat"


class Timed(FakeOneBot):
    """Tells each chat's waiting mention when its answer's frame came in."""

    awaited: dict[str, asyncio.Future[float]]

    async def handle_call(self, call: Frame) -> None:
        at = time.monotonic()
        waiting = self.awaited.pop(f"group:{(call.get('params') or {}).get('group_id')}", None)
        if waiting is not None:
            waiting.set_result(at)
        await super().handle_call(call)

    async def answered(self, chat: str) -> float:
        """Mention the bot; seconds until the answer's frame."""
        self.awaited[chat] = asyncio.get_running_loop().create_future()
        began = time.monotonic()
        await self.say(chat, 10_002, "how are you?", mention_bot=True)
        return await asyncio.wait_for(self.awaited[chat], ANSWER_SECONDS) - began


@dataclass(slots=True)
class Bench:
    """The site under test, and what is known of it."""

    site: Site
    onebot: Timed
    script: Script
    idle_cpu: dict[str, float]

    def cpu(self) -> dict[str, float]:
        return figures.cpu_seconds({n: house.process(self.site, n) for n in ("web", "worker")})

    async def learn_idle(self) -> None:
        """What web and worker use a second while nothing happens."""
        before = self.cpu()
        await asyncio.sleep(IDLE_SECONDS)
        self.idle_cpu = {n: (v - before[n]) / IDLE_SECONDS for n, v in self.cpu().items()}

    async def lane(self, chats: list[str], turns: int, *, alone: bool) -> list[float]:
        """One turn after the other; alone, each begins only when the one before has ended."""
        took = []
        for number in range(turns):
            asked = len(self.script.requests)
            took.append(1000 * await self.onebot.answered(chats[number % len(chats)]))
            if alone:
                await asyncio.to_thread(self.script.wait_for_requests, asked + 2)
                await asyncio.sleep(TAIL_SECONDS)
        return took

    async def run(self, lanes: list[list[str]], turns: int) -> dict[str, float]:
        """So many turns over the lanes: the figures of one run."""
        cpu, began = self.cpu(), time.monotonic()
        alone, each = len(lanes) == 1, turns // len(lanes)
        took = await asyncio.gather(*(self.lane(chats, each, alone=alone) for chats in lanes))
        await asyncio.sleep(4 * TAIL_SECONDS)
        seconds = time.monotonic() - began
        found = {
            f"{n}_cpu": 1000 * (v - cpu[n] - seconds * self.idle_cpu[n]) / (each * len(lanes))
            for n, v in self.cpu().items()
        }
        flat = [value for lane in took for value in lane]
        return found | {"p50": stats.median(flat), "p99": figures.percentile(flat, 0.99)}

    async def make_past(self, messages: int) -> None:
        """So many messages in one chat, stored and judged."""
        for _ in range(messages):
            await self.onebot.say(OLD_CHAT, 10_003, "words of long ago that nobody answers")
        end = time.monotonic() + 300
        due = stored = -1
        while due or stored < messages:
            assert time.monotonic() < end, f"{stored} of {messages} stored, {due} chats still due"
            await asyncio.sleep(1)
            ((due,),) = await asyncio.to_thread(house.rows, UNJUDGED)
            ((stored,),) = await asyncio.to_thread(house.rows, STORED)


async def measure(bench: Bench, given: Any) -> dict[str, dict[str, float]]:
    """All shapes in turn, so many runs; each figure's median. Then the statements."""
    lanes = [
        [f"group:{20_000 + 100 * lane + chat}" for chat in range(CHATS_A_LANE)]
        for lane in range(given.in_flight)
    ]
    many = f"{given.in_flight} in flight"
    shapes = {"1 in flight": lanes[:1], many: lanes, "1, long past": [[OLD_CHAT]]}
    for chat in [OLD_CHAT, *(chat for lane in lanes for chat in lane)]:
        await asyncio.to_thread(house.lift_cap, str(bench.onebot.world.self_id), chat)
    async with bench.onebot:
        # Chats and connections are made at first use, which is not measured.
        await asyncio.gather(*(bench.lane(chats, CHATS_A_LANE, alone=False) for chats in lanes))
        await bench.make_past(given.past)
        await bench.learn_idle()
        found: dict[str, list[dict[str, float]]] = {name: [] for name in shapes}
        for _ in range(given.runs):
            for name, lanes_of_it in shapes.items():
                found[name].append(await bench.run(lanes_of_it, given.turns))
        await statements.tell(lambda: bench.run(lanes[:1], 50), 50, names=given.statements)
    return {
        name: {key: stats.median(one[key] for one in runs) for key in runs[0]}
        for name, runs in found.items()
    }


def main() -> None:
    parser = figures.parser("turn", __doc__)
    parser.add_argument("--turns", type=int, default=120, help="of each run")
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--past", type=int, default=10_000, help="messages in the old chat")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--statements", action="store_true", help="name the statements")
    parser.add_argument("--no-disk", action="store_true", help="commits do not wait for the disk")
    given = parser.parse_args()
    with house.services(fast=given.no_disk) as servers, house.scripted_model() as model:
        figures.tell_disk(fast=given.no_disk)
        statements.count_them(servers)
        script = scripts.one_message_a_turn(model)
        (account,) = house.add_bots(1)
        with house.running_site(model, **NO_WAITS) as site:
            onebot = Timed(site.gateway_url, self_id=account, token=house.TOKEN)
            onebot.awaited = {}
            found = asyncio.run(measure(Bench(site, onebot, script, {}), given))
    for name, one in found.items():
        print(
            f"{name:13} p50 {one['p50']:6.1f} ms, p99 {one['p99']:6.1f} ms, CPU per turn:"
            f" web {one['web_cpu']:4.1f} ms, worker {one['worker_cpu']:4.1f} ms"
        )
    first, second, third = (one["p50"] for one in found.values())
    print(f"p50 ratios: {given.in_flight} in flight / 1: {second / first:.1f};", end=" ")
    print(f"{given.past} past messages / few: {third / first:.2f}")


if __name__ == "__main__":
    main()
