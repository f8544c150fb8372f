"""The door: who may come in, who is live, and that nothing that comes in breaks it."""

import asyncio
import contextlib
import json
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from botgateway.models import Connection, RefusedConnection
from botgateway.simulator.platform import NoConnection
from core import records
from core.models import Bot, InboundItem, OutboxEntry
from tests.botgateway.onebot_expected import EXPECTED
from tests.fakes.model import Script
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import Site
from tests.flows.conftest import TOKEN, Platform
from tests.flows.test_conversation import GROUP, answers, at
from tests.flows.waiting import ended_turns, eventually, in_database, rows

FRAMES = sorted((Path(__file__).parent.parent / "fixtures" / "onebot").glob("*.json"))


@pytest.mark.parametrize(
    ("token", "reason"),
    [("wrong", "wrong_token"), ("", "no_token"), (TOKEN.upper(), "wrong_token")],
)
async def test_a_wrong_or_missing_token_is_refused_at_the_handshake_and_shown(
    platform: Platform, bot: Bot, token: str, reason: str
) -> None:
    for _ in range(2):
        with pytest.raises(NoConnection, match="403"):
            async with platform(token=token):
                pass
    (refusal,) = await rows(RefusedConnection.objects.filter(self_id=bot.self_id))
    assert (refusal.reason, refusal.attempts) == (reason, 2)
    assert not await rows(Connection.objects.filter(bot=bot))


async def test_an_unknown_bot_is_refused(site: Site, bot: Bot) -> None:
    unknown = str(2 * 10**9 + uuid.uuid4().int % 10**9)
    with pytest.raises(NoConnection, match="403"):
        async with FakeOneBot(site.gateway_url, self_id=unknown, token=TOKEN):
            pass
    (refusal,) = await rows(RefusedConnection.objects.filter(self_id=unknown))
    assert refusal.reason == "unknown_bot"


async def test_another_address_is_refused_without_a_traceback(
    platform: Platform, site: Site
) -> None:
    with pytest.raises(NoConnection, match="403"):
        async with platform(url=f"{site.gateway_url}/elsewhere"):
            pass
    assert "Traceback" not in site.log("web")


