"""What is learned of the other side, and what of it is kept."""

import asyncio
import json
from typing import Any

import pytest

from botgateway import introduction, platforms
from botgateway.actions import Response
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from botgateway.fields import WireId
from core.models import Chat
from tests.factories import make_bot, make_chat
from tests.flows.waiting import in_database

GROUP = WireId("20001", is_number=True)


def answering(bot_id: int, data: Any) -> tuple[LiveConnection, list[str]]:
    """A connection that answers every call with this data, and the actions that were called."""
    asked: list[str] = []

    async def answer(text: str) -> None:
        call = json.loads(text)
        asked.append(call["action"])
        response = Response(echo=call["echo"], ok=True, retcode=0, data=data)
        asyncio.get_running_loop().call_soon(connection.calls.resolve, response)

    async def close(_code: int, _reason: str) -> None:
        """Never closed."""

    connection = LiveConnection(1, bot_id, "10001", "universal", Calls(answer), close)
    return connection, asked


@pytest.mark.django_db(transaction=True)
async def test_the_bots_role_is_asked_until_its_group_is_known_and_then_no_more() -> None:
    bot = await in_database(make_bot)
    connection, asked = answering(bot.pk, {"role": "admin"})
    await introduction.learn_role(connection, GROUP)
    chat: Chat = await in_database(lambda: make_chat(bot, external_id=GROUP.value))
    for _ in range(2):
        await introduction.learn_role(connection, GROUP)
    await in_database(chat.refresh_from_db)
    assert chat.bot_role == "admin"
    assert asked == ["get_group_member_info"] * 2


@pytest.mark.django_db
def test_what_an_older_connection_tells_late_is_not_kept() -> None:
    bot = make_bot(connection_number=2)
    platforms.keep(bot.pk, 2, app_name="NapCat.Onebot", app_version="4.8.100")
    platforms.keep(bot.pk, 1, app_name="onebots", app_version="1")
    bot.refresh_from_db()
    assert platforms.dialect_of(bot).name == "NapCat"
