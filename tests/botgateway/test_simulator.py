"""The simulated platform and the scripted one, against a small server in the gateway's place."""

import asyncio
import http
import json

import pytest

from botgateway import actions, events, frames
from botgateway.simulator.platform import HandshakeRefused, NoConnection
from tests.botgateway.gateway_stub import gateway_stub
from tests.fakes.onebot import (
    Behaviour,
    FakeOneBot,
    answers_id,
    hangs_up,
    late,
    refused,
    silent,
    timeout_but_sent,
    timeout_not_sent,
    timeout_sent_later,
)

_HELLO = [{"type": "text", "data": {"text": "hello"}}]


async def test_it_connects_as_an_implementation_does_and_says_so_first() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url, token="t", heartbeat_seconds=0.05):
        assert (await stub.event(0))["sub_type"] == "connect"
        heartbeat = await stub.event(1)
        assert heartbeat["meta_event_type"] == "heartbeat"
        assert heartbeat["interval"] == 50
        headers = stub.headers[0]
    assert headers["X-Self-ID"] == "10001"
    assert headers["X-Client-Role"] == "Universal"
    assert headers["Authorization"] == "Bearer t"


@pytest.mark.parametrize(
    ("auth", "header", "path"),
    [
        ("token", "Token t&", "/onebot/v11/ws"),
        ("query", None, "/onebot/v11/ws?access_token=t%26"),
    ],
)
async def test_tokens_go_where_they_are_told(auth: str, header: str | None, path: str) -> None:
    async with gateway_stub() as stub:
        bot = FakeOneBot(
            stub.url,
            token="t&",
            auth=auth,  # type: ignore[arg-type] # one of its literals
            role="api",
            extra_headers={"X-Self-ID": None},
        )
        async with bot:
            await stub.event(0)
        assert stub.headers[0].get("Authorization") == header
        assert stub.headers[0]["X-Client-Role"] == "api"
        assert "X-Self-ID" not in stub.headers[0]
        assert stub.paths == [path]


async def test_what_people_do_is_told_in_frames_that_the_gateway_reads() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url) as bot:
        said = await bot.say("group:20001", 10002, "hi", mention_bot=True)
        await bot.say("private:10003", 10003, "psst", reply_to=said.message_id)
        await bot.say("group:20001", 10002, sticker="wave")
        await bot.poke("group:20001", 10002)
        await bot.poke("private:10002", 10002)
        await bot.react(said, 10003, "76")
        await bot.recall(said)
        seen = [frames.decode(json.dumps(await stub.event(number))) for number in range(1, 8)]
    message, private, sticker, poke, private_poke, reaction, recall = seen
    assert isinstance(message, events.MessageEvent)
    assert (message.kind, message.sender_name, message.group_name) == ("group", "Ann", "Test group")
    assert [segment.type for segment in message.segments] == ["at", "text"]
    assert isinstance(private, events.MessageEvent)
    assert private.chat_id is not None
    assert private.chat_id.value == "10003"
    assert isinstance(sticker, events.MessageEvent)
    assert sticker.segments[0].data["sub_type"] == 1
    assert isinstance(poke, events.PokeEvent)
    assert isinstance(private_poke, events.PokeEvent)
    assert poke.is_at_bot
    assert private_poke.is_at_bot
    assert isinstance(reaction, events.ReactionEvent)
    assert reaction.emoji == ("76",)
    assert isinstance(recall, events.RecallEvent)
    assert recall.message_id == message.message_id


async def test_it_answers_calls_and_keeps_what_the_bot_said() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url) as bot:
        assert (await stub.call("get_login_info"))["data"]["user_id"] == 10001
        assert (await stub.call("get_version_info"))["data"]["app_name"] == "arise-simulator"
        assert (await stub.call("get_status"))["data"]["online"] is True
        answer = await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        await stub.call("send_private_msg", user_id="10002", message=_HELLO)
        sent = await bot.wait_for_sends(2)
        assert [said.chat for said in sent] == ["group:20001", "private:10002"]
        assert bot.texts == ["hello", "hello"]
        message_id = answer["data"]["message_id"]
        assert (await stub.call("get_msg", message_id=message_id))["data"]["message"] == _HELLO
        history = await stub.call("get_group_msg_history", group_id=20001)
        assert len(history["data"]["messages"]) == 1
        assert (await stub.call("delete_msg", message_id=message_id))["status"] == "ok"
        assert (await stub.event(1))["notice_type"] == "group_recall"
        assert (await stub.call("delete_msg", message_id=message_id))["retcode"] == 1200
        assert (await stub.call("get_msg", message_id=message_id))["retcode"] == 1200


