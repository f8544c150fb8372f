"""A chat's conversation in the console: whole, in order, escaped, and cheap to keep fresh."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.admin import conversation
from core.media import store
from core.media.pictures import View
from core.models import Chat, Decision, InboundItem, ItemMedia, ModelCallCount, OutboxEntry
from tests import factories

pytestmark = pytest.mark.django_db
HOSTILE = '"><script>alert(1)</script>&amp;{{ 7|add:7 }}'


@pytest.fixture
def chat() -> Chat:
    return factories.make_chat(factories.make_bot(name="Bear"), title="Book club")


def address(chat: Chat) -> str:
    return reverse("admin:core_chat_conversation", args=[chat.pk])


def shown(client: Client, chat: Chat, **asked: str) -> str:
    answer = client.get(address(chat), {"part": "lines", **asked})
    assert answer.status_code == 200
    return answer.content.decode()


def keys(told: str) -> list[str]:
    return re.findall(r'<li id="line-(\w+)"', told)


def test_people_and_the_bot_stand_in_the_order_of_time(admin_client: Client, chat: Chat) -> None:
    item = factories.make_item(chat, "good morning")
    said = factories.make_sent(chat, "morning!", turn=factories.make_turn(chat))
    poke = factories.make_item(chat, "", kind="poke", target_id="10000")
    told = shown(admin_client, chat)
    assert keys(told) == [f"i{item.pk}", f"m{said.pk}", f"i{poke.pk}"]
    for words in ("good morning", "morning!", said.handle, 'pokes <span title="10000"><bdi>10000<'):
        assert words in told
    assert reverse("admin:core_turn_change", args=[said.turn_id]) in told


def test_who_is_mentioned_or_poked_is_named(admin_client: Client, chat: Chat) -> None:
    factories.make_member(chat, user_id="1000", name="小明")
    factories.make_member(user_id="1001", name="of another chat")
    told = [("1000", ""), (chat.bot.self_id, ""), ("1001", ""), ("1002", "as told"), ("all", "")]
    parts = [
        {"type": "mention", "data": {"id": one} | ({"name": name} if name else {})}
        for one, name in told
    ]
    item = factories.make_item(chat, "", parts=parts, mentions=[one for one, _ in told])
    poke = factories.make_item(chat, "", kind="poke", target_id="1000")
    own = factories.make_entry(chat=chat, action="poke", subject="1000")
    spoken = [{"type": "text", "data": {"text": "hi "}}, parts[0]]
    factories.make_sent(chat, "hi @user:1000", entry={"parts": spoken})
    factories.make_sent(chat, "waits", "pending", entry={"held": "review"})
    names = ["@小明", "@Bear", "@1001", "@as told", "@everybody"]
    pages = [
        address(chat),
        reverse("admin:core_inbounditem_changelist"),
        reverse("admin:core_inbounditem_change", args=[item.pk]),
        reverse("admin:core_outboxentry_review"),
    ]
    for page in pages:
        shown_there = admin_client.get(page).content.decode()
        for (account, _), name in zip(told, names, strict=True):
            assert f'title="{account}">{name}<' in shown_there, (page, name)
    talk = shown(admin_client, chat)
    assert re.search(r'pokes <span title="1000"><bdi>小明</bdi>', talk)
    assert re.search(r'hi <span title="1000">@小明<', talk)
    for row in (poke, own):
        page = reverse(f"admin:core_{row._meta.model_name}_changelist")
        assert (
            '<span title="1000"><bdi>小明</bdi></span>' in admin_client.get(page).content.decode()
        )
    of_poke = reverse("admin:core_inbounditem_change", args=[poke.pk])
    assert '<span title="1000"><bdi>小明</bdi></span>' in admin_client.get(of_poke).content.decode()


def test_what_strangers_write_is_only_text(admin_client: Client, chat: Chat) -> None:
    parts = [
        {"type": "text", "data": {"text": HOSTILE}},
        {"type": "mention", "data": {"id": HOSTILE, "name": HOSTILE}},
        {"type": "face", "data": {"id": HOSTILE}},
        {"type": "file", "data": {"name": HOSTILE}},
        {"type": HOSTILE, "data": None},
    ]
    item = factories.make_item(chat, HOSTILE, sender_name=HOSTILE, parts=parts, reply_to="x")
    factories.make_item(
        chat, "", kind="reaction", sender_name=HOSTILE, emoji=[HOSTILE],
        target_id=item.platform_message_id,
    )  # fmt: skip
    factories.make_sent(chat, HOSTILE, "failed", entry={"reason": HOSTILE[:40], "error": HOSTILE})
    factories.make_turn(chat, state="silent", silence_reason=HOSTILE)
    told = shown(admin_client, chat)
    assert "<script>" not in told
    assert "&lt;script&gt;" in told
    assert "{{ 7|add:7 }}" in told


def test_a_reaction_stands_under_its_message_until_it_is_taken_back(
    admin_client: Client, chat: Chat
) -> None:
    message = factories.make_item(chat, "look")
    said = factories.make_sent(chat, "mine")
    assert said.entry
    for target in (message.platform_message_id, said.entry.platform_message_id):
        factories.make_item(chat, "", kind="reaction", emoji=["128077"], target_id=target)
    own = factories.make_entry(
        chat=chat, action="reaction", subject=message.platform_message_id,
        parts=[{"type": "reaction", "data": {"emoji": "76"}}],
    )  # fmt: skip
    told = shown(admin_client, chat)
    assert keys(told) == [f"i{message.pk}", f"m{said.pk}"]
    assert told.count("👍") == 2
    assert "face 76" in told
    factories.make_item(chat, "", kind="reaction", emoji=["128077"], removed=True, target_id=target)
    own.delete()
    told = shown(admin_client, chat)
    assert told.count("👍") == 1
    assert "face 76" not in told


@pytest.mark.parametrize("code", ["55296", "8238"])
def test_a_reaction_that_is_no_character_to_show_is_a_number(
    admin_client: Client, chat: Chat, code: str
) -> None:
    message = factories.make_item(chat, "look")
    target = message.platform_message_id
    factories.make_item(chat, "", kind="reaction", emoji=[code], target_id=target)
    assert f"face {code}" in shown(admin_client, chat)


def test_a_reaction_to_what_is_not_on_the_page_is_a_line(admin_client: Client, chat: Chat) -> None:
    item = factories.make_item(chat, "", kind="reaction", emoji=["76"], target_id="77777")
    told = shown(admin_client, chat)
    assert keys(told) == [f"i{item.pk}"]
    assert "reacts to something said earlier" in told


def test_a_refusal_of_the_platform_is_told_as_such(admin_client: Client, chat: Chat) -> None:
    factories.make_sent(chat, "words", "failed", entry={"reason": "refused"})
    assert "The platform refused it." in shown(admin_client, chat)


def test_the_list_of_items_says_what_people_did(admin_client: Client, chat: Chat) -> None:
    factories.make_item(chat, "", kind="poke", target_id="10000")
    factories.make_item(chat, "", kind="reaction", emoji=["128077"], target_id="77777")
    factories.make_item(chat, "", parts=[{"type": "sticker", "data": {}}])
    told = admin_client.get(reverse("admin:core_inbounditem_changelist")).content.decode()
    assert '(pokes <span title="10000"><bdi>10000</bdi></span>)' in told
    for words in ("👍", "[sticker]"):
        assert f"<bdi>{words}</bdi>" in told


def test_items_lead_to_their_decision(admin_client: Client, chat: Chat) -> None:
    asked, chatter, new = [factories.make_item(chat, str(number)) for number in range(3)]
    turn = factories.make_turn(chat)
    factories.make_decision([asked], turn=turn)
    skipped = factories.make_decision([chatter], "skip")
    Chat.objects.update(judged_item_id=chatter.pk)
    told = shown(admin_client, chat)
    first, second, third = (told.index(f'id="line-i{one.pk}"') for one in (asked, chatter, new))
    assert first < told.index(f"Answered by turn #{turn.pk}") < second
    assert second < told.index("Not answered: Nobody addressed the bot.") < third
    assert reverse("admin:core_decision_change", args=[skipped.pk]) in told
    assert third < told.index("Not judged yet")


def test_what_was_taken_back_is_struck_through_and_shows_no_picture(
    admin_client: Client, chat: Chat
) -> None:
    view = store.put_view(View("image/png", b"\x89PNG", 1, 1))
    item = factories.make_item(chat, "", parts=[{"type": "image", "data": {}}])
    ItemMedia.objects.create(item=item, index=0, view=view)
    url = reverse("admin:core_chat_picture", args=[chat.pk, item.pk, 0])
    assert f'src="{url}"' in shown(admin_client, chat)
    assert admin_client.get(url).content == b"\x89PNG"
    InboundItem.objects.update(recalled_at=timezone.now())
    factories.make_sent(chat, "sorry", "recalled")
    told = shown(admin_client, chat)
    assert url not in told
    assert told.count(" gone") == 2
    assert admin_client.get(url).status_code == 404


def test_why_something_waits_is_said_in_words(admin_client: Client, chat: Chat) -> None:
    factories.make_sent(chat, "hm", "pending", edits=2)
    Chat.objects.update(silence_reason="whole_group_muted")
    told = shown(admin_client, chat)
    assert "It waits: the whole group is muted." in told
    assert "edited 2 times" in told


def test_days_pauses_and_gaps_are_marked(admin_client: Client, chat: Chat) -> None:
    now = timezone.now().replace(hour=12, minute=30)
    times = (now - timedelta(days=2), now - timedelta(hours=2), now)
    for number, at in enumerate(times):
        factories.make_item(chat, "x", received_at=at, platform_sequence=str(10 + number))
    Chat.objects.update(gap_after=10)
    told = shown(admin_client, chat)
    assert told.count("arise-between") == 4  # two days, a pause, a gap
    assert told.count('arise-between">12:30<') == 1
    assert told.count("Words may be missing here") == 1


def test_earlier_pages_tell_every_line_once(admin_client: Client, chat: Chat) -> None:
    start = timezone.now() - timedelta(days=1)
    for number in range(130):
        at = start + timedelta(minutes=number)
        if number % 3:
            # Some of them with times that run backwards against their keys.
            shuffled = at - timedelta(minutes=10 if number % 5 == 0 else 0)
            factories.make_item(chat, "x", received_at=shuffled)
        else:
            factories.make_sent(chat, "y", created_at=at)
    seen: list[str] = []
    asked: dict[str, str] = {}
    for lines in (50, 50, 30):
        told = shown(admin_client, chat, **asked)
        assert len(keys(told)) == lines
        seen += keys(told)
        earlier = re.search(r"\?before=([\d-]+)", told)
        asked = {"before": earlier[1]} if earlier else {}
    assert not asked
    assert len(set(seen)) == 130


@pytest.mark.parametrize("before", ["x", "1-2", "1-2-3-4", "1-2--3", f"1-2-{'9' * 30}"])
def test_an_odd_cursor_is_not_found(admin_client: Client, chat: Chat, before: str) -> None:
    assert admin_client.get(address(chat), {"before": before}).status_code == 404


def change_of_item(chat: Chat) -> Any:
    return InboundItem.objects.filter(chat=chat).update(recalled_at=timezone.now())


CHANGES: dict[str, Callable[[Chat], Any]] = {
    "new item": lambda chat: factories.make_item(chat),
    "recall": change_of_item,
    "new words": lambda chat: factories.make_sent(chat),
    "sent": lambda chat: OutboxEntry.objects.filter(message__isnull=False).update(state="unknown"),
    "held": lambda chat: OutboxEntry.objects.update(held="muted"),
    "reworded": lambda chat: OutboxEntry.objects.update(content="other words"),
    "gesture": lambda chat: factories.make_entry(chat=chat, action="poke", subject="1"),
    "judged": lambda chat: factories.make_decision(list(chat.items.order_by("pk")), "skip"),
    "turn": lambda chat: factories.make_turn(chat),
    "paused": lambda chat: Chat.objects.update(paused_at=timezone.now()),
    "picture": lambda chat: ItemMedia.objects.create(item=chat.items.get(), index=0, view="a"),
    "logged out": lambda chat: type(chat.bot).objects.update(is_logged_out=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_not_changed_is_not_sent_again(
    admin_client: Client, chat: Chat, change: str
) -> None:
    factories.make_item(chat)
    factories.make_sent(chat)
    first = admin_client.get(address(chat), {"part": "lines"})
    has = {"If-None-Match": first.headers["ETag"]}
    with CaptureQueriesContext(connection) as queries:
        again = admin_client.get(address(chat), {"part": "lines"}, headers=has)
    assert (again.status_code, again.content) == (304, b"")
    assert len(queries) <= 7
    CHANGES[change](chat)
    assert admin_client.get(address(chat), {"part": "lines"}, headers=has).status_code == 200


def test_it_is_sent_again_when_the_bot_is_connected(admin_client: Client, chat: Chat) -> None:
    factories.make_sent(chat, state="pending")
    first = admin_client.get(address(chat), {"part": "lines"})
    assert "It waits: the bot is not connected." in first.content.decode()
    factories.make_connection(chat.bot)
    has = {"If-None-Match": first.headers["ETag"]}
    again = admin_client.get(address(chat), {"part": "lines"}, headers=has)
    assert again.status_code == 200
    assert "It waits" not in again.content.decode()


def test_it_costs_as_many_queries_for_much_as_for_little(admin_client: Client, chat: Chat) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            shown(admin_client, chat)
        return len(queries)

    def more() -> None:
        item = factories.make_item(chat, parts=[{"type": "image", "data": {}}], reply_to="7")
        ItemMedia.objects.create(item=item, index=0, view=f"{item.pk:064}")
        factories.make_decision([item], "skip")
        factories.make_sent(chat, turn=factories.make_turn(chat, state="silent"))
        factories.make_entry(chat=chat, action="poke", subject="1")
        factories.make_item(
            chat, "", kind="reaction", emoji=["76"], target_id=item.platform_message_id
        )

    more()
    few = cost()
    for _ in range(20):
        more()
    assert cost() == few <= 24


@pytest.mark.parametrize(
    ("reason", "words", "advice"),
    [
        ("not_addressed", "Nobody addressed the bot.", "mentions it"),
        ("budget_spent", "model calls of the day were spent", "Raise"),
        ("muted", "The bot was muted", "administrator"),
        ("what_is_new", "what_is_new", ""),
    ],
)
def test_why_it_was_silent_is_told_in_words(
    admin_client: Client, chat: Chat, reason: str, words: str, advice: str
) -> None:
    decision = factories.make_decision([factories.make_item(chat)], "skip", reason=reason)
    told = shown(admin_client, chat)
    told = told[told.index("Why silent?") : told.index("data-lines")]
    assert words in told
    assert advice in told
    assert reverse("admin:core_decision_change", args=[decision.pk]) in told


def test_a_turn_that_said_nothing_is_a_silence_too(admin_client: Client, chat: Chat) -> None:
    factories.make_turn(chat, state="silent", silence_reason="they talk among themselves")
    factories.make_turn(chat, state="failed", error="rate_limited", error_detail="HTTP 429: quota")
    told = shown(admin_client, chat)
    assert "they talk among themselves" in told
    assert "HTTP 429: quota" in told


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"enabled": False}, "The chat was disabled."),
        ({"paused_at": timezone.now()}, "The bot or the chat was paused."),
        ({"delivery_mode": "shadow"}, "The chat is in shadow"),
        ({"silence_reason": "muted"}, "The bot was muted"),
        ({"daily_model_calls": 2}, "model calls of the day were spent"),
    ],
)
def test_what_stands_in_its_way_now_comes_first(
    admin_client: Client, chat: Chat, fields: dict[str, Any], words: str
) -> None:
    ModelCallCount.objects.create(chat=chat, day=timezone.localdate(), calls=2)
    assert "arise-why-now" not in shown(admin_client, chat)
    Chat.objects.update(**fields)
    told = shown(admin_client, chat)
    assert words in told[told.index("arise-why-now") : told.index("data-lines")]


def test_a_chats_page_shows_it_to_who_may_read(
    client: Client, admin_client: Client, chat: Chat
) -> None:
    factories.make_item(chat, "a secret")
    page = reverse("admin:core_chat_change", args=[chat.pk])
    assert "a secret" in admin_client.get(page).content.decode()
    assert "a secret" in admin_client.get(address(chat)).content.decode()
    person = User.objects.create(username="half", is_staff=True)
    readable = ("view_chat", "view_inbounditem")
    person.user_permissions.set(Permission.objects.filter(codename__in=readable))
    client.force_login(person)
    assert "a secret" not in client.get(page).content.decode()
    assert client.get(address(chat)).status_code == 403


def test_the_version_is_the_chats_own(chat: Chat) -> None:
    before = conversation.version(chat)
    other = factories.make_chat()
    factories.make_decision([factories.make_item(other)], Decision.Verdict.SKIP)
    factories.make_sent(other)
    assert conversation.version(chat) == before
