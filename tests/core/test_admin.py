"""What operators set in the console: bots, chats and what chats may."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from core import chatsettings, tokens
from core.capabilities import CAPABILITIES, TAGS
from core.models import Bot, CapabilitySetting, Chat
from tests import factories

pytestmark = pytest.mark.django_db

BOTS = "admin:core_bot_changelist"
CHATS = "admin:core_chat_changelist"
LATER, EARLIER = (datetime(year, 1, 1, tzinfo=UTC) for year in (2099, 2020))


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
    data = {"self_id": "10000", "name": "Ann", "initial-enabled": "True"}
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


def chat_form(**fields: str) -> dict[str, str]:
    numbers = {name: str(field.get_default()) for name, field in chatsettings.NUMBERS.items()}
    return {"enabled": "on", **numbers, **fields}


def page_of(owner: Chat | Bot) -> str:
    return reverse(f"admin:core_{owner._meta.model_name}_change", args=[owner.pk])


def form_of(owner: Chat | Bot, **fields: str) -> dict[str, str]:
    """What a page posts when only `fields` were changed on it."""
    own = {"self_id": owner.self_id, "enabled": "on"} if isinstance(owner, Bot) else chat_form()
    return {**own, **{name.replace("__", "."): value for name, value in fields.items()}}


def settings_of(owner: Chat | Bot) -> dict[str, bool]:
    return {f"{row.target}.{row.name}": row.allowed for row in owner.capability_settings.all()}


def test_a_chats_persona_is_set_and_a_page_that_was_open_for_long_undoes_nothing(
    admin_client: Client,
) -> None:
    chat = factories.make_chat()
    admin_client.post(page_of(chat), form_of(chat, persona_override="An owl."))
    chat.refresh_from_db()
    assert chat.persona == "An owl."
    seen = {"initial-persona_override": "An owl.", "persona_override": "An owl."}
    Chat.objects.update(persona_override="A fox.")
    admin_client.post(page_of(chat), {**form_of(chat, patience_seconds="61"), **seen})
    chat.refresh_from_db()
    assert (chat.persona, chat.patience_seconds) == ("A fox.", 61)


@pytest.mark.parametrize("make", [factories.make_chat, factories.make_bot])
def test_a_page_that_was_open_for_long_switches_nothing_back(
    admin_client: Client, make: Callable[[], Chat | Bot]
) -> None:
    row = make()
    page = admin_client.get(page_of(row)).content.decode()
    seen = dict(re.findall(r'name="initial-(\w+)" value="([^"]*)"', page))
    type(row).objects.update(enabled=False)
    shown = {f"initial-{name}": value for name, value in seen.items()}
    assert shown["initial-enabled"] == "True"
    changed = {"patience_seconds": "61"} if isinstance(row, Chat) else {"name": "Bear"}
    admin_client.post(page_of(row), form_of(row, **changed) | shown)
    row.refresh_from_db()
    assert not row.enabled
    assert str(getattr(row, *changed)) == next(iter(changed.values()))


def test_a_mode_that_is_none_is_not_set(admin_client: Client) -> None:
    chat = factories.make_chat(delivery_mode="shadow")
    form = form_of(chat, delivery_mode="") | {"initial-delivery_mode": "shadow"}
    admin_client.post(page_of(chat), form)
    chat.refresh_from_db()
    assert chat.delivery_mode == "shadow"


def test_a_chat_is_set_on_its_page(admin_client: Client, admin_user: User) -> None:
    chat = factories.make_chat()
    form = form_of(chat, sticker_learning="on", patience_seconds="60", switch_recall="off")
    admin_client.post(page_of(chat), form)
    chat.refresh_from_db()
    assert (chat.sticker_learning, chat.patience_seconds) == (True, 60)
    setting = CapabilitySetting.objects.get()
    assert (setting.name, setting.allowed, setting.set_by) == ("recall", False, admin_user)


def list_form(row: Chat | Bot, seen: dict[str, bool], wanted: dict[str, bool]) -> dict[str, str]:
    """What a list of one row posts: what it showed, and what was chosen on it."""
    form = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "form-0-id": str(row.pk)}
    form |= {f"initial-form-0-{name}": str(value) for name, value in seen.items()}
    form |= {f"form-0-{name}": "on" for name, value in (seen | wanted).items() if value}
    return {**form, "_save": "Save"}


def switches_in(page: str) -> dict[str, bool]:
    """The hidden fields of a list that tell what it showed."""
    found = re.findall(r'name="initial-form-0-(\w+)" value="(True|False)"', page)
    return {name: value == "True" for name, value in found}


def test_a_bot_is_switched_off_in_the_list(admin_client: Client) -> None:
    bot = factories.make_bot()
    shown = switches_in(admin_client.get(reverse(BOTS)).content.decode())
    assert shown == {"enabled": True}
    admin_client.post(reverse(BOTS), list_form(bot, shown, {"enabled": False}))
    bot.refresh_from_db()
    assert not bot.enabled


def test_a_key_in_other_digits_is_no_change_of_the_key(admin_client: Client) -> None:
    chat = factories.make_chat()
    form = list_form(chat, {"enabled": True, "sticker_learning": False}, {"enabled": False})
    form["form-0-id"] = "".join(chr(0x660 + int(digit)) for digit in str(chat.pk))
    assert admin_client.post(reverse(CHATS), form).status_code == 302
    chat.refresh_from_db()
    assert not chat.enabled


def test_learning_switched_in_the_list_keeps_who_and_when(
    admin_client: Client, admin_user: User
) -> None:
    chat = factories.make_chat()
    shown = switches_in(admin_client.get(reverse(CHATS)).content.decode())
    assert shown == {"enabled": True, "sticker_learning": False}
    admin_client.post(reverse(CHATS), list_form(chat, shown, {"sticker_learning": True}))
    chat.refresh_from_db()
    assert (chat.enabled, chat.sticker_learning) == (True, True)
    assert chat.sticker_learning_set_by == admin_user
    assert chat.sticker_learning_set_at is not None
    page = admin_client.get(page_of(chat)).content.decode()
    assert f", by <bdi>{admin_user.username}</bdi>" in page


def test_a_list_that_was_open_for_long_undoes_nothing(admin_client: Client) -> None:
    bea = User.objects.create_user("bea")
    chat = factories.make_chat()
    shown = switches_in(admin_client.get(reverse(CHATS)).content.decode())
    chatsettings.apply(chat, chatsettings.parse(["sticker_learning=on"]), by=bea)
    admin_client.post(reverse(CHATS), list_form(chat, shown, {"enabled": False}))
    chat.refresh_from_db()
    assert (chat.enabled, chat.sticker_learning) == (False, True)
    assert chat.sticker_learning_set_by == bea


@pytest.mark.parametrize("by_list", [True, False])
def test_who_switched_the_learning_first_stays_named(admin_client: Client, by_list: bool) -> None:
    bea = User.objects.create_user("bea")
    chat = factories.make_chat()
    seen = {"enabled": True, "sticker_learning": False}
    chatsettings.apply(chat, chatsettings.parse(["sticker_learning=on"]), by=bea)
    if by_list:
        admin_client.post(reverse(CHATS), list_form(chat, seen, {"sticker_learning": True}))
    else:
        data = {"action": "learn_stickers", "_selected_action": [chat.pk]}
        admin_client.post(reverse(CHATS), data)
    chat.refresh_from_db()
    assert (chat.sticker_learning, chat.sticker_learning_set_by) == (True, bea)


def test_many_chats_are_let_learn_and_stopped(admin_client: Client, admin_user: User) -> None:
    chat, other = factories.make_chat(), factories.make_chat()
    for action, learning in (("learn_stickers", True), ("stop_learning_stickers", False)):
        admin_client.post(reverse(CHATS), {"action": action, "_selected_action": [chat.pk]})
        chat.refresh_from_db()
        other.refresh_from_db()
        assert (chat.sticker_learning, other.sticker_learning) == (learning, False)
        assert chat.sticker_learning_set_by == admin_user
        assert LogEntry.objects.filter(object_id=chat.pk, user=admin_user).exists()
        assert other.sticker_learning_set_at is None


@pytest.mark.parametrize("way", ["act", "list", "page"])
@pytest.mark.parametrize("model", ["", "seeing"])
def test_learning_without_a_model_that_sees_is_said_to_come_to_nothing(
    admin_client: Client, settings: Settings, model: str, way: str
) -> None:
    settings.ARISE_VISION_MODEL, settings.ARISE_CHAT_MODEL_KINDS = model, []
    chat = factories.make_chat()
    seen = {"enabled": True, "sticker_learning": False}
    if way == "page":
        page = admin_client.get(page_of(chat))
        assert ("ARISE_VISION_MODEL" in page.content.decode()) == (not model)
        form = form_of(chat, sticker_learning="on")
        answer = admin_client.post(page_of(chat), form, follow=True)
    elif way == "list":
        data = list_form(chat, seen, {"sticker_learning": True})
        answer = admin_client.post(reverse(CHATS), data, follow=True)
    else:
        chosen = {"action": "learn_stickers", "_selected_action": [chat.pk]}
        answer = admin_client.post(reverse(CHATS), chosen, follow=True)
    chat.refresh_from_db()
    assert chat.sticker_learning
    told = [str(message) for message in answer.context["messages"]]
    assert len([one for one in told if "ARISE_VISION_MODEL" in one]) == (0 if model else 1)


def test_who_may_only_look_switches_no_learning(client: Client) -> None:
    chat = factories.make_chat()
    looker = User.objects.create_user("looker", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_chat"))
    client.force_login(looker)
    seen = {"enabled": True, "sticker_learning": False}
    for data in (
        {"action": "learn_stickers", "_selected_action": [chat.pk]},
        list_form(chat, seen, {"sticker_learning": True}),
    ):
        client.post(reverse(CHATS), data)
        chat.refresh_from_db()
        assert not chat.sticker_learning


@pytest.mark.parametrize("make", [factories.make_chat, factories.make_bot])
def test_a_switch_is_set_turned_and_given_back(
    admin_client: Client, make: Callable[[], Chat | Bot]
) -> None:
    owner = make()
    seen = "inherit"
    for state, held in (
        ("on", {"tag.all": True}),
        ("off", {"tag.all": False}),
        ("inherit", {}),
    ):
        form = form_of(owner, switch_tag__all=state, **{"initial-switch_tag__all": seen})
        assert admin_client.post(page_of(owner), form).status_code == 302
        assert settings_of(owner) == held
        seen = state
    (last,) = LogEntry.objects.order_by("-pk")[:1]
    assert "tag.all" in last.get_change_message()


def test_a_page_that_was_open_for_long_undoes_nothing(admin_client: Client) -> None:
    chat = factories.make_chat()
    chat.capability_settings.create(target="cap", name="recall", allowed=False)
    seen = {"initial-switch_recall": "inherit", "switch_recall": "inherit"}
    admin_client.post(page_of(chat), form_of(chat, switch_quote="off", **seen))
    assert settings_of(chat) == {"cap.recall": False, "cap.quote": False}


def test_a_page_shows_every_name_with_its_layers_and_reasons(admin_client: Client) -> None:
    bot = factories.make_bot(platform={"app_name": "Lagrange.OneBot"})
    chat = factories.make_chat(bot)
    by = User.objects.create_user("bea")
    bot.capability_settings.create(target="cap", name="quote", allowed=False, set_by=by)
    chat.capability_settings.create(target="cap", name="recall", allowed=False, set_by=by)
    day = f"{timezone.localdate()}"
    page = html.unescape(admin_client.get(page_of(chat)).content.decode())
    for name in (*CAPABILITIES, *TAGS):
        assert f"cap.{name}</code>" in page or f"tag.{name}</code>" in page
    assert "Lagrange takes files of its own machine only" in page
    assert f"operator bea for all chats of the bot, {day}" in page
    assert f"operator bea, {day}" in page
    assert f"needs recall: operator bea, {day}" in page
    page = html.unescape(admin_client.get(page_of(bot)).content.decode())
    assert "Lagrange reacts in groups only" in page
    assert f"operator bea for all chats of the bot, {day}" in page
    assert f"operator bea, {day}" not in page


def test_a_person_who_may_only_look_is_shown_no_switch(client: Client) -> None:
    chat = factories.make_chat()
    looker = User.objects.create_user("looker", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_chat"))
    client.force_login(looker)
    page = client.get(page_of(chat)).content.decode()
    assert "cap.recall" in page
    assert "<select" not in page
    assert client.post(page_of(chat), form_of(chat, switch_recall="off")).status_code == 403
    assert settings_of(chat) == {}


def test_a_new_bot_has_no_switches_yet(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:core_bot_add")).content.decode()
    assert "switch_" not in page


@pytest.mark.parametrize(
    ("silence", "shown"),
    [
        ({}, "yes"),
        ({"silence_reason": "muted"}, "no: muted<"),
        ({"silence_reason": "muted", "silenced_until": LATER}, "no: muted until 2099-01-01"),
        ({"silence_reason": "muted", "silenced_until": EARLIER}, "yes"),
    ],
)
def test_a_chats_page_says_whether_the_bot_may_speak(
    admin_client: Client, silence: dict[str, Any], shown: str
) -> None:
    chat = factories.make_chat(bot_role="admin", **silence)
    page = admin_client.get(page_of(chat)).content.decode()
    assert f">{shown}" in page
    assert "admin" in page


def test_a_logged_out_bot_may_not_speak(admin_client: Client) -> None:
    chat = factories.make_chat(factories.make_bot(is_logged_out=True))
    assert "no: logged out" in admin_client.get(page_of(chat)).content.decode()


def test_saving_a_chat_leaves_a_running_turns_lease(rf: RequestFactory, admin_user: User) -> None:
    loaded = factories.make_chat()
    request = rf.post("/")
    request.user = admin_user
    page = admin.site._registry[Chat]
    form = page.get_form(request, loaded, change=True)(
        chat_form(patience_seconds="60"), instance=loaded
    )
    row = form.save(commit=False)
    # A worker claims the chat between this request's read and its write.
    Chat.objects.filter(pk=loaded.pk).update(lease_token=9)
    page.save_model(request, row, form, change=True)
    stored = Chat.objects.get()
    assert (stored.patience_seconds, stored.lease_token) == (60, 9)


def test_a_state_that_there_is_none_of_is_refused(admin_client: Client) -> None:
    chat = factories.make_chat()
    page = admin_client.post(page_of(chat), form_of(chat, switch_recall="maybe"))
    assert "is not one of the available choices" in page.content.decode()
    assert not CapabilitySetting.objects.exists()


def test_an_item_tells_why_it_was_not_answered(admin_client: Client) -> None:
    item = factories.make_item()
    factories.make_decision([item], "skip", reason="not_addressed")
    for url in (
        reverse("admin:core_inbounditem_changelist"),
        reverse("admin:core_inbounditem_change", args=[item.pk]),
    ):
        assert "Nobody addressed the bot." in admin_client.get(url).content.decode()


def test_a_chat_leads_to_what_happened_in_it(admin_client: Client) -> None:
    chat = factories.make_chat()
    page = admin_client.get(reverse("admin:core_chat_change", args=[chat.pk])).content.decode()
    for model in ("inbounditem", "turn", "sentmessage", "outboxentry", "decision", "member"):
        assert f"{reverse(f'admin:core_{model}_changelist')}?chat={chat.pk}" in page


def test_the_bytes_of_a_voice_are_shown_by_their_size_alone(admin_client: Client) -> None:
    made = {"payload": b"ID3" + b"\xffsecret" * 300, "parts": [{"type": "voice", "data": {}}]}
    message = factories.make_sent(kind="voice", entry=made)
    assert message.entry is not None
    pages = [
        reverse("admin:core_outboxentry_change", args=[message.entry.pk]),
        reverse("admin:core_outboxentry_changelist"),
        reverse("admin:core_sentmessage_change", args=[message.pk]),
        reverse("admin:core_sentmessage_changelist"),
    ]
    with CaptureQueriesContext(connection) as queries:
        told = [html.unescape(admin_client.get(page).content.decode()) for page in pages]
    assert "2.1\xa0KB" in told[0]
    assert not any("secret" in page for page in told)
    reading = [query["sql"] for query in queries if '"payload"' in query["sql"]]
    assert [sql for sql in reading if "octet_length" not in sql] == []
