"""The door in: once, in order, and with the right due time."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core import inbound
from core.messages import (
    BotNews,
    ChatAddress,
    ListedMember,
    MemberList,
    MemberNews,
    Part,
    PlatformId,
    ReceivedItem,
)
from core.models import Bot, Chat, InboundItem, Member
from tests.factories import make_bot, make_chat, make_member, make_sent

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


def test_an_echo_is_evidence_also_in_a_chat_that_was_switched_off_meanwhile(
    said: Said, bot: Bot
) -> None:
    chat = make_chat(bot, external_id="20001", enabled=False)
    entry = make_sent(chat, "hello", "unknown").entry
    assert entry is not None
    inbound.receive([said(parts=(text("hello"),), from_self=True, sender_id=bot.self_id)])
    entry.refresh_from_db()
    assert entry.state == "sent"
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


def did(said: Said, kind: str, **fields: object) -> ReceivedItem:
    """A poke or a reaction: their frames have neither a name nor a message id."""
    return said(kind=kind, message_id=None, parts=(), sender_name="", **fields)


def test_a_poke_at_the_bot_addresses_it_and_other_interactions_do_not(said: Said, bot: Bot) -> None:
    chat = make_chat(bot, external_id="20001")
    make_sent(chat, entry={"platform_message_id": "555"})
    inbound.receive(
        [
            did(said, "poke", target_id="10003"),
            did(said, "poke"),
            did(said, "reaction", target_id="555", emoji=("76",)),
        ]
    )
    chat.refresh_from_db()
    assert chat.addressed_at is None
    inbound.receive([did(said, "poke", target_id="10000", is_at_bot=True)])
    assert [row.trigger for row in InboundItem.objects.order_by("pk")] == ["", "", "", "poke"]
    chat.refresh_from_db()
    assert chat.addressed_by == ["10002"]


def test_a_replayed_poke_wakes_nothing(said: Said) -> None:
    inbound.receive([did(said, "poke", target_id="10000", is_at_bot=True, is_old=True)])
    assert Chat.objects.get().addressed_at is None


def test_an_interaction_is_the_same_within_its_second_alone(said: Said) -> None:
    now = timezone.now().replace(microsecond=0)
    poke = did(said, "poke", target_id="10003", sent_at=now)
    reaction = did(said, "reaction", target_id="1", emoji=("76",), sent_at=now)
    inbound.receive([poke, poke, replace(poke, sent_at=now + timedelta(seconds=1))])
    inbound.receive(
        [
            reaction,
            replace(reaction, removed=True),
            replace(reaction, emoji=("77",)),
            replace(reaction, target_id="2"),
            reaction,
        ]
    )
    kinds = [row.kind for row in InboundItem.objects.all()]
    assert (kinds.count("poke"), kinds.count("reaction")) == (2, 4)


def test_who_did_something_is_named_as_he_is_known_and_his_name_stays(said: Said) -> None:
    inbound.receive([did(said, "poke", target_id="1"), said(), did(said, "poke", target_id="2")])
    inbound.receive([did(said, "poke", target_id="3")])
    pokes = InboundItem.objects.filter(kind="poke").order_by("pk")
    assert [poke.sender_name for poke in pokes] == ["", "Ann", "Ann"]
    assert Member.objects.get().name == "Ann"


def test_a_chats_title_and_address_outlast_what_does_not_tell_them(said: Said) -> None:
    bare = ChatAddress("private", PlatformId("10002"))
    told = replace(PRIVATE, address={"group_id": 20001})
    inbound.receive([said(chat=told), did(said, "poke", chat=bare, target_id="10000")])
    inbound.receive([did(said, "poke", chat=bare)])
    chat = Chat.objects.get()
    assert (chat.title, chat.address) == ("Ann", {"group_id": 20001})


def test_news_is_taken_in_between_the_items_in_its_order(said: Said, bot: Bot) -> None:
    left = MemberNews(bot.pk, GROUP, "10002", is_here=False)
    inbound.receive([said("one"), left])
    assert Member.objects.get().left_at is not None
    inbound.receive([left, said("two", message_id=PlatformId("2"))])
    assert Member.objects.get().left_at is None


def test_what_was_said_long_ago_tells_not_who_is_there_now(said: Said, bot: Bot) -> None:
    chat = make_chat(bot, external_id="20001", silence_reason="removed")
    gone = make_member(chat, user_id="10002", left_at=timezone.now())
    inbound.receive([said(is_old=True)])
    gone.refresh_from_db()
    chat.refresh_from_db()
    assert (gone.left_at is None, chat.silence_reason) == (False, "removed")
    inbound.receive([said("new", message_id=PlatformId("2"))])
    gone.refresh_from_db()
    chat.refresh_from_db()
    assert (gone.left_at is None, chat.silence_reason) == (True, "")


def test_news_alone_makes_no_chat_known_unless_it_is_a_mute_of_the_bot(bot: Bot) -> None:
    inbound.receive([MemberNews(bot.pk, GROUP, "10002", is_here=True)])
    inbound.receive([BotNews(bot.pk, GROUP, silence="removed")])
    assert not Chat.objects.exists()
    inbound.receive([BotNews(bot.pk, GROUP, silence="muted", seconds=600)])
    assert Chat.objects.get().silence_reason == "muted"


def test_of_a_disabled_chat_nobody_is_kept(bot: Bot) -> None:
    make_chat(bot, external_id="20001", enabled=False)
    now = timezone.now()
    listed = (ListedMember("10003", "Bob"),)
    inbound.receive(
        [
            MemberNews(bot.pk, GROUP, "10002", is_here=True),
            MemberList(bot.pk, GROUP, listed, True, now),
        ]
    )
    assert not Member.objects.exists()
