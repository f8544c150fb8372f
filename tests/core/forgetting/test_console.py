"""“Forget …” in the console: it says what goes, and who did it stays without a name of whom."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from core.forgetting import chats, people
from core.forgetting.batches import work
from core.models import Chat, InboundItem, Member, OutboxEntry, PersonLimit
from tests.core.forgetting import world
from tests.factories import (
    make_bot,
    make_chat,
    make_entry,
    make_item,
    make_member,
    make_sent,
    make_turn,
)

pytestmark = pytest.mark.django_db


def forget_url(row: Model) -> str:
    return reverse(f"admin:core_{row._meta.model_name}_forget", args=[row.pk])


def page_url(row: Model) -> str:
    return reverse(f"admin:core_{row._meta.model_name}_change", args=[row.pk])


@pytest.fixture
def chat() -> Chat:
    chat = make_chat(make_bot("10000"), external_id="20001", title="Tea house")
    make_item(chat, "apples", sender_id="10002", sender_name="Annika")
    return chat


@pytest.fixture
def member(chat: Chat) -> Member:
    return make_member(chat, user_id="10002", name="Annika")


def test_a_chat_is_forgotten_on_its_page(
    admin_client: Client, admin_user: User, chat: Chat, member: Member
) -> None:
    assert forget_url(chat) in admin_client.get(page_url(chat)).content.decode()
    asked = admin_client.get(forget_url(chat)).content.decode()
    assert "undone" in asked
    assert InboundItem.objects.exists()
    told = admin_client.post(forget_url(chat), follow=True)
    assert told.redirect_chain == [(page_url(chat), 302)]
    assert "items: 1" in told.content.decode()
    assert not InboundItem.objects.exists()
    logged = LogEntry.objects.get()
    assert (logged.user, logged.object_repr) == (admin_user, "group:20001")
    assert world.places_of("Tea house", "apples", "Annika") == set()


def test_a_person_is_forgotten_on_the_members_page(
    admin_client: Client, admin_user: User, member: Member
) -> None:
    assert forget_url(member) in admin_client.get(page_url(member)).content.decode()
    assert "undone" in admin_client.get(forget_url(member)).content.decode()
    told = admin_client.post(forget_url(member), follow=True)
    assert told.redirect_chain == [(reverse("admin:core_member_changelist"), 302)]
    logged = LogEntry.objects.get()
    assert (logged.user, logged.object_repr) == (admin_user, "–")
    assert world.places_of("10002", "apples", "Annika") == set()


def test_a_person_may_be_forgotten_with_one_bot_alone(
    admin_client: Client, chat: Chat, member: Member
) -> None:
    other = make_item(make_chat(make_bot("10009")), sender_id="10002")
    assert str(chat.bot) in admin_client.get(forget_url(member)).content.decode()
    admin_client.post(forget_url(member), {"with": chat.bot_id})
    assert list(InboundItem.objects.all()) == [other]


def test_who_may_not_change_and_delete_chats_may_not_forget(
    client: Client, chat: Chat, member: Member
) -> None:
    user = User.objects.create_user("viewer", password="x", is_staff=True)
    for name in ("view_chat", "view_member", "change_chat", "change_member", "delete_member"):
        user.user_permissions.add(Permission.objects.get(codename=name))
    client.force_login(user)
    for row in (chat, member):
        assert forget_url(row) not in client.get(page_url(row)).content.decode()
        assert client.get(forget_url(row)).status_code == 403
        assert client.post(forget_url(row)).status_code == 403
    assert InboundItem.objects.exists()


def test_who_reaches_some_chats_alone_forgets_in_these_alone(
    client: Client, chat: Chat, member: Member
) -> None:
    other = make_chat(chat.bot, external_id="20002")
    kept, beyond = make_item(other, sender_id="10002"), make_member(other, user_id="10002")
    user = User.objects.create_user("limited", password="x", is_staff=True)
    for name in ("view_chat", "view_member", "change_chat", "delete_chat"):
        user.user_permissions.add(Permission.objects.get(codename=name))
    PersonLimit.objects.create(person=user).chats.add(chat)
    client.force_login(user)
    for row in (other, beyond):
        assert client.post(forget_url(row)).status_code == 404
    client.post(forget_url(member))
    assert list(InboundItem.objects.all()) == [kept]


def test_the_same_twice_at_once_is_told(
    admin_client: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(chat_id: int) -> dict[str, int]:
        with work(chat_id):
            return {"sent_messages": 1}

    monkeypatch.setattr(chats, "_sent", taken)
    told = admin_client.post(forget_url(chat), follow=True).content.decode()
    assert "already" in told


def test_a_turn_whose_words_are_forgotten_says_so(admin_client: Client, chat: Chat) -> None:
    emptied = make_turn(chat)
    kept = make_turn(chat, messages=[{"role": "user", "content": "hi"}])
    assert "was forgotten" in admin_client.get(page_url(emptied)).content.decode()
    assert "was forgotten" not in admin_client.get(page_url(kept)).content.decode()


def test_a_forgotten_turn_is_not_offered_to_be_run_again(admin_client: Client, chat: Chat) -> None:
    emptied = make_turn(chat)
    kept = make_turn(chat, messages=[{"role": "user", "content": "hi"}])
    again = "Run it again"
    assert again not in admin_client.get(page_url(emptied)).content.decode()
    assert again in admin_client.get(page_url(kept)).content.decode()


def test_words_that_were_forgotten_say_so_wherever_they_stood(
    admin_client: Client, chat: Chat, member: Member
) -> None:
    turn = make_turn(chat)
    said = make_sent(chat, "Annika, 10002, likes apples", turn=turn)
    make_entry(chat=chat, action="poke", state="sent", subject="10002", parts=[
        {"type": "poke", "data": {"id": "10002", "is_number": True}}
    ])  # fmt: skip
    waits = make_sent(make_chat(chat.bot, delivery_mode="review"), "hi", "pending")
    make_sent(waits.chat, "to 10002")
    OutboxEntry.objects.filter(current_of=waits).update(held="review")
    pages = {
        reverse("admin:core_sentmessage_changelist"): 2,
        reverse("admin:core_outboxentry_changelist"): 3,
        reverse("admin:core_chat_conversation", args=[chat.pk]): 2,
        reverse("admin:core_outboxentry_review"): 1,
        page_url(turn): 1,
        page_url(said): 2,
        reverse("admin:core_outboxentry_change", args=[said.entry_id]): 1,
    }

    def told() -> dict[str, int]:
        found = {url: admin_client.get(url).content.decode() for url in pages}
        return {url: len(re.findall(r">\(?forgotten\)?<| forgotten<", found[url])) for url in found}

    assert not any(told().values())
    people.forget("10002")
    assert told() == pages
