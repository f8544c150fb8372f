"""Several processes that store at once: nothing is counted away, nobody waits for ever."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.utils import timezone

from core import inbound
from core.database import give_back
from core.messages import ChatAddress, Part, PlatformId, ReceivedItem
from core.models import Bot, Chat, InboundItem
from tests.factories import make_bot

pytestmark = pytest.mark.django_db(transaction=True)


def said(bot: Bot, group: int, number: int) -> ReceivedItem:
    now = timezone.now()
    return ReceivedItem(
        bot_id=bot.pk,
        chat=ChatAddress("group", PlatformId(str(group))),
        kind="message",
        sender_id="10002",
        sent_at=now,
        received_at=now,
        message_id=PlatformId(str(number)),
        parts=(Part("text", {"text": "hi"}),),
    )


def at_once(*batches: list[ReceivedItem]) -> None:
    def store(batch: list[ReceivedItem]) -> None:
        try:
            inbound.receive(batch)
        finally:
            give_back()

    with ThreadPoolExecutor(len(batches)) as processes:
        list(processes.map(store, batches))


def test_no_item_of_one_chat_is_counted_away() -> None:
    bot = make_bot()
    inbound.receive([said(bot, 1, 0)])
    for round_ in range(10):
        at_once(*([said(bot, 1, 1 + round_ * 4 + one)] for one in range(4)))
    assert Chat.objects.get().messages == InboundItem.objects.count() == 41


def test_the_same_new_chats_in_another_order_are_no_deadlock() -> None:
    bot = make_bot()
    for round_ in range(8):
        groups = [round_ * 1000 + number for number in range(1, 200)]
        at_once(
            [said(bot, group, 1) for group in groups],
            [said(bot, group, 2) for group in groups[::-1]],
        )
    assert Chat.objects.count() == 8 * 199