async def test_a_disabled_bot_is_refused_and_one_that_gets_disabled_is_disconnected(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        await eventually(lambda: rows(Connection.objects.filter(bot=bot)))
        await in_database(lambda: Bot.objects.filter(pk=bot.pk).update(enabled=False))
        code, _ = await asyncio.wait_for(onebot.wait_closed(), 15)
    assert code == 4003
    with pytest.raises(NoConnection, match="403"):
        async with platform():
            pass
    (refusal,) = await rows(RefusedConnection.objects.filter(self_id=bot.self_id))
    assert refusal.reason == "disabled_bot"


@pytest.mark.parametrize("spelling", ["Bearer", "Token", "bearer", "query"])
async def test_tokens_are_taken_in_every_spelling_that_implementations_use(
    platform: Platform, site: Site, bot: Bot, spelling: str
) -> None:
    if spelling == "query":
        options: dict[str, Any] = {"auth": "query", "url": f"{site.gateway_url}/"}
    else:
        options = {"token": "", "extra_headers": {"Authorization": f"{spelling} {TOKEN}"}}
    async with platform(**options):
        assert await eventually(lambda: rows(Connection.objects.filter(bot=bot)))
    assert TOKEN not in site.log("web")


async def test_after_the_handshake_the_gateway_learns_who_is_there(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        (connection,) = await eventually(
            lambda: rows(Connection.objects.filter(bot=bot).exclude(implementation=""))
        )
        assert connection.implementation == "arise-simulator"
        assert connection.closed_at is None
        assert {"get_login_info", "get_version_info"} <= {call.action for call in onebot.calls}
    (connection,) = await eventually(
        lambda: rows(Connection.objects.filter(bot=bot, closed_at__isnull=False))
    )


async def test_an_api_and_an_event_connection_together_are_one_bot(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "through the other socket")
    async with platform(role="Api") as api, platform(role="EVENT") as event:
        await event.say(GROUP, 10002, "hi", mention_bot=True)
        await api.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert event.called("send_group_msg") == []


async def test_the_newest_connection_wins_and_the_old_one_is_closed(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "on the new one")
    async with platform() as old, platform() as new:
        code, _ = await asyncio.wait_for(old.wait_closed(), 10)
        assert code == 4000
        await new.say(GROUP, 10002, "hi", mention_bot=True)
        await new.wait_for_sends(1)
        await ended_turns(bot, 1)
    assert old.called("send_group_msg") == []


async def test_the_old_sockets_end_does_not_touch_the_new_connection(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "still here")
    async with platform() as new, platform() as newest:
        await asyncio.wait_for(new.wait_closed(), 10)
        await new.close()
        await newest.say(GROUP, 10002, "hi", mention_bot=True)
        await newest.wait_for_sends(1)
        await ended_turns(bot, 1)


async def test_every_golden_frame_is_taken_and_messages_are_stored_as_stated(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        for path in FRAMES:
            await onebot.send_frame(as_of(bot, path.read_text()))
        await onebot.say("group:20009", 10002, "still there?")
        last = InboundItem.objects.filter(bot=bot, text="still there?")
        await eventually(lambda: rows(last), timeout=20)
    items = InboundItem.objects.filter(bot=bot).select_related("chat", "turn")
    stored = await in_database(lambda: [stated_of(record) for record in records.items(items)])
    for path in FRAMES:
        stated = EXPECTED[path.stem]
        if stated["kind"].startswith("message.") and "item" not in stated:
            wanted = {key: as_of(bot, stated[key]) for key in STATED if key in stated}
            assert any(wanted.items() <= found.items() for found in stored), (path.stem, wanted)


async def test_every_golden_poke_and_reaction_of_somebody_else_is_stored_as_stated(
    platform: Platform, bot: Bot
) -> None:
    names = {"actor": "sender_id", "target": "target_id", "message": "target_id"}
    names |= {name: name for name in ("chat", "emoji", "removed")}
    stated = {
        name: told
        for name, told in EXPECTED.items()
        if told["kind"] in ("notice.poke", "notice.reaction")
    }
    async with platform() as onebot:
        for path in FRAMES:
            if path.stem in stated:
                await onebot.send_frame(as_of(bot, path.read_text()))
        await onebot.say("group:20009", 10002, "the last frame")
        await eventually(lambda: rows(InboundItem.objects.filter(bot=bot, kind="message")))
    items = InboundItem.objects.filter(bot=bot).exclude(kind="message")
    stored = await in_database(lambda: list(records.items(items)))
    assert bot.self_id not in [item["sender_id"] for item in stored]
    for name, told in stated.items():
        wanted = {"kind": told["kind"].removeprefix("notice.")}
        wanted |= {names[key]: as_of(bot, told[key]) for key in names.keys() & told.keys()}
        is_there = any(wanted.items() <= item.items() for item in stored)
        assert is_there or told.get("by_bot"), (name, wanted)


GOLDEN_SELVES = ("10001", "83920174652")
"""The bot's id in golden frames; onebots maps ids, so its frames know it under another one."""
STATED = ("chat", "sender", "name", "text", "mentions", "at_me", "reply_to", "message_id", "time")


def stated_of(record: dict[str, Any]) -> dict[str, Any]:
    """A stored item in the words of the golden frames' expectations."""
    sent_at = datetime.fromisoformat(record["sent_at"])
    return {
        "chat": record["chat"],
        "sender": record["sender_id"],
        "name": record["sender_name"] or "",
        "text": record["text"],
        "mentions": record["mentions"],
        "at_me": record["mentions_bot"],
        "reply_to": record["reply_to"] or "",
        "message_id": record["platform_message_id"],
        "time": int(sent_at.timestamp()),
    }


def as_of(bot: Bot, value: Any) -> Any:
    """A stated value with this bot's account for that of the golden frames."""
    if isinstance(value, list):
        return [as_of(bot, item) for item in value]
    if isinstance(value, str):
        for self_id in GOLDEN_SELVES:
            value = value.replace(self_id, bot.self_id)
    return value


HOSTILE: list[str | bytes] = [
    "",
    "nonsense",
    "[]",
    '"a string"',
    "null",
    "{",
    '{"post_type": "message"}',
    '{"post_type": "message", "message_type": "group", "group_id": {}, "user_id": [], "message": 7}',
    "[" * 5000 + "]" * 5000,
    '{"post_type":"message","message":' + "[" * 5000 + "]" * 5000 + "}",
    '{"post_type": "meta_event", "meta_event_type": "heartbeat", "status": 1, "interval": "x"}',
    '{"post_type": "meta_event", "meta_event_type": "lifecycle", "time": 1e400}',
    '{"echo": {"a": 1}, "retcode": "x", "status": []}',
    '{"echo": "send-999999999-1", "retcode": 0, "status": "ok", "data": {"message_id": 1}}',
    '{"time": NaN, "post_type": "notice", "notice_type": null}',
    "9" * 5000,
    b"\x00\xff\xfe",
    b"\xed\xa0\xbd",
]


async def test_nothing_that_comes_in_breaks_the_connection(platform: Platform, bot: Bot) -> None:
    async with platform() as onebot:
        for frame in HOSTILE:
            await onebot.send_frame(frame)
        said = onebot.world.keep(GROUP, 10002, [])
        event = onebot.world.message_event(said)
        surrogates = json.dumps({**event, "message": [text_of("a\ud83d\x00b")]})
        await onebot.send_frame(surrogates)
        (item,) = await eventually(lambda: rows(InboundItem.objects.filter(bot=bot)))
    assert item.text.startswith("a")
    assert item.text.endswith("b")


async def test_a_frame_of_sixteen_mebibytes_is_taken_and_a_larger_one_closes_with_1009(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        said = onebot.world.keep(GROUP, 10002, [text_of("big")])
        frame = {**onebot.world.message_event(said), "raw_message": "x" * (15 * 2**20)}
        await onebot.send_event(frame)
        await eventually(lambda: rows(InboundItem.objects.filter(bot=bot)), timeout=30)
        with contextlib.suppress(NoConnection):  # it may be closed before all is written
            await onebot.send_frame(json.dumps({"raw_message": "x" * (17 * 2**20)}))
        code, _ = await asyncio.wait_for(onebot.wait_closed(), 30)
    assert code == 1009


async def test_a_connection_without_traffic_stays_up(
    platform: Platform, script: Script, bot: Bot
) -> None:
    # With a channel layer at its defaults it ends after 5 s: redis-py 8 reads no longer than its
    # layer waits (channels_redis issue 422). Our own subscription must not have that limit either.
    answers(script, "awake")
    async with platform(heartbeat_seconds=0) as onebot:
        await asyncio.sleep(12)
        await onebot.say(GROUP, 10002, "still there?", mention_bot=True)
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)


async def test_an_entry_whose_wake_was_lost_is_sent_all_the_same(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "a chat to be")
        (item,) = await eventually(lambda: rows(InboundItem.objects.filter(bot=bot)))
        await in_database(lambda: unannounced(item))
        (sent,) = await onebot.wait_for_sends(1)
    assert sent.text == "nobody said that I am here"


def unannounced(item: InboundItem) -> None:
    """An entry in the Outbox of which no process was told."""
    from tests.factories import make_sent  # noqa: PLC0415

    make_sent(item.chat, "nobody said that I am here", OutboxEntry.State.PENDING)


async def test_events_of_another_account_are_dropped(platform: Platform, bot: Bot) -> None:
    async with platform() as onebot:
        said = onebot.world.keep(GROUP, 10002, [at(bot)])
        await onebot.send_event({**onebot.world.message_event(said), "self_id": 424242})
        await onebot.say(GROUP, 10002, "mine")
        items = await eventually(lambda: rows(InboundItem.objects.filter(bot=bot)))
    assert [item.text for item in items] == ["mine"]


def text_of(words: str) -> dict[str, Any]:
    return {"type": "text", "data": {"text": words}}
