"""What of a notice is taken in: interactions as items, the rest as news, own gestures not at all."""

import json
import time
from typing import Any

import pytest
from pytest_django import Settings

from botgateway import frames, ingest
from botgateway.clock import ConnectionClock
from botgateway.events import Event, LifecycleEvent
from core.messages import (
    BotNews,
    ChatAddress,
    MemberNews,
    PlatformId,
    Recalled,
    Received,
    ReceivedItem,
)

BOT = 10001
GROUP = ChatAddress("group", PlatformId("20001"))


def taken(clock: ConnectionClock | None = None, **fields: Any) -> Received | None:
    now = int(time.time())
    frame = {"post_type": "notice", "self_id": BOT, "time": now, "group_id": 20001, **fields}
    event = frames.decode(json.dumps({key: one for key, one in frame.items() if one is not None}))
    assert isinstance(event, Event)
    clock = clock or ConnectionClock()
    return ingest.received(event, bot_id=1, self_id=str(BOT), clock=clock)


def poked(**fields: Any) -> Received | None:
    return taken(notice_type="notify", sub_type="poke", **fields)


def reacted(**fields: Any) -> Received | None:
    given = {"user_id": 10002, "message_id": 5, "likes": [{"emoji_id": "76", "count": 1}]}
    return taken(notice_type="group_msg_emoji_like", **{**given, **fields})


@pytest.mark.parametrize(
    ("fields", "target", "is_at_bot"),
    [
        ({"user_id": 10002, "target_id": BOT}, "10001", True),
        ({"user_id": 10002, "target_id": 10003}, "10003", False),
        ({"user_id": 10002, "target_id": 10002}, "10002", False),
        ({"user_id": 10002, "target_id": 0}, "", False),
        ({"user_id": 10002}, "", False),
    ],
)
def test_a_poke_names_its_target_and_whether_that_is_the_bot(
    fields: dict[str, Any], target: str, is_at_bot: bool
) -> None:
    item = poked(**fields)
    assert isinstance(item, ReceivedItem)
    assert (item.kind, item.sender_id, item.chat) == ("poke", "10002", GROUP)
    assert (item.target_id, item.is_at_bot, item.message_id) == (target, is_at_bot, None)


PRIVATE: list[tuple[str, dict[str, Any], bool | None]] = [
    ("NapCat", {"user_id": 10002, "sender_id": 10002, "target_id": BOT}, True),
    ("NapCat, by the bot", {"user_id": 10002, "sender_id": BOT, "target_id": 10002}, None),
    ("NapCat, at themselves", {"user_id": 10002, "sender_id": 10002, "target_id": 10002}, False),
    ("LLOneBot", {"user_id": 10002, "target_id": BOT}, True),
    ("LLOneBot, by the bot", {"user_id": 10002, "target_id": 10002}, None),
    ("Lagrange", {"user_id": 10002, "sender_id": 10002, "target_id": BOT}, True),
    ("Lagrange, by the bot", {"user_id": BOT, "sender_id": BOT, "target_id": 10002}, None),
]


@pytest.mark.parametrize(
    ("fields", "is_at_bot"), [case[1:] for case in PRIVATE], ids=[case[0] for case in PRIVATE]
)
def test_a_private_poke_is_the_other_persons_or_nothing(
    fields: dict[str, Any], is_at_bot: bool | None
) -> None:
    item = poked(group_id=None, **fields)
    if is_at_bot is None:
        assert item is None
    else:
        assert isinstance(item, ReceivedItem)
        assert (item.chat.key, item.sender_id) == ("private:10002", "10002")
        assert item.is_at_bot is is_at_bot


def test_the_bots_own_gestures_are_nothing_that_came_in() -> None:
    assert poked(user_id=BOT, target_id=10002) is None
    assert poked(user_id=BOT, target_id=BOT) is None
    assert reacted(user_id=BOT) is None
    assert reacted(user_id=10002, operator_id=BOT) is None


def test_the_bot_is_known_by_the_name_that_its_events_have() -> None:
    item = poked(self_id=None, user_id=10002, target_id=BOT)
    assert isinstance(item, ReceivedItem)
    assert item.is_at_bot


@pytest.mark.parametrize(
    ("fields", "emoji", "removed"),
    [
        ({}, ("76",), False),
        ({"is_add": False}, ("76",), True),
        ({"likes": [{"emoji_id": "76"}, {"emoji_id": 128077}]}, ("76", "128077"), False),
        ({"notice_type": "reaction", "likes": None, "code": "76"}, ("76",), False),
    ],
)
def test_a_reaction_names_its_message_and_its_emoji(
    fields: dict[str, Any], emoji: tuple[str, ...], removed: bool
) -> None:
    item = taken(
        **{
            "notice_type": "group_msg_emoji_like",
            "user_id": 10002,
            "message_id": -5,
            "likes": [{"emoji_id": "76", "count": 1}],
            **fields,
        }
    )
    assert isinstance(item, ReceivedItem)
    assert (item.kind, item.sender_id, item.target_id) == ("reaction", "10002", "-5")
    assert (item.emoji, item.removed, item.is_at_bot) == (emoji, removed, False)


