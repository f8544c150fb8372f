"""What operators set in the console: bots, chats and what chats may."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse

from core import tokens
from core.models import Bot, CapabilitySetting, Chat
from tests import factories

pytestmark = pytest.mark.django_db

BOTS = "admin:core_bot_changelist"
CHATS = "admin:core_chat_changelist"


def shown_token(page: str) -> str:
    found = re.findall(r'<code class="arise-token">([^<]+)</code>', page)
    assert len(found) == 1
    return str(found[0])


def add(client: Client, **fields: str) -> str:
    data = {"self_id": "10000", "enabled": "on", **fields}
    return client.post(reverse("admin:core_bot_add"), data, follow=True).content.decode()


def test_a_new_bots_token_is_shown_once_and_kept_as_a_hash(admin_client: Client) -> None:
    token = shown_token(add(admin_client))
    bot = Bot.objects.get()
    assert tokens.matches(bot.token_hash, token)
    for url in (reverse(BOTS), reverse("admin:core_bot_change", args=[bot.pk])):
        page = admin_client.get(url).content.decode()
        assert token not in page
        assert bot.token_hash not in page


def test_a_bot_is_added_with_its_persona(admin_client: Client) -> None:
    add(admin_client, name="小艾", persona="A cat.", chat_model="other")
    bot = Bot.objects.get()
    assert (bot.name, bot.persona, bot.chat_model) == ("小艾", "A cat.", "other")


def test_saving_again_leaves_the_token(admin_client: Client) -> None:
    token = shown_token(add(admin_client))
    bot = Bot.objects.get()
    data = {"self_id": "10000", "name": "Ann"}
    url = reverse("admin:core_bot_change", args=[bot.pk])
    assert "arise-token" not in admin_client.post(url, data, follow=True).content.decode()
    bot.refresh_from_db()
    assert (bot.name, bot.enabled) == ("Ann", False)
    assert tokens.matches(bot.token_hash, token)


def test_a_new_token_ends_the_old_one(admin_client: Client) -> None:
    old = shown_token(add(admin_client))
    bot = Bot.objects.get()
    data = {"action": "new_token", "_selected_action": [bot.pk]}
    new = shown_token(admin_client.post(reverse(BOTS), data, follow=True).content.decode())
    bot.refresh_from_db()
    assert tokens.matches(bot.token_hash, new)
    assert not tokens.matches(bot.token_hash, old)


def test_an_account_is_put_right_only_before_it_has_chats(admin_client: Client) -> None:
    bot = factories.make_bot("10000")
    url = reverse("admin:core_bot_change", args=[bot.pk])
    admin_client.post(url, {"self_id": "10001", "enabled": "on"})
    bot.refresh_from_db()
    assert bot.self_id == "10001"
    factories.make_chat(bot)
    admin_client.post(url, {"self_id": "10002", "enabled": "on"})
    bot.refresh_from_db()
    assert bot.self_id == "10001"


def test_chats_are_switched_in_the_list(admin_client: Client) -> None:
    chat, other = factories.make_chat(), factories.make_chat()
    for action, enabled in (("disable", False), ("enable", True)):
        data = {"action": action, "_selected_action": [chat.pk]}
        admin_client.post(reverse(CHATS), data)
        chat.refresh_from_db()
        other.refresh_from_db()
        assert (chat.enabled, other.enabled) == (enabled, True)


def chat_form(chat: Chat, **fields: str) -> dict[str, str]:
    return {
        "enabled": "on",
        "patience_seconds": "600",
        "daily_model_calls": "500",
        "capability_settings-TOTAL_FORMS": "0",
        "capability_settings-INITIAL_FORMS": "0",
        **fields,
    }


def setting_form(name: str, target: str = "cap") -> dict[str, str]:
    return {
        "capability_settings-TOTAL_FORMS": "1",
        "capability_settings-0-target": target,
        "capability_settings-0-name": name,
    }


def test_a_chat_is_set_on_its_page(admin_client: Client, admin_user: User) -> None:
    chat = factories.make_chat()
    form = chat_form(chat, sticker_learning="on", patience_seconds="60", **setting_form("recall"))
    admin_client.post(reverse("admin:core_chat_change", args=[chat.pk]), form)
    chat.refresh_from_db()
    assert (chat.sticker_learning, chat.patience_seconds) == (True, 60)
    setting = CapabilitySetting.objects.get()
    assert (setting.name, setting.allowed, setting.set_by) == ("recall", False, admin_user)


def test_saving_a_chat_leaves_a_running_turns_lease(rf: RequestFactory, admin_user: User) -> None:
    loaded = factories.make_chat()
    request = rf.post("/")
    request.user = admin_user
    page = admin.site._registry[Chat]
    form = page.get_form(request, loaded, change=True)(
        chat_form(loaded, patience_seconds="60"), instance=loaded
    )
    row = form.save(commit=False)
    # A worker claims the chat between this request's read and its write.
    Chat.objects.filter(pk=loaded.pk).update(lease_token=9)
    page.save_model(request, row, form, change=True)
    stored = Chat.objects.get()
    assert (stored.patience_seconds, stored.lease_token) == (60, 9)


@pytest.mark.parametrize(("target", "name"), [("cap", "fly"), ("tag", "recall")])
def test_a_name_that_nothing_reads_is_refused(admin_client: Client, target: str, name: str) -> None:
    chat = factories.make_chat()
    url = reverse("admin:core_chat_change", args=[chat.pk])
    page = admin_client.post(url, chat_form(chat, **setting_form(name, target)))
    assert "Known names" in page.content.decode()
    assert not CapabilitySetting.objects.exists()


def test_an_item_tells_why_it_was_not_answered(admin_client: Client) -> None:
    item = factories.make_item()
    factories.make_decision([item], "skip", reason="not_addressed")
    for url in (
        reverse("admin:core_inbounditem_changelist"),
        reverse("admin:core_inbounditem_change", args=[item.pk]),
    ):
        assert "not_addressed" in admin_client.get(url).content.decode()


def test_a_chat_leads_to_what_happened_in_it(admin_client: Client) -> None:
    chat = factories.make_chat()
    page = admin_client.get(reverse("admin:core_chat_change", args=[chat.pk])).content.decode()
    for model in ("inbounditem", "turn", "sentmessage", "outboxentry", "decision", "member"):
        assert f"{reverse(f'admin:core_{model}_changelist')}?chat={chat.pk}" in page
