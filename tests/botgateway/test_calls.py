"""Calls and their answers: by echo alone, in any order, and told apart when none comes."""

import asyncio
import json

import pytest

from botgateway import actions
from botgateway.actions import Response
from botgateway.calls import Calls, NoAnswer, NotWritten


class Socket:
    """Where calls are written; their echoes in order."""

    def __init__(self) -> None:
        self.echoes: list[str] = []
        self.calls = Calls(self.write)

    async def write(self, text: str) -> None:
        self.echoes.append(json.loads(text)["echo"])

    async def start(self, seconds: float = 5) -> asyncio.Task[Response]:
        task = asyncio.create_task(self.calls.call(actions.get_status(), seconds=seconds))
        await asyncio.sleep(0)
        return task


def answer(echo: str | None, data: object = None) -> Response:
    return Response(echo=echo, ok=True, retcode=0, data=data)


async def test_answers_find_their_calls_in_any_order() -> None:
    socket = Socket()
    first, second = await socket.start(), await socket.start()
    assert socket.calls.resolve(answer(socket.echoes[1], "second"))
    assert socket.calls.resolve(answer(socket.echoes[0], "first"))
    assert ((await first).data, (await second).data) == ("first", "second")


async def test_an_answer_that_nobody_waits_for_is_not_ours() -> None:
    socket = Socket()
    assert not socket.calls.resolve(answer("call-99"))
    assert not socket.calls.resolve(answer(None))
    task = await socket.start()
    assert socket.calls.resolve(answer(socket.echoes[0]))
    assert not socket.calls.resolve(answer(socket.echoes[0]))
    await task


async def test_no_answer_in_time_is_told_and_a_late_one_is_not_ours_any_more() -> None:
    socket = Socket()
    with pytest.raises(NoAnswer) as caught:
        await socket.calls.call(actions.get_status(), seconds=0.01)
    assert caught.value.reason == "no_answer"
    assert not socket.calls.resolve(answer(socket.echoes[0]))


async def test_a_lost_connection_tells_whoever_waits_and_writes_nothing_more() -> None:
    socket = Socket()
    task = await socket.start()
    socket.calls.close()
    with pytest.raises(NoAnswer) as caught:
        await task
    assert caught.value.reason == "connection_lost"
    with pytest.raises(NotWritten):
        await socket.calls.call(actions.get_status(), seconds=1)
    assert len(socket.echoes) == 1