async def test_gestures_are_done_and_what_is_unknown_is_refused() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url) as bot:
        said = await bot.say("group:20001", 10002, "hi")
        await stub.call("set_msg_emoji_like", message_id=said.message_id, emoji_id="128077")
        await stub.call("group_poke", group_id=20001, user_id=10002)
        await stub.call("send_like", user_id=10002, times=1)
        upload = await stub.call("upload_group_file", group_id=20001, file="base64://", name="a")
        assert "message_id" not in upload["data"]
        assert (await stub.event(2))["likes"] == [{"emoji_id": "128077", "count": 1}]
        assert (await stub.event(3))["sub_type"] == "poke"
        assert (await stub.call("edit_msg"))["retcode"] == 1404
        assert (await stub.call("send_group_msg", message=_HELLO))["retcode"] == 1400
        assert (await stub.call("send_group_msg", group_id=20001, message=[]))["retcode"] == 1200
        members = await stub.call("get_group_member_list", group_id=20001)
        assert [member["user_id"] for member in members["data"]] == [10001, 10002, 10003]


async def test_own_messages_are_told_where_asked_for() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url, report_own_messages=True) as bot:
        await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        assert (await stub.event(1))["post_type"] == "message_sent"
        await bot.tell_own(bot.sent[0])
        assert await stub.event(1) == await stub.event(2)


@pytest.mark.parametrize(
    ("behaviour", "state", "delivered"),
    [
        (Behaviour(), "sent", 1),
        (refused(), "failed", 0),
        (refused(1400, "no"), "failed", 0),
        (timeout_but_sent(), "unknown", 1),
        (timeout_not_sent(), "unknown", 0),
    ],
)
async def test_scripted_answers_mean_what_their_names_say(
    behaviour: Behaviour, state: str, delivered: int
) -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url) as bot:
        bot.script("send_group_msg", behaviour)
        answer = await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        assert actions.send_outcome(actions.read_response(answer)).state == state
        assert len(bot.sent) == delivered
        after = await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        assert after["status"] == "ok"
        assert len(bot.called("send_group_msg")) == 2


async def test_a_message_may_arrive_after_its_time_out() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url, report_own_messages=True) as bot:
        bot.script("send_group_msg", timeout_sent_later(0.1))
        answer = await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        assert answer["retcode"] == 1200
        assert bot.sent == []
        await bot.wait_for_sends(1)
        assert (await stub.event(1))["post_type"] == "message_sent"


async def test_an_answer_may_be_late_without_a_message_id_or_never_come() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url) as bot:
        bot.script("send_group_msg", late(0.2), silent(delivered=True), answers_id(0))
        call = stub.call("send_group_msg", group_id=20001, message=_HELLO)
        answer, _ = await asyncio.gather(call, bot.wait_for_sends(1))
        assert (answer["status"], len(bot.responses)) == ("ok", 1)
        with pytest.raises(TimeoutError):
            await stub.call("send_group_msg", timeout=0.1, group_id=20001, message=_HELLO)
        answer = await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        assert answer["data"] == {"message_id": 0}
        assert len(bot.sent) == 3


async def test_the_connection_may_break_before_or_after_the_answer() -> None:
    async with gateway_stub() as stub:
        async with FakeOneBot(stub.url) as bot:
            bot.script("send_group_msg", hangs_up("before", delivered=True))
            with pytest.raises(TimeoutError):
                await stub.call("send_group_msg", timeout=0.2, group_id=20001, message=_HELLO)
            assert len(await bot.wait_for_sends(1)) == 1
            await asyncio.wait_for(bot.wait_closed(), 5)
        async with FakeOneBot(stub.url) as bot:
            await stub.event(1)
            bot.script("send_group_msg", hangs_up("after", delivered=True))
            answer = await stub.call("send_group_msg", group_id=20001, message=_HELLO)
            assert answer["status"] == "ok"
            await asyncio.wait_for(bot.wait_closed(), 5)
            with pytest.raises(NoConnection):
                await bot.send_frame("{}")


async def test_waiting_in_vain_tells_what_was_seen() -> None:
    async with gateway_stub() as stub, FakeOneBot(stub.url) as bot:
        await stub.call("send_group_msg", group_id=20001, message=_HELLO)
        with pytest.raises(AssertionError, match="hello"):
            await bot.wait_for_sends(2, timeout=0.05)


async def test_a_refusal_and_a_missing_server_are_told_apart_without_the_token() -> None:
    async with gateway_stub() as stub:
        stub.refuse_with = http.HTTPStatus.FORBIDDEN
        with pytest.raises(HandshakeRefused, match="HTTP 403") as refusal:
            await FakeOneBot(stub.url, token="geheim", auth="query").connect()
        url = stub.url
    assert "geheim" not in str(refusal.value)
    with pytest.raises(NoConnection, match="nothing to talk to"):
        await FakeOneBot(url).connect()
