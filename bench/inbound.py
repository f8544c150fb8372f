"""Group messages not meant for the bot: stored through the real web process into Postgres.

Ten sockets, one group each, frames of 1.5 kB; so many frames are kept in flight, a frame being in
flight until its row can be read. Prints for each such number, as medians over runs: events stored a
second; p50 and p99 milliseconds from frame to row (rows are looked for each half millisecond); CPU
microseconds of web and worker an event. One should see events/s rise with the frames in flight,
since what waits is stored in batches, and CPU per event fall: the ratio says by how much. A commit
waits for the disk, whose own time for one is printed; `--no-disk` leaves it out. The last lines are
those of `bench.wire`.
"""

import asyncio
import json
import statistics
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from bench import figures, house, wire
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import Site

LOOK_SECONDS = 0.0005
PATIENCE_SECONDS = 120.0
LAST = "SELECT coalesce(max(id), 0) FROM core_inbounditem"
NEWER = "SELECT id, platform_message_id FROM core_inbounditem WHERE id > %s ORDER BY id"


@dataclass(frozen=True, slots=True)
class Found:
    """One run's figures."""

    per_second: float
    p50_ms: float
    p99_ms: float
    web_us: float
    worker_us: float


class Load:
    """Sends frames, and sees their rows come."""

    def __init__(self, site: Site, onebots: list[FakeOneBot]) -> None:
        self.onebots = onebots
        self.measured = {name: house.process(site, name) for name in ("web", "worker")}
        self.database = house.database()
        self.number = 1_000_000

    async def run(self, events: int, in_flight: int) -> Found:
        """So many events, so many of them in flight."""
        frames = deque(self._frame(index) for index in range(events))
        sent: dict[str, float] = {}
        took: list[float] = []
        ((last,),) = self.database.execute(LAST)
        cpu, began = figures.cpu_seconds(self.measured), time.monotonic()
        while len(took) < events:
            while frames and len(sent) < in_flight:
                onebot, message_id, frame = frames.popleft()
                sent[message_id] = time.monotonic()
                await onebot.send_frame(frame)
            await asyncio.sleep(LOOK_SECONDS)
            stored = self.database.execute(NEWER, [last]).fetchall()
            last = max([last, *(row for row, _ in stored)])
            took += [time.monotonic() - sent.pop(message_id) for _, message_id in stored]
            assert time.monotonic() - began < PATIENCE_SECONDS, f"{len(sent)} are not stored"
        seconds = time.monotonic() - began
        after = figures.cpu_seconds(self.measured)
        return Found(
            per_second=events / seconds,
            p50_ms=1000 * figures.percentile(took, 0.5),
            p99_ms=1000 * figures.percentile(took, 0.99),
            web_us=1e6 * (after["web"] - cpu["web"]) / events,
            worker_us=1e6 * (after["worker"] - cpu["worker"]) / events,
        )

    def _frame(self, index: int) -> tuple[FakeOneBot, str, str]:
        self.number += 1
        onebot = self.onebots[index % len(self.onebots)]
        event = wire.group_message(onebot.world.self_id, message_id=self.number)
        return onebot, str(self.number), json.dumps(event, ensure_ascii=False)


def median(found: list[Found]) -> Found:
    """Each figure's median over runs."""
    columns: dict[str, Any] = {
        name: statistics.median(getattr(one, name) for one in found) for name in Found.__slots__
    }
    return Found(**columns)


async def load(site: Site, accounts: list[str], given: Any) -> dict[int, Found]:
    """All numbers in flight, one after the other in each run."""
    onebots = [house.onebot(site, account) for account in accounts]
    found: dict[int, list[Found]] = {in_flight: [] for in_flight in given.in_flight}
    try:
        for onebot in onebots:
            await onebot.connect()
        under_load = Load(site, onebots)
        await under_load.run(500, 64)  # chats, members and connections are made; not measured
        for _ in range(given.runs):
            for in_flight, values in found.items():
                events = given.events if in_flight > 1 else given.events // 5
                values.append(await under_load.run(events, in_flight))
    finally:
        await asyncio.gather(*(onebot.close() for onebot in onebots), return_exceptions=True)
    return {in_flight: median(values) for in_flight, values in found.items()}


def main() -> None:
    parser = figures.parser("inbound", __doc__)
    parser.add_argument("--sockets", type=int, default=10)
    parser.add_argument("--events", type=int, default=5000, help="a run; a fifth where 1 in flight")
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 64, 1000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-disk", action="store_true", help="commits do not wait for the disk")
    given = parser.parse_args()
    with house.services(fast=given.no_disk), house.scripted_model() as model:
        figures.tell_disk(fast=given.no_disk)
        accounts = house.add_bots(given.sockets)
        with house.running_site(model) as site:
            found = asyncio.run(load(site, accounts, given))
    for in_flight, one in found.items():
        print(
            f"{in_flight:5} in flight: {one.per_second:6.0f} events/s, frame to row"
            f" p50 {one.p50_ms:6.1f} p99 {one.p99_ms:6.1f} ms,"
            f" CPU per event: web {one.web_us:5.0f} µs, worker {one.worker_us:4.0f} µs"
        )
    slow, fast = found[min(found)], found[max(found)]
    print(
        f"{max(found)} in flight / {min(found)}: {fast.per_second / slow.per_second:.1f} x events/s,"
        f" {fast.web_us / slow.web_us:.2f} x web CPU"
    )
    wire.tell()


if __name__ == "__main__":
    main()
