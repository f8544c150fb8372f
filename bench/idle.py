"""Many bots' sockets idle for minutes; whether they stay, and what each costs.

So many bots connect, send no heartbeats and say nothing for so many minutes; then in each a member
mentions the bot and must be answered. Prints how many sockets were closed early, how many carried a
message both ways, the web process's memory (RSS) per socket in KiB, at the start and at the end,
and its CPU in percent of a core. One should see none closed, all carrying, and memory that idling
does not grow.
"""

import asyncio
import time

import psutil

from bench import figures, house, scripts
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import Site

SEND = "send_group_msg"
SETTLE_SECONDS = 5
ANSWER_SECONDS = 60.0
KIB = 1024


def rss(web: psutil.Process) -> float:
    """Memory of the web process in KiB."""
    return float(web.memory_info().rss) / KIB


async def connect_all(onebots: list[FakeOneBot]) -> None:
    """All sockets, one after the other; each has been asked who it is when this ends."""
    for onebot in onebots:
        await onebot.connect()
    for onebot in onebots:
        await onebot.wait_for_calls("get_version_info", 1, ANSWER_SECONDS)
    await asyncio.sleep(SETTLE_SECONDS)


def is_closed(onebot: FakeOneBot) -> bool:
    return onebot.socket is None or onebot.socket.close_code is not None


async def carries(onebot: FakeOneBot) -> bool:
    """Whether a mention goes in and its answer comes out."""
    try:
        await onebot.say("group:20001", 10_002, "still there?", mention_bot=True)
        await onebot.wait_for_calls(SEND, 1, ANSWER_SECONDS)
    except Exception as error:  # noqa: BLE001  (whatever it is, this socket does not carry)
        print(f"bot {onebot.world.self_id}: {error}")
        return False
    return True


async def idle(site: Site, accounts: list[str], seconds: float) -> None:
    web = house.process(site, "web")
    first, *others = [house.onebot(site, account) for account in accounts]
    onebots = [first, *others]
    try:
        await connect_all([first])  # what is made once, at the first connection
        alone = rss(web)
        await connect_all(others)
        connected = rss(web)
        cpu, began = figures.cpu_seconds({"web": web})["web"], time.monotonic()
        await asyncio.sleep(seconds)
        cpu = figures.cpu_seconds({"web": web})["web"] - cpu
        share = cpu / (time.monotonic() - began)
        closed, after = sum(map(is_closed, onebots)), rss(web)
        carrying = sum(await asyncio.gather(*map(carries, onebots)))
    finally:
        await asyncio.gather(*(onebot.close() for onebot in onebots), return_exceptions=True)
    each = max(1, len(others))
    print(f"{len(onebots)} sockets idle for {seconds / 60:g} minutes")
    print(f"closed early {closed}, alive {len(onebots) - closed}, carried both ways {carrying}")
    print(f"web RSS: {alone / KIB:.0f} MiB with one socket; each further one", end=" ")
    print(f"{(connected - alone) / each:.0f} KiB, {(after - alone) / each:.0f} KiB after idling")
    print(f"web CPU while idle: {100 * share:.1f}% of a core")


def main() -> None:
    parser = figures.parser("idle", __doc__)
    parser.add_argument("--sockets", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=10)
    given = parser.parse_args()
    with house.services(), house.scripted_model() as model:
        scripts.one_message_a_turn(model)
        accounts = house.add_bots(given.sockets)
        with house.running_site(model) as site:
            asyncio.run(idle(site, accounts, 60 * given.minutes))


if __name__ == "__main__":
    main()
