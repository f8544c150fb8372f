"""10,000 sightings of 200 pictures, renamed and re-encoded, over 4 workers of which one is killed.

Two captions to a template, five encodings of each; sightings in ten chats at once, most under the
platform's name for those bytes, some under none, some under a new name each. A worker is killed once
half of the pictures were shown to the model, and not replaced. After all tasks are done, and what
the killed worker had claimed has ended as lost, tables and the model's own record are compared. Ends
with 1 where a picture was paid for twice, or has not exactly one row.
"""

import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis

from bench import figures, house
from tests.fakes.model import ScriptedModel, assistant, says
from tests.fakes.site import Site

if TYPE_CHECKING:  # it imports models, which needs a Django that is set up
    from core.models import Chat

EYES = "bench-eyes"
CHATS, WORKERS = 10, 4
MODEL_SECONDS = 0.3
TIMEOUT_SECONDS = "5"
REST_SECONDS, LONGEST_SECONDS = 3.0, 1800.0


def seeing(model: ScriptedModel) -> Any:
    """The script of the model that sees: each picture has a meaning of its own."""
    from stickers import recognition  # noqa: PLC0415 - after the services have set Django up

    script = model.script(EYES)
    script.always(
        lambda _request: says(
            assistant(
                tool_calls=[(recognition.TOOL_NAME, {"meaning": "so it is", "sensitive": False})]
            ),
            delay=MODEL_SECONDS,
        )
    )
    return script


def chats_that_learn() -> "list[Chat]":
    from core import chatsettings  # noqa: PLC0415 - see above
    from core.models import Bot  # noqa: PLC0415
    from tests.factories import make_chat  # noqa: PLC0415

    (account,) = house.add_bots(1)
    bot = Bot.objects.get(self_id=account)
    chats = [make_chat(bot, title=f"chat {number}") for number in range(CHATS)]
    pairs = ["sticker_learning=on", "sticker_rate=1000000", "sticker_daily_calls=1000000"]
    pairs += ["sticker_daily_tokens=1000000000", "cap.sticker=on", "sticker_cap=1000"]
    for chat in chats:
        chatsettings.apply(chat, chatsettings.parse(pairs))
    return chats


def waiting() -> int:
    """Tasks that no worker has taken yet."""
    from django.conf import settings  # noqa: PLC0415 - see above

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return int(client.llen("stickers"))


def outcomes() -> int:
    return int(house.rows("SELECT coalesce(sum(times), 0) FROM stickers_funnelcount")[0][0])


def rest(limit: float = LONGEST_SECONDS) -> None:
    """Wait until no task is left and nothing changes any more."""
    end, quiet_since, last = time.monotonic() + limit, time.monotonic(), -1
    while time.monotonic() - quiet_since < REST_SECONDS:
        assert time.monotonic() < end, "it does not come to rest"
        now = outcomes()
        if waiting() or now != last:
            quiet_since, last = time.monotonic(), now
        time.sleep(0.2)


def kill_half_way(site: Site, script: Any, pictures: int) -> int:
    """Kill a worker once half of the pictures were asked for; how many of its claims are open."""
    script.wait_for_requests(pictures // 2, timeout=LONGEST_SECONDS)
    site.kill("worker-0")
    ((left,),) = house.rows("SELECT count(*) FROM stickers_picture WHERE verdict = 'learning'")
    return int(left)


def settle() -> float:
    """Wait until the claims of the killed worker have ended as lost; seconds it took."""
    began = time.monotonic()
    while house.rows("SELECT 1 FROM stickers_picture WHERE verdict = 'learning' LIMIT 1"):
        assert time.monotonic() - began < LONGEST_SECONDS
        time.sleep(1)
    return time.monotonic() - began


def run(given: Any) -> list[str]:
    from tests.stickers import crowd  # noqa: PLC0415 - see above

    with house.scripted_model() as model:
        script = seeing(model)
        chats = chats_that_learn()
        pictures = [crowd.Drawn(number) for number in range(given.pictures)]
        seen = list(crowd.sightings(pictures, given.sightings, given.seed))
        site = Site(
            model_url=model.url,
            logs=Path(os.environ["ARISE_HOME"]) / "log",
            ARISE_VISION_MODEL=EYES,
            ARISE_MODEL_TIMEOUT_SECONDS=TIMEOUT_SECONDS,
            ARISE_WORKER_CONCURRENCY="16",
        )
        site.logs.mkdir(exist_ok=True)
        house.let_go()
        try:
            for number in range(WORKERS):
                site.start_worker(f"worker-{number}")
            began = time.monotonic()
            crowd.feed(chats, seen)
            fed = time.monotonic() - began
            left = kill_half_way(site, script, given.pictures)
            rest()
            learned = time.monotonic() - began
            settled = settle()
            # What only the killed worker had taken is seen again.
            crowd.feed(chats, [(one.spooled[0], one.names[0]) for one in pictures] * CHATS)
            rest()
        finally:
            site.stop()
        asked = len(script.requests)
        print(
            f"{given.sightings} sightings taken in within {fed:.1f} s, learned after {learned:.0f} s"
        )
        print(f"claims open at the kill {left}; ended as lost {settled:.0f} s after the rest")
        print(f"paid calls {asked} for {given.pictures} pictures")
        for name, times in house.rows(
            "SELECT name, sum(times) FROM stickers_funnelcount GROUP BY name ORDER BY 2 DESC"
        ):
            print(f"  {name:22}{times:7}")
        return crowd.broken(pictures, asked)


def main() -> None:
    parser = figures.parser("stickers", __doc__)
    parser.add_argument("--sightings", type=int, default=10_000)
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with house.services(fast=True):
        # The listener of this process asks the gates as a web process does.
        from django.conf import settings  # noqa: PLC0415 - see above

        settings.ARISE_VISION_MODEL = EYES
        faults = run(given)
    if faults:
        sys.exit("broken: " + "; ".join(faults[:20]))


if __name__ == "__main__":
    main()
