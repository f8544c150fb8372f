"""The door in: once, in order, and with the right due time."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core import inbound
from core.messages import ChatAddress, Part, PlatformId, ReceivedItem
from core.models import Bot, Chat, InboundItem, Member
from tests.factories import make_bot, make_chat, make_sent

pytestmark = pytest.mark.django_db
GROUP = ChatAddress("group", PlatformId("20001"), title="Testers")
PRIVATE = ChatAddress("private", PlatformId("10002"), title="Ann")
MENTION = Part("mention", {"id": "10000"})


def text(words: str) -> Part:
    return Part("text", {"text": words})


@pytest.fixture
def bot() -> Bot:
    return make_bot("10000")


@pytest.fixture
def said(bot: Bot) -> Callable[..., ReceivedItem]:
    def make(words: str = "hi", **fields: object) -> ReceivedItem:
        now = timezone.now()
        given: dict[str, object] = {
            "bot_id": bot.pk,
            "chat": GROUP,
            "kind": "message",
            "sender_id": "10002",
            "sender_name": "Ann",
            "sent_at": now,
            "received_at": now,
            "message_id": PlatformId("1"),
            "parts": (text(words),),
        }
        return ReceivedItem(**{**given, **fields})  # type: ignore[arg-type]

    return make


Said = Callable[..., ReceivedItem]


def test_the_same_message_twice_is_stored_once(said: Said) -> None:
    inbound.receive([said()])
    inbound.receive([said(), said()])
    assert InboundItem.objects.count() == 1


def test_a_redelivery_with_another_time_is_the_same_message(said: Said) -> None:
    inbound.receive([said()])
    inbound.receive([said(sent_at=timezone.now() + timedelta(seconds=90))])
    assert InboundItem.objects.count() == 1


def test_two_messages_whose_ids_collide_are_both_stored(said: Said) -> None:
    inbound.receive([said("one"), said("two"), said("one", sender_id="10003")])
    assert [row.text for row in InboundItem.objects.order_by("pk")] == ["one", "two", "one"]


def test_two_pictures_under_one_id_are_both_stored(said: Said) -> None:
    one, two = (Part("image", {"id": f"md5:{digit * 32}"}) for digit in "ab")
    inbound.receive([said(parts=(one,)), said(parts=(two,)), said(parts=(one,))])
    assert InboundItem.objects.count() == 2


def test_without_an_id_the_platforms_second_tells_messages_apart(said: Said) -> None:
    now = timezone.now().replace(microsecond=0)
    first = said(message_id=None, sent_at=now)
    inbound.receive([first, replace(first, sent_at=now + timedelta(seconds=1)), first])
    assert InboundItem.objects.count() == 2


def test_the_same_message_in_two_chats_or_for_two_bots_is_stored_in_each(said: Said) -> None:
    other = make_bot("10009")
    elsewhere = ChatAddress("group", PlatformId("20002"))
    inbound.receive([said(), said(chat=elsewhere), said(bot_id=other.pk)])
    assert InboundItem.objects.count() == 3


def test_items_keep_the_order_in_which_they_arrived(said: Said) -> None:
    inbound.receive([said(str(n), message_id=PlatformId(str(n))) for n in range(50)])
    assert [row.text for row in InboundItem.objects.order_by("pk")] == [str(n) for n in range(50)]


def test_a_new_chat_appears_as_its_bot_says(said: Said, bot: Bot) -> None:
    bot.new_group_chats_enabled = False
    bot.save()
    inbound.receive([said(), said(chat=PRIVATE, message_id=PlatformId("2"))])
    assert {chat.key: chat.enabled for chat in Chat.objects.all()} == {
        "group:20001": False,
        "private:10002": True,
    }


def test_what_is_said_in_a_disabled_chat_is_not_stored(said: Said, bot: Bot) -> None:
    make_chat(bot, external_id="20001", enabled=False)
    assert inbound.receive([said(parts=(MENTION,), mentions_bot=True)]) == []
    assert not InboundItem.objects.exists()


def test_a_mention_makes_its_chat_due_after_the_debounce(said: Said, settings: object) -> None:
    (due,) = inbound.receive([said(parts=(MENTION, text(" hi")), mentions_bot=True)])
    assert due.seconds == pytest.approx(settings.ARISE_DEBOUNCE_SECONDS, abs=0.2)  # type: ignore[attr-defined]
    chat = Chat.objects.get()
    assert chat.addressed_by == ["10002"]
    assert InboundItem.objects.get().trigger == "mention"


def test_a_replayed_mention_is_stored_and_addresses_nobody(said: Said) -> None:
    inbound.receive([said(mentions_bot=True, is_old=True)])
    assert InboundItem.objects.get().trigger == "mention"
    assert Chat.objects.get().addressed_at is None


def test_a_private_message_addresses_the_bot(said: Said) -> None:
    inbound.receive([said(chat=PRIVATE)])
    assert InboundItem.objects.get().trigger == "private"
    assert Chat.objects.get().addressed_at is not None


def test_a_quote_of_the_bots_words_addresses_it_and_a_quote_of_others_does_not(
    said: Said, bot: Bot
) -> None:
    chat = make_chat(bot, external_id="20001")
    make_sent(chat, entry={"platform_message_id": "555"})
    other = make_chat(bot, external_id="20002")
    make_sent(other, entry={"platform_message_id": "777"})
    inbound.receive(
        [
            said(message_id=PlatformId("1"), reply_to="555"),
            said(message_id=PlatformId("2"), reply_to="777"),
            said(message_id=PlatformId("3"), reply_to="1"),
        ]
    )
    assert [row.trigger for row in InboundItem.objects.order_by("pk")] == ["quote", "", ""]


def test_an_echo_of_the_bots_own_message_is_no_item_but_words_typed_by_hand_are(
    said: Said, bot: Bot
) -> None:
    chat = make_chat(bot, external_id="20001")
    make_sent(chat, entry={"platform_message_id": "555"})
    inbound.receive(
        [
            said("hello", sender_id="10000", from_self=True, message_id=PlatformId("555")),
            said("by hand", sender_id="10000", from_self=True, message_id=PlatformId("556")),
        ]
    )
    row = InboundItem.objects.get()
    assert (row.text, row.from_self, row.trigger) == ("by hand", True, "")


def test_speakers_become_members_with_their_latest_name(said: Said) -> None:
    inbound.receive([said()])
    inbound.receive([said("more", sender_name="Anna", message_id=PlatformId("2"))])
    member = Member.objects.get()
    assert (member.user_id, member.name) == ("10002", "Anna")


def test_a_batch_takes_as_many_statements_as_one_message(
    said: Said, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    inbound.receive([said()])
    batch = [said(str(n), message_id=PlatformId(str(n))) for n in range(100)]
    with django_assert_max_num_queries(9):
        inbound.receive(batch)
    assert InboundItem.objects.count() == 101
    assert Chat.objects.get().messages == 101
