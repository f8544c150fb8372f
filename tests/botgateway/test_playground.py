"""Who may speak in a playground: the person whose it is, from the page that was given to him."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from botgateway import auth
from botgateway.auth import Admission, Handshake
from botgateway.models import Connection
from botgateway.playground import admission, bots, story
from core import tokens
from core.models import Bot, PersonLimit
from tests import factories

pytestmark = pytest.mark.django_db
PAGE = reverse("admin:core_bot_playground")
STATE = reverse("admin:core_bot_playground_state")
FORGET = reverse("admin:core_bot_playground_forget")


def make_person(name: str = "ann", *rights: str, **fields: Any) -> User:
    person = User.objects.create(username=name, is_staff=True, **fields)
    for right in rights or ("view_bot", "change_chat", "delete_chat"):
        person.user_permissions.add(Permission.objects.get(codename=right))
    return person


@pytest.fixture
def person() -> User:
    return make_person()


@pytest.fixture
def client(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def bot(client: Client, person: User) -> Bot:
    client.post(PAGE)
    return Bot.objects.get(self_id=bots.self_id_of(person))


def session_of(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def handshake(client: Client, person: User, **changed: str) -> Handshake:
    given = {
        "origin": "https://console.example",
        "host": "console.example",
        "cookie": f"{settings.SESSION_COOKIE_NAME}={session_of(client)}",
        "ticket": admission.ticket(session_of(client), person),
    } | changed
    return Handshake(given, f"ticket={given.pop('ticket')}", "192.0.2.1")


def admit(client: Client, person: User, **changed: str) -> Admission | str:
    return admission.admit(handshake(client, person, **changed), process="host:1")


def test_the_page_of_a_person_is_admitted_as_his_own_bot(
    client: Client, person: User, bot: Bot
) -> None:
    admitted = admit(client, person)
    assert isinstance(admitted, Admission)
    assert (admitted.bot_id, admitted.self_id) == (bot.pk, bot.self_id)
    bot.refresh_from_db()
    assert bot.connection_number == admitted.connection_number


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"origin": "https://elsewhere.example"}, "foreign_origin"),
        ({"origin": "https://console.example.elsewhere.example"}, "foreign_origin"),
        ({"origin": "https://console.example:8443"}, "foreign_origin"),
        ({"origin": "null"}, "foreign_origin"),
        ({"origin": ""}, "foreign_origin"),
        ({"origin": "http://["}, "foreign_origin"),
        ({"cookie": ""}, "nobody"),
        ({"cookie": f"{settings.SESSION_COOKIE_NAME}=invented"}, "nobody"),
        ({"cookie": rf'{settings.SESSION_COOKIE_NAME}="invented\000"'}, "nobody"),
        ({"ticket": ""}, "wrong_ticket"),
        ({"ticket": "0" * 64}, "wrong_ticket"),
    ],
)
def test_others_are_refused(
    client: Client, person: User, bot: Bot, changed: dict[str, str], reason: str
) -> None:
    assert admit(client, person, **changed) == reason
    assert not Connection.objects.exists()


def test_the_ticket_of_another_session_is_worth_nothing(
    client: Client, person: User, bot: Bot
) -> None:
    other = Client()
    other.force_login(person)
    assert admit(client, person, ticket=admission.ticket(session_of(other), person)) == (
        "wrong_ticket"
    )


def test_a_session_that_is_over_is_nobodys(client: Client, person: User, bot: Bot) -> None:
    shown = handshake(client, person)
    client.logout()
    assert admission.admit(shown, process="host:1") == "nobody"


@pytest.mark.parametrize("field", ["is_staff", "is_active", "right"])
def test_a_right_that_was_taken_away_is_asked_again(
    client: Client, person: User, bot: Bot, field: str
) -> None:
    if field == "right":
        person.user_permissions.clear()
    else:
        User.objects.update(**{field: False})
    assert admit(client, person) in {"no_permission", "nobody"}


def test_a_person_reaches_no_playground_but_his_own(client: Client, bot: Bot) -> None:
    other = make_person("bo")
    others = Client()
    others.force_login(other)
    assert admit(others, other) == "no_bot"
    assert others.get(STATE).status_code == 404
    assert others.post(FORGET).status_code == 404
    others.post(PAGE)
    admitted = admit(others, other)
    assert isinstance(admitted, Admission)
    assert admitted.bot_id != bot.pk


def test_a_bot_that_is_switched_off_is_refused(client: Client, person: User, bot: Bot) -> None:
    Bot.objects.update(enabled=False)
    assert admit(client, person) == "disabled_bot"


def test_a_limit_holds_a_person_also_from_his_own_bot(
    client: Client, person: User, bot: Bot
) -> None:
    limit = PersonLimit.objects.create(person=person)
    limit.chats.add(factories.make_chat(bot))
    assert admit(client, person) == "no_bot"
    assert client.get(STATE).status_code == 404
    assert "ticket" not in client.get(PAGE).content.decode()
    limit.bots.add(bot)
    assert isinstance(admit(client, person), Admission)
    assert client.get(STATE).status_code == 200


def test_nothing_else_connects_as_a_playground(bot: Bot) -> None:
    given = {"x-self-id": bot.self_id, "authorization": "Bearer "}
    assert auth.admit(Handshake(given, "", "192.0.2.1"), process="host:1") == "no_token"


def test_no_token_opens_a_playground(admin_client: Client, bot: Bot) -> None:
    page = reverse("admin:core_bot_changelist")
    chosen = {"action": "new_token", "_selected_action": [bot.pk]}
    said = admin_client.post(page, chosen, follow=True).content.decode()
    bot.refresh_from_db()
    assert bot.token_hash == ""
    assert "A playground has no token" in said
    bot.token_hash = tokens.hash_token("right")
    bot.save()
    given = {"x-self-id": bot.self_id, "authorization": "Bearer right"}
    assert auth.admit(Handshake(given, "", "192.0.2.1"), process="host:1") == "wrong_token"


def test_a_bot_is_made_once_for_each_person_and_marked(client: Client, bot: Bot) -> None:
    client.post(PAGE)
    assert Bot.objects.get() == bot
    assert bot.is_playground
    assert bot.name == "Playground of ann"
    assert bot.self_id.startswith("9")
    assert len(bot.self_id) >= 12
    assert "playground</span>" in client.get(reverse("admin:core_bot_changelist")).content.decode()


def test_a_bot_that_has_the_account_already_is_left_alone(client: Client, person: User) -> None:
    factories.make_bot(bots.self_id_of(person))
    page = client.post(PAGE, follow=True).content.decode()
    assert "has the account" in page
    assert admit(client, person) == "no_bot"


@pytest.mark.parametrize("url", [PAGE, STATE])
def test_it_is_for_those_who_may_change_chats(url: str) -> None:
    viewer = make_person("viewer", "view_bot", "view_chat")
    client = Client()
    client.force_login(viewer)
    assert client.get(url).status_code == 403
    assert client.post(PAGE).status_code == 403
    assert client.post(FORGET).status_code == 403
    assert not Bot.objects.exists()
    assert PAGE not in client.get(reverse("admin:index")).content.decode()


def test_it_says_what_it_costs_before_it_is_opened(client: Client) -> None:
    assert "costs" in client.get(PAGE).content.decode()
    assert not Bot.objects.exists()


def test_the_state_tells_the_turn_behind_a_message_and_why_there_is_none(
    client: Client, bot: Bot
) -> None:
    chat = factories.make_chat(bot, external_id="7")
    ignored, heard = factories.make_item(chat, "just us"), factories.make_item(chat, "bot?")
    factories.make_decision([ignored], "skip")
    turn = factories.make_turn(chat)
    factories.make_decision([heard], turn=turn)
    said = factories.make_sent(chat, "here", turn=turn).entry
    lost = factories.make_sent(chat, "gone", "unknown", turn=turn, entry={"reason": "no_answer"})
    factories.make_sent(factories.make_chat(external_id="8"), "of another bot")
    told = client.get(STATE).json()
    assert said
    assert told["turns"][said.platform_message_id]["url"].endswith(f"/turn/{turn.pk}/change/")
    silent, answered, unsent = told["notes"]
    assert silent["after"] == ignored.platform_message_id
    assert "Nobody addressed the bot" in silent["text"]
    assert answered["after"] == unsent["after"] == heard.platform_message_id
    assert answered["text"].startswith("“bot?”: ")
    assert "“gone” is unknown: The platform gave no answer in time." in unsent["text"]
    assert unsent["key"] == f"entry-{lost.entry_id}"
    assert list(told["chats"]) == ["group:7"]
    assert "of another bot" not in json.dumps(told)


def test_what_leaves_no_message_is_named_and_told_by_its_time(bot: Bot) -> None:
    chat = factories.make_chat(bot)
    poke = factories.make_item(chat, "", kind="poke", platform_message_id="")
    factories.make_decision([poke], turn=factories.make_turn(chat))
    (note,) = story.tell(bot)["notes"]
    assert note["text"] == "poke: It had its turn."
    assert (note["after"], note["at"]) == ("", int(poke.sent_at.timestamp()))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"state": "running"}, "thinking"),
        ({"state": "silent", "silence_reason": "they talk"}, "stay silent: they talk"),
        ({"state": "failed", "error": "timeout"}, "did not answer in time"),
        ({"state": "done"}, "had its turn"),
    ],
)
def test_a_turn_is_told_as_it_stands(bot: Bot, fields: dict[str, str], words: str) -> None:
    chat = factories.make_chat(bot)
    item = factories.make_item(chat)
    factories.make_decision([item], turn=factories.make_turn(chat, **fields))
    assert words in story.tell(bot)["notes"][0]["text"]


def test_the_state_costs_the_same_whatever_was_said(
    client: Client, bot: Bot, django_assert_num_queries: Any
) -> None:
    for _ in range(3):
        chat = factories.make_chat(bot)
        item = factories.make_item(chat)
        factories.make_decision([item], turn=factories.make_turn(chat))
        factories.make_sent(chat)
    with django_assert_num_queries(4):
        story.tell(bot)


def test_what_was_said_is_forgotten_at_a_click(client: Client, bot: Bot) -> None:
    item = factories.make_item(factories.make_chat(bot))
    elsewhere = factories.make_item()
    assert client.get(FORGET).status_code == 405
    assert client.post(FORGET).status_code == 302
    assert not type(item).objects.filter(pk=item.pk).exists()
    assert type(item).objects.filter(pk=elsewhere.pk).exists()
