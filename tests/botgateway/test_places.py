"""The bot's place in a group: what is asked for, how often, and what the answers mean."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from botgateway import frames, places
from botgateway.actions import Response
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from botgateway.fields import WireId
from core.messages import BotNews, ChatAddress, ListedMember, MemberList, PlatformId, Received
from core.models import Chat
from tests.factories import make_bot, make_chat

pytestmark = pytest.mark.django_db(transaction=True)
GROUP = ChatAddress("group", PlatformId("20001"))
Answers = dict[str, Any]
SECONDS = 600


async def closed(_code: int, _reason: str) -> None:
    """Nobody closes here."""


class Asked:
    """A connection of bot 10001 whose implementation answers by a table: data, or None to refuse."""

    def __init__(self, bot_id: int, answers: Answers) -> None:
        self.actions: list[str] = []
        self.answers = answers
        self.connection = LiveConnection(
            number=1, bot_id=bot_id, self_id="10001", role="universal",
            calls=Calls(self._write), close=closed,
        )  # fmt: skip

    async def _write(self, text: str) -> None:
        call = json.loads(text)
        self.actions.append(call["action"])
        data = self.answers.get(call["action"])
        frame: dict[str, Any] = {"status": "ok", "retcode": 0, "data": data, "echo": call["echo"]}
        if data is None:
            frame |= {"status": "failed", "retcode": 1404}
        response = frames.decode(json.dumps(frame))
        assert isinstance(response, Response)
        asyncio.get_running_loop().call_soon(self.connection.calls.resolve, response)

    async def ask(self) -> list[Received]:
        return await places.ask(self.connection, WireId("20001"))


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot("10001"), external_id="20001")


def row(user: int | str, role: str = "member", **told: Any) -> dict[str, Any]:
    return {"user_id": user, "nickname": f"N{user}", "card": "", "role": role, **told}


async def test_a_list_tells_the_members_and_the_bots_own_role(chat: Chat) -> None:
    people = [row(10001, "admin"), row(10002, card="Ann\n"), row("x", "owner"), {}, "nonsense"]
    asked = Asked(chat.bot_id, {"get_group_member_list": people})
    listed, own = await asked.ask()
    assert isinstance(listed, MemberList)
    assert listed.members == (
        ListedMember("10002", "Ann", "member"),
        ListedMember("x", "Nx", "owner"),
    )
    assert listed.is_whole
    assert own == BotNews(chat.bot_id, GROUP, role="admin")
    assert asked.actions == ["get_group_member_list"]


async def test_where_the_list_is_known_or_not_told_the_bot_alone_is_asked_for(chat: Chat) -> None:
    info = {"get_group_member_info": row(10001, "owner")}
    refusing = Asked(chat.bot_id, info)
    assert await refusing.ask() == [BotNews(chat.bot_id, GROUP, role="owner")]
    assert refusing.actions == ["get_group_member_list", "get_group_member_info"]
    await refusing.ask()
    assert refusing.actions.count("get_group_member_list") == 1
    await sync_to_async(Chat.objects.update)(members_synced_at=timezone.now())
    knowing = Asked(chat.bot_id, {**info, "get_group_member_list": [row(10002)]})
    assert await knowing.ask() == [BotNews(chat.bot_id, GROUP, role="owner")]
    assert knowing.actions == ["get_group_member_info"]


async def test_more_members_than_are_kept_are_no_whole_list(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_MEMBERS", 2)
    people = [row(10002), row(10003), row(10004)]
    listed = (await Asked(chat.bot_id, {"get_group_member_list": people}).ask())[0]
    assert isinstance(listed, MemberList)
    assert (len(listed.members), listed.is_whole) == (2, False)


Ends = Callable[[], int]


@pytest.mark.parametrize(
    ("ends", "was_told", "silence"),
    [
        (lambda: int(time.time()) + SECONDS, False, ("muted", False)),
        (lambda: 0, False, ("muted", True)),
        (lambda: int(time.time()) - 5, False, ("muted", True)),
        (lambda: 0, True, None),
        (lambda: int(time.time()) + SECONDS, True, ("muted", False)),
    ],
)
async def test_the_platform_tells_whether_the_bot_is_muted_unless_it_was_just_told(
    chat: Chat, ends: Ends, was_told: bool, silence: tuple[str, bool] | None
) -> None:
    asked = Asked(chat.bot_id, {"get_group_member_info": row(10001, shut_up_timestamp=ends())})
    if was_told:
        asked.connection.mutes_told.add("20001")
    news = [one for one in await asked.ask() if isinstance(one, BotNews) and one.silence]
    assert [(one.silence, one.is_over) for one in news] == ([silence] if silence else [])
    if silence == ("muted", False):
        assert news[0].seconds == pytest.approx(SECONDS, abs=30)


@pytest.mark.parametrize(
    ("info", "was_told", "is_over"),
    [
        ({"group_all_shut": 0}, False, True),
        ({"group_all_shut": -1}, False, False),
        ({}, False, True),
        (None, False, True),
        ({"group_all_shut": 0}, True, False),
    ],
)
async def test_a_mute_of_the_whole_group_from_before_is_over_unless_the_platform_says_otherwise(
    chat: Chat, info: dict[str, int] | None, was_told: bool, is_over: bool
) -> None:
    await sync_to_async(Chat.objects.update)(silence_reason="whole_group_muted")
    asked = Asked(chat.bot_id, {"get_group_info": info})
    if was_told:
        asked.connection.mutes_told.add("20001")
    lifted = BotNews(chat.bot_id, GROUP, silence="whole_group_muted", is_over=True)
    assert await asked.ask() == ([lifted] if is_over else [])


async def test_lists_are_asked_for_one_at_a_time(chat: Chat) -> None:
    asked = Asked(chat.bot_id, {"get_group_member_list": [row(10002)]})
    async with asked.connection.listing:
        waiting = asyncio.ensure_future(asked.ask())
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        assert not done
        assert asked.actions == []
    await waiting
    assert "get_group_member_list" in asked.actions
