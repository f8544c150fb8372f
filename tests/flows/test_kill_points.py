"""Processes are killed at each named point of the way: nothing is lost, nothing said or paid twice."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from core.failpoints import POINTS
from tests.fakes.site import Site
from tests.faults import checker, nemesis, scene
from tests.faults.forks import ForkingSite
from tests.faults.nemesis import Nemesis, Plan
from tests.faults.scene import Scene
from tests.faults.talker import Talker
from tests.flows.conftest import remove
from tests.flows.waiting import in_database

BOTS, GROUPS, SEED = 2, 3, 11
REACHED_SECONDS = 60.0
REST_SECONDS = 60.0


@pytest.fixture
def talker() -> Iterator[tuple[Talker, str]]:
    with scene.talking_model(SEED) as talking:
        yield talking


@pytest.fixture
def killed_site(
    site: Site, talker: tuple[Talker, str], django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> Iterator[ForkingSite]:
    """A site of this test's own. The other flows' worker makes way: it would take turns of ours."""
    site.end("worker")
    try:
        with django_db_blocker.unblock():
            made = ForkingSite(model_url=talker[1], logs=tmp_path, **scene.WAITS)
        with made:
            yield made
    finally:
        site.start_worker()


@pytest.fixture
def stage(killed_site: ForkingSite, django_db_blocker: DjangoDbBlocker) -> Iterator[Scene]:
    with django_db_blocker.unblock():
        bots = scene.add_bots(BOTS, groups=GROUPS)
        yield Scene(killed_site, bots, groups=GROUPS, seed=SEED)
        for bot in bots:
            remove(bot)


async def die_at(killer: Nemesis, name: str, points: tuple[str, ...]) -> None:
    """One process after the other dies at its point; the last one lives, since others need it."""
    await killer.lane(name, [Plan(point, REACHED_SECONDS) for point in points])
    killer.heal([name])


@pytest.mark.timeout(300)  # twenty processes on a machine that may be busy
async def test_a_kill_at_any_named_point_loses_nothing_and_repeats_nothing(
    killed_site: ForkingSite, talker: tuple[Talker, str], stage: Scene
) -> None:
    killer = Nemesis(killed_site, random.Random(SEED))
    async with stage.connected():
        async with stage.talking(every_seconds=1):
            await asyncio.gather(
                die_at(killer, "web", nemesis.WEB),
                # Two, so that one lives while the other starts.
                die_at(killer, "worker-0", nemesis.WORKER[::2]),
                die_at(killer, "worker-1", nemesis.WORKER[1::2]),
            )
        assert await scene.rest(stage.platforms, REST_SECONDS), await in_database(checker.open_work)
    assert killer.points == dict.fromkeys(POINTS, 1)
    record = checker.record_of(stage.platforms)
    found = await in_database(lambda: checker.examine(record, talker[0].asked))
    assert found.broken == {}
    assert found.told["messages delivered"] > 0
