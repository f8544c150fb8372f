"""Where one is in the console: titles and the way that leads to a page."""

import re
from html import unescape

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from core.models import Chat
from tests import factories
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db
REGISTERED = list(admin.site._registry)


@pytest.fixture
def chat() -> Chat:
    return factories.make_chat(factories.make_bot(name="bear"), title="", external_id="1234")


def way(client: Client, address: str) -> list[str]:
    page = client.get(address)
    assert page.status_code == 200
    heading = re.findall(r"<h1>(.*?)</h1>", page.content.decode(), re.DOTALL)
    return [unescape(one) for one in re.findall(r"<bdi>(.*?)</bdi>", heading[0], re.DOTALL)]


def title(client: Client, address: str) -> str:
    told = re.findall(r"<title>(.*?)</title>", client.get(address).content.decode(), re.DOTALL)
    return unescape(" ".join(told[0].split()))


def list_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


@pytest.mark.parametrize("model", REGISTERED, ids=lambda model: model._meta.label)
def test_a_list_is_called_by_what_it_lists(admin_client: Client, model: type[Model]) -> None:
    leading = way(admin_client, list_of(model))
    assert len(leading) == 1
    assert title(admin_client, list_of(model)) == f"{leading[0]} | arise"
    assert "elect" not in leading[0]


def test_a_row_is_reached_by_its_list_and_its_name_stays_as_it_is(
    admin_client: Client, chat: Chat
) -> None:
    address = reverse("admin:core_chat_change", args=[chat.pk])
    assert way(admin_client, address) == ["Chats", "group:1234"]
    assert title(admin_client, address) == "group:1234 | Chat | arise"


def test_own_pages_say_what_they_are(admin_client: Client, chat: Chat) -> None:
    item = factories.make_item(chat)
    turn = factories.make_turn(chat)
    entry = factories.make_sent(chat, "hello", "pending").entry
    sticker = shown(chat, "a warm welcome")
    skill = factories.make_skill("kindness")
    skip = factories.make_decision([item], "skip")
    expected = {
        ("core_chat_conversation", chat.pk): ["Chats", "group:1234", "Conversation"],
        ("core_chat_forget", chat.pk): ["Chats", "group:1234", "Forget this chat…"],
        ("core_turn_rerun", turn.pk): ["Turns", f"#{turn.pk} done", "Run it again without sending"],
        ("core_outboxentry_edit", entry.pk if entry else 0): [
            "Outbox",
            str(entry),
            "Change its words",
        ],
        ("core_outboxentry_review",): ["Outbox", "Review"],
        ("core_bot_playground",): ["Bots", "Playground"],
        ("stickers_sticker_change", sticker.pk): ["Stickers", "a warm welcome"],
        ("stickers_sticker_funnel",): ["Stickers", "Funnel"],
        ("stickers_sticker_try",): ["Stickers", "Try a search"],
        ("stickers_sticker_upload",): ["Stickers", "Upload"],
        ("skills_skill_versions", skill.pk): ["Skills", "kindness", "Versions"],
        ("skills_skill_import",): ["Skills", "Import skills"],
        ("core_decision_change", skip.pk): ["Decisions", f"#{skip.pk} skip"],
        ("index",): ["Overview"],
    }
    for (name, *keys), places in expected.items():
        assert way(admin_client, reverse(f"admin:{name}", args=keys)) == places
    assert way(admin_client, reverse("preferences")) == ["Language and time"]


def test_why_the_bot_was_silent_is_the_title(admin_client: Client, chat: Chat) -> None:
    skip = factories.make_decision([factories.make_item(chat)], "skip")
    answer = factories.make_decision([factories.make_item(chat)])
    pages = [reverse("admin:core_decision_change", args=[one.pk]) for one in (skip, answer)]
    asked = "Why silent? Nobody addressed the bot."
    assert title(admin_client, pages[0]) == f"#{skip.pk} skip | {asked} | arise"
    assert title(admin_client, pages[1]) == f"#{answer.pk} answer | Decision | arise"
