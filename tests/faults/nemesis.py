"""What kills the site's processes, one lane a process, and keeps where each of them died."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core import failpoints
from tests.faults.forks import Forked, ForkingSite

WEB = (
    "event_read", "items_stored", "entries_claimed", "call_writing", "call_written",
    "answer_read", "outcome_kept",
)  # fmt: skip
WORKER = tuple(point for point in failpoints.POINTS if point not in WEB)
RANDOM = "a random moment"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a process is to die: at a failpoint (as ARISE_FAILPOINT has it), and where there is none,
    or it is not reached so soon, after so many seconds."""

    failpoint: str
    seconds: float


class Nemesis:
    """Starts processes and sees that they die. `both_share` of all kills take every process."""

    def __init__(self, site: ForkingSite, chance: random.Random, *, both_share: float = 0) -> None:
        self.site = site
        self.points: Counter[str] = Counter()
        self.victims: Counter[str] = Counter()
        self.missed = 0
        self._chance = chance
        self._both_share = both_share
        self._running: dict[str, Forked] = {}
        self._killed: set[Forked] = set()

    @property
    def kills(self) -> int:
        return sum(self.points.values())

    @property
    def never(self) -> list[str]:
        """The points at which nothing was killed."""
        return [point for point in failpoints.POINTS if not self.points[point]]

    async def lane(self, name: str, plans: Iterable[Plan]) -> None:
        """Start the process of this name (`web`, or any for a worker) again for each plan."""
        for plan in plans:
            process = self._start(name, plan.failpoint)
            died = await asyncio.to_thread(process.ended.wait, plan.seconds)
            if process in self._killed:  # by another lane, which counts it
                continue
            if died:
                assert process.wait() == -signal.SIGKILL, self.site.log(name)[-2000:]
                armed = failpoints.parse(plan.failpoint)
                assert armed is not None
                self.points[armed.point] += 1
            else:
                process.kill()
                await asyncio.to_thread(process.wait)
                self.missed += bool(plan.failpoint)
                self.points[RANDOM] += 1
            both = self._chance.random() < self._both_share
            if both:
                self._kill_all()
            self.victims["both" if both else "web" if name == "web" else "worker"] += 1

    def heal(self, names: Sequence[str]) -> None:
        """Start these processes, to live."""
        for name in names:
            self._start(name, "")

    def _start(self, name: str, failpoint: str) -> Forked:
        self.site.environment["ARISE_FAILPOINT"] = failpoint
        if name == "web":
            self.site.start_web()
        else:
            self.site.start_worker(name)
        process = self.site.processes[name]
        assert isinstance(process, Forked)
        self._running[name] = process
        return process

    def _kill_all(self) -> None:
        for process in self._running.values():
            if not process.ended.is_set():
                self._killed.add(process)
                process.kill()