def test_a_reaction_that_tells_no_emoji_and_one_of_nobody_are_not_stored() -> None:
    assert reacted(likes=[]) is None
    assert reacted(user_id=None) is None


def test_interactions_are_old_by_the_connections_clock(settings: Settings) -> None:
    settings.ARISE_STALE_SECONDS = 30
    clock = ConnectionClock()
    clock.learn(LifecycleEvent(time=1760000000))
    fresh = poked(clock=clock, user_id=10002, target_id=BOT, time=1760000000)
    late = poked(clock=clock, user_id=10002, target_id=BOT, time=1759999900)
    assert isinstance(fresh, ReceivedItem)
    assert isinstance(late, ReceivedItem)
    assert (fresh.is_old, late.is_old) == (False, True)


def bot_news(**told: Any) -> BotNews:
    return BotNews(1, GROUP, **told)


NEWS: list[tuple[dict[str, Any], Received | None]] = [
    (
        {"notice_type": "group_increase", "sub_type": "approve", "user_id": 10002},
        MemberNews(1, GROUP, "10002", is_here=True),
    ),
    (
        {"notice_type": "group_decrease", "sub_type": "leave", "user_id": 10002},
        MemberNews(1, GROUP, "10002", is_here=False),
    ),
    (
        {"notice_type": "group_decrease", "sub_type": "kick", "user_id": 10002, "operator_id": 0},
        MemberNews(1, GROUP, "10002", is_here=False),
    ),
    (
        {"notice_type": "group_increase", "sub_type": "invite", "user_id": BOT},
        bot_news(silence="removed", is_over=True),
    ),
    (
        {"notice_type": "group_decrease", "sub_type": "kick_me", "user_id": BOT},
        bot_news(silence="removed"),
    ),
    (
        {"notice_type": "group_decrease", "sub_type": "leave", "user_id": BOT},
        bot_news(silence="removed"),
    ),
    (
        {"notice_type": "group_decrease", "sub_type": "disband", "user_id": 10009},
        bot_news(silence="removed"),
    ),
    ({"notice_type": "group_dismiss", "user_id": 10009}, bot_news(silence="removed")),
    (
        {"notice_type": "group_admin", "sub_type": "set", "user_id": BOT},
        bot_news(role="admin"),
    ),
    (
        {"notice_type": "group_admin", "sub_type": "unset", "user_id": BOT},
        bot_news(role="member"),
    ),
    (
        {"notice_type": "group_admin", "sub_type": "set", "user_id": 10002},
        MemberNews(1, GROUP, "10002", role="admin"),
    ),
    (
        {"notice_type": "group_card", "user_id": 10002, "card_new": "Anna\n"},
        MemberNews(1, GROUP, "10002", name="Anna"),
    ),
    ({"notice_type": "group_card", "user_id": 10002, "card_new": ""}, None),
    ({"notice_type": "group_card", "user_id": BOT, "card_new": "Bear"}, None),
    (
        {"notice_type": "group_ban", "sub_type": "ban", "user_id": 0, "duration": -1},
        bot_news(silence="whole_group_muted"),
    ),
    (
        {"notice_type": "group_ban", "sub_type": "lift_ban", "user_id": 0, "duration": 0},
        bot_news(silence="whole_group_muted", is_over=True),
    ),
    (
        {"notice_type": "group_ban", "sub_type": "lift_ban", "user_id": BOT, "duration": 0},
        bot_news(silence="muted", is_over=True),
    ),
    ({"notice_type": "group_ban", "sub_type": "ban", "user_id": 10002, "duration": 60}, None),
    ({"notice_type": "group_increase", "group_id": None, "user_id": 10002}, None),
    ({"notice_type": "essence", "sub_type": "add", "sender_id": 10002, "message_id": 1}, None),
]


@pytest.mark.parametrize(("fields", "expected"), NEWS)
def test_news_of_a_group_is_taken_in_as_what_it_means(
    fields: dict[str, Any], expected: Received | None
) -> None:
    assert taken(**fields) == expected


def test_a_mute_of_the_bot_lasts_as_long_as_it_had_left_when_it_was_told_of() -> None:
    clock = ConnectionClock()
    clock.learn(LifecycleEvent(time=1760000100))
    mute = {"notice_type": "group_ban", "sub_type": "ban", "user_id": BOT, "duration": 600}
    news = taken(clock=clock, time=1760000000, **mute)
    assert isinstance(news, BotNews)
    assert (news.silence, news.is_over) == ("muted", False)
    assert news.seconds == pytest.approx(500, abs=5)
    assert taken(clock=clock, time=1760000000, **{**mute, "duration": 0}) == bot_news(
        silence="muted"
    )


def test_a_recall_in_a_private_chat_names_the_other_person() -> None:
    news = taken(notice_type="friend_recall", group_id=None, user_id=10002, message_id=5)
    assert isinstance(news, Recalled)
    assert (news.chat.key, news.by_bot) == ("private:10002", True)
    assert taken(notice_type="friend_recall", group_id=None, user_id=BOT, message_id=5) is None
