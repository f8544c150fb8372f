"""Kill web processes and workers at every named point and at random moments; count what broke.

Four bots in four groups each, half of them reporting their own messages; people talk all the time,
also while nothing is up; of the sends, 18% are answered badly: done and called a time-out, done or
not and never answered, refused, late. One web process and three workers are forked anew as soon as
they died: at a failpoint, or at a random moment; a spare worker lives longer; one kill in ten
takes all of them. After the last kill everything is left to come to rest, then tables and platforms
are compared. Ends with 1 where a count that must be 0 is not. `--broken retry` breaks the rule that
a send is never repeated when its outcome is not known; one should see messages said twice.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench import figures, house
from core import failpoints
from tests.faults import nemesis
from tests.faults.forks import ForkingSite
from tests.faults.nemesis import Nemesis, Plan

if TYPE_CHECKING:  # they import models, which needs a Django that is set up
    from tests.faults.checker import Findings
    from tests.faults.scene import Scene

BOTS, GROUPS = 4, 4
TALK_SECONDS = 2.0
RANDOM_SHARE, LATER_SHARE, BOTH_SHARE = 0.15, 0.3, 0.1
PATIENCE_SECONDS = 10.0
# In starts of a web process, so that on a busy machine processes live long enough to do something.
SHORTEST_LIFE, LONGEST_LIFE = 0.3, 8.0
SPARE_LIFE_SECONDS = (3.0, 10.0)
LATER_SECONDS = (0.01, 0.3)
TIMES = (1, 1, 1, 2, 3, 4)
WORKERS = ("worker-0", "worker-1", "worker-2")
REST_SECONDS = 120.0
PROGRESS_SECONDS = 30.0
BROKEN = {"retry": "bench.broken_retry"}


def start_seconds(site: ForkingSite) -> float:
    """What a web process takes to start on this machine now."""
    site.start()
    site.kill("web")
    began = time.monotonic()
    site.start_web()
    site.wait_ready()
    took = time.monotonic() - began
    for name in list(site.processes):
        site.kill(name)
    return took


def plans(killer: Nemesis, name: str, given: argparse.Namespace, start: float) -> Iterator[Plan]:
    """How the next process of a lane dies, until there were enough kills; rare points come first.
    `start` is what a process takes to start, in seconds."""
    points = nemesis.WEB if name == "web" else nemesis.WORKER
    chance = random.Random(f"{given.seed} {name}")
    while killer.kills < given.kills:
        if chance.random() < RANDOM_SHARE:
            yield Plan("", start * chance.uniform(SHORTEST_LIFE, LONGEST_LIFE))
            continue
        rare = sorted(points, key=lambda point: (killer.points[point], chance.random()))
        failpoint = f"{chance.choice(rare[:3])}*{chance.choice(TIMES)}"
        if chance.random() < LATER_SHARE:
            failpoint += f"+{chance.uniform(*LATER_SECONDS):.3f}"
        yield Plan(failpoint, PATIENCE_SECONDS)


def spare_plans(killer: Nemesis, given: argparse.Namespace) -> Iterator[Plan]:
    """A longer life, so that turns end although their chats' workers die all the time."""
    chance = random.Random(f"{given.seed} spare")
    while killer.kills < given.kills:
        yield Plan("", chance.uniform(*SPARE_LIFE_SECONDS))


async def tell_progress(killer: Nemesis) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        print(f"{killer.kills} kills in {time.monotonic() - began:.0f} s", flush=True)


async def kill(killer: Nemesis, stage: "Scene", given: argparse.Namespace) -> bool:
    """All kills, then rest; whether everything came to rest."""
    from tests.faults import scene  # noqa: PLC0415

    start = await asyncio.to_thread(start_seconds, killer.site)
    print(f"a web process starts in {start:.2f} s", flush=True)
    progress = asyncio.create_task(tell_progress(killer))
    async with stage.connected():
        async with stage.talking(every_seconds=TALK_SECONDS):
            await asyncio.gather(
                *(
                    killer.lane(name, plans(killer, name, given, start))
                    for name in ("web", *WORKERS)
                ),
                killer.lane("spare", spare_plans(killer, given)),
            )
        progress.cancel()
        killer.heal(("web", *WORKERS))
        return await scene.rest(stage.platforms, REST_SECONDS)


def attack(given: argparse.Namespace) -> str:
    """Kill, let it come to rest, check and print; what is broken, in words."""
    # Models can be imported only since the services have set Django up.
    from tests.faults import checker, scene  # noqa: PLC0415

    began = time.monotonic()
    with scene.talking_model(given.seed) as (talker, url):
        bots = scene.add_bots(BOTS, groups=GROUPS)
        house.let_go()
        logs = Path(os.environ["ARISE_HOME"]) / "log"
        first = BROKEN.get(given.broken, "")
        with ForkingSite(model_url=url, logs=logs, first=first, **scene.WAITS) as site:
            chance = random.Random(f"{given.seed} both")
            killer = Nemesis(site, chance, both_share=BOTH_SHARE)
            stage = scene.Scene(site, bots, groups=GROUPS, seed=given.seed)
            rested = asyncio.run(kill(killer, stage, given))
        found = checker.examine(checker.record_of(stage.platforms), talker.asked)
    tell(killer, found)
    print(
        f"{killer.kills} kills in {time.monotonic() - began:.0f} s, seed {given.seed}", flush=True
    )
    faults = [f"{name}: {count}" for name, count in found.broken.items()]
    faults += [f"never killed at {point}" for point in killer.never]
    return "; ".join(faults if rested else [*faults, "it did not come to rest"])


def tell(killer: Nemesis, found: "Findings") -> None:
    """Print the counts as a table."""
    by_point = {point: killer.points[point] for point in (*failpoints.POINTS, *killer.points)}
    tables = {
        "killed at": by_point,
        "killed": {**killer.victims, "failpoint not reached in time": killer.missed},
        "seen": found.told,
        "must be 0": found.faults,
    }
    for title, counts in tables.items():
        print(title)
        for name, count in counts.items():
            print(f"  {name:34}{count:7}")


def main() -> None:
    parser = figures.parser("kill_points", __doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--broken", choices=sorted(BROKEN), help="a rule to break on purpose")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with house.services(fast=True):
        if broken := attack(given):
            sys.exit(f"broken: {broken}")


if __name__ == "__main__":
    main()
