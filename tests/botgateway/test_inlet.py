"""The queue before the database: bounded, and what is full is not read on."""

import asyncio

from django.utils import timezone

from botgateway.inlet import Inlet
from core.messages import ChatAddress, PlatformId, ReceivedItem


class Socket:
    """Notes when it is left unread."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def pause(self) -> None:
        self.told.append("pause")

    def resume(self) -> None:
        self.told.append("resume")


def item() -> ReceivedItem:
    now = timezone.now()
    chat = ChatAddress("group", PlatformId("20001"))
    return ReceivedItem(1, chat, "message", "10002", sent_at=now, received_at=now)


async def test_a_full_queue_leaves_the_socket_unread_until_there_is_room() -> None:
    inlet, socket = Inlet(most_waiting=1), Socket()
    await inlet.put(item(), socket)
    assert socket.told == []
    second = asyncio.create_task(inlet.put(item(), socket))
    await asyncio.sleep(0)
    assert (socket.told, second.done()) == (["pause"], False)
    inlet._waiting.get_nowait()
    await second
    assert socket.told == ["pause", "resume"]
