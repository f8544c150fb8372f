"""Sixty chats ask at once; seconds until the last is answered, beside one chat alone.

One bot is mentioned in 60 groups in the same moment. The model takes 4 s a call, and a turn is two
calls (a message, an empty end). All waits are an operator's defaults: debounce, draft, typing pace;
one worker process. Seconds count from the first mention's frame to the arrival of the last answer
at the platform, and to the end of the last turn. One should see all answered within 12 s, and a
ratio to one chat near 1: turns wait on the model side by side.
"""

import asyncio
import statistics
import time

from bench import figures, house, scripts
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import Site

SEND = "send_group_msg"
PATIENCE_SECONDS = 120.0
UNENDED = "SELECT count(*) FROM core_turn WHERE id > %s AND ended_at IS NULL"
ENDED = "SELECT count(*), extract(epoch FROM max(ended_at)) FROM core_turn WHERE id > %s"
LAST = "SELECT coalesce(max(id), 0) FROM core_turn"


async def ask(onebot: FakeOneBot, chats: int) -> tuple[float, float, float]:
    """Seconds until the median answer, the last answer, and the last turn's end."""
    ((last_turn,),) = await asyncio.to_thread(house.rows, LAST)
    before = len(onebot.called(SEND))
    began, began_at = time.monotonic(), time.time()
    for chat in range(chats):
        await onebot.say(f"group:{20_000 + chat}", 10_002, "hello?", mention_bot=True)
    calls = await onebot.wait_for_calls(SEND, before + chats, PATIENCE_SECONDS)
    arrived = [call.at - began for call in calls[before:]]
    while (await asyncio.to_thread(house.rows, UNENDED, last_turn)) != [(0,)]:
        assert time.monotonic() - began < PATIENCE_SECONDS, "turns do not end"
        await asyncio.sleep(0.2)
    ((turns, ended_at),) = await asyncio.to_thread(house.rows, ENDED, last_turn)
    assert turns == chats, f"{turns} turns for {chats} mentions"
    groups = {call.params["group_id"] for call in calls[before:]}
    assert len(groups) == len(calls[before:]) == chats, "not one answer in each chat"
    return statistics.median(arrived), max(arrived), float(ended_at) - began_at


async def runs(site: Site, account: str, chats: int, count: int) -> dict[int, list[float]]:
    """Medians over runs of one chat alone and of all chats at once."""
    found: dict[int, list[tuple[float, float, float]]] = {1: [], chats: []}
    async with house.onebot(site, account) as onebot:
        await ask(onebot, 1)  # what is made at first use, not measured
        for _ in range(count):
            for size, values in found.items():
                values.append(await ask(onebot, size))
    return {
        size: [statistics.median(column) for column in zip(*values, strict=True)]
        for size, values in found.items()
    }


def main() -> None:
    parser = figures.parser("sixty_chats", __doc__)
    parser.add_argument("--chats", type=int, default=60)
    parser.add_argument("--model-seconds", type=float, default=4)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with house.services(), house.scripted_model() as model:
        scripts.one_message_a_turn(model, delay=given.model_seconds)
        (account,) = house.add_bots(1)
        with house.running_site(model) as site:
            found = asyncio.run(runs(site, account, given.chats, given.runs))
    for size, (middle, last, ended) in found.items():
        print(
            f"{size:3} chats: median answer {middle:5.2f} s, last answer {last:5.2f} s,"
            f" last turn ended {ended:5.2f} s"
        )
    ratio = found[given.chats][1] / found[1][1]
    print(f"last answer of {given.chats} chats / of one: {ratio:.2f}   ({given.runs} runs)")


if __name__ == "__main__":
    main()
