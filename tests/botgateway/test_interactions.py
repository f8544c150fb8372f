"""Pokes and reactions come in unless an operator says otherwise, and what comes is known from then."""

import pytest
from django.utils import timezone

from botgateway import interactions, platforms
from core import capabilities
from core.messages import BotNews, ChatAddress, PlatformId, Received, ReceivedItem
from core.models import Bot, CapabilitySetting, Chat
from tests.factories import make_bot, make_chat

pytestmark = pytest.mark.django_db


@pytest.fixture
def bot() -> Bot:
    return make_bot(platform={"app_name": "onebots"}, connection_number=7)


@pytest.fixture
def chat(bot: Bot) -> Chat:
    return make_chat(bot, external_id="20001")


def came(bot: Bot, kind: str, group: str = "20001") -> ReceivedItem:
    now = timezone.now()
    return ReceivedItem(
        bot_id=bot.pk,
        chat=ChatAddress("group", PlatformId(group)),
        kind=kind,  # type: ignore[arg-type]
        sender_id="10002",
        sent_at=now,
        received_at=now,
    )


def say(name: str, allowed: bool, **of: object) -> None:
    CapabilitySetting.objects.create(target="cap", name=name, allowed=allowed, **of)


@pytest.mark.parametrize(
    ("of_bot", "of_chat", "is_let_in"),
    [
        (None, None, True),
        (False, None, False),
        (True, None, True),
        (None, False, False),
        (False, True, True),
        (True, False, False),
    ],
)
def test_the_chats_setting_counts_before_the_bots(
    bot: Bot, chat: Chat, of_bot: bool | None, of_chat: bool | None, is_let_in: bool
) -> None:
    if of_bot is not None:
        say("poke_receive", of_bot, bot=bot)
    if of_chat is not None:
        say("poke_receive", of_chat, chat=chat)
    poke = came(bot, "poke")
    assert interactions.let_in([poke]) == ([poke] if is_let_in else [])


def test_what_is_switched_off_for_one_kind_and_chat_is_off_there_alone(
    bot: Bot, chat: Chat
) -> None:
    say("poke_receive", False, chat=chat)
    say("reaction_send", False, chat=chat)
    other = make_bot()
    private = came(bot, "poke")
    batch: list[Received] = [
        came(bot, "poke"),
        came(bot, "reaction"),
        came(bot, "message"),
        came(bot, "poke", "20002"),
        came(other, "poke"),
        BotNews(bot.pk, private.chat, role="admin"),
    ]
    assert interactions.let_in(batch) == batch[1:]


def holds(bot: Bot, chat: Chat) -> dict[str, bool]:
    fresh = Chat.objects.select_related("bot").get(pk=chat.pk)
    return capabilities.in_chat(fresh).capabilities


def test_what_nobody_knew_of_an_implementation_is_able_once_it_came(bot: Bot, chat: Chat) -> None:
    assert not holds(bot, chat)["poke_receive"]
    interactions.let_in([came(bot, "poke")])
    assert holds(bot, chat)["poke_receive"]
    assert not holds(bot, chat)["reaction_receive"]
    interactions.let_in([came(bot, "reaction")])
    assert holds(bot, chat)["reaction_receive"]


def test_what_was_seen_outlasts_a_reconnect_and_not_another_implementation(
    bot: Bot, chat: Chat
) -> None:
    interactions.let_in([came(bot, "poke")])
    platforms.keep(bot.pk, 7, app_name="onebots", app_version="2")
    assert holds(bot, chat)["poke_receive"]
    platforms.keep(bot.pk, 7, app_name="else", app_version="2")
    platforms.keep(bot.pk, 7, app_name="onebots", app_version="2")
    assert not holds(bot, chat)["poke_receive"]
