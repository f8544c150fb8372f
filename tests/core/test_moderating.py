"""The console's pages on which somebody decides about the bot's words, or pauses it."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from auditlog.models import LogEntry as Change
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from core import by_hand, capabilities
from core.admin import display
from core.capabilities import Ability, Platform
from core.models import Bot, Chat, OutboxEntry, SentMessage
from tests import factories

pytestmark = pytest.mark.django_db
REVIEW = reverse("admin:core_outboxentry_review")
LONG_AGO = timezone.now() - timedelta(hours=1)


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    can = {"recall": Ability(True)}
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform(can, recall_seconds=120))


@pytest.fixture
def chat() -> Chat:
    return factories.make_chat(delivery_mode="review")


@pytest.fixture
def viewer(client: Client) -> Client:
    rights = ("view_outboxentry", "view_sentmessage", "view_chat", "view_bot")
    person = User.objects.create(username="viewer", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client.force_login(person)
    return client


def held(chat: Chat, content: str = "words", **fields: Any) -> OutboxEntry:
    made = {"held": "review", **fields}
    return current(factories.make_sent(chat, content, "pending", entry=made))


def current(message: SentMessage) -> OutboxEntry:
    assert message.entry is not None
    return message.entry


def stands(entry: OutboxEntry) -> tuple[str, str, str]:
    entry.refresh_from_db()
    return entry.state, entry.held, entry.content


def decide(client: Client, entry: OutboxEntry, decision: str, **fields: str) -> Any:
    url = reverse("admin:core_outboxentry_decide", args=[entry.pk])
    posted = {"decision": decision, "seen": by_hand.digest(entry), **fields}
    return client.post(url, posted, follow=True)


def told(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def history(row: Any) -> list[str]:
    entries = LogEntry.objects.filter(
        object_id=str(row.pk), content_type__model=row._meta.model_name
    )
    return [entry.get_change_message() for entry in entries]


def text_of(answer: Any) -> str:
    return str(answer.content.decode())


# The queue.
def test_the_queue_has_what_waits_of_all_chats_oldest_first(
    admin_client: Client, chat: Chat
) -> None:
    first = held(chat, "said first")
    held(factories.make_chat(), "said second")
    factories.make_sent(chat, "not held", "pending")
    page = text_of(admin_client.get(REVIEW))
    assert page.index("said first") < page.index("said second")
    assert "not held" not in page
    assert by_hand.digest(first) in page


def test_the_queue_of_one_chat(admin_client: Client, chat: Chat) -> None:
    held(chat, "of this one")
    held(factories.make_chat(), "of another")
    page = text_of(admin_client.get(REVIEW, {"chat": chat.pk}))
    assert "of this one" in page
    assert "of another" not in page


def test_a_card_has_the_words_around_it(admin_client: Client, chat: Chat) -> None:
    factories.make_item(chat, "what do you <think>?")
    factories.make_sent(chat, "said before")
    held(chat, "said now")
    page = text_of(admin_client.get(REVIEW))
    assert "what do you &lt;think&gt;?" in page
    assert "said before" in page


def test_a_change_of_what_was_said_is_one_card_with_both(admin_client: Client, chat: Chat) -> None:
    message = factories.make_sent(chat, "old words")
    recall = factories.make_entry(
        message, action="recall", target=current(message), content="", held="review"
    )
    factories.make_entry(message, content="new words", waits_for=recall, held="review")
    answer = admin_client.get(REVIEW)
    assert len(answer.context["cards"]) == 1
    assert "old words" in text_of(answer)
    assert "new words" in text_of(answer)


def test_queries_do_not_grow_with_what_waits(admin_client: Client, chat: Chat) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            admin_client.get(REVIEW)
        return len(queries)

    factories.make_item(chat)
    held(chat)
    count()
    few = count()
    for _ in range(5):
        other = factories.make_chat()
        factories.make_item(other)
        held(other)
        held(other)
    assert count() == few


def test_approving_lets_it_go_and_keeps_who(
    admin_client: Client, admin_user: User, chat: Chat
) -> None:
    entry = held(chat)
    answer = decide(admin_client, entry, "approve", text="words")
    assert told(answer) == ["Approved. It waits: the bot is not connected."]
    assert stands(entry) == ("pending", "", "words")
    assert entry.decided_by == admin_user
    assert history(entry) == history(entry.message) == ["Approved."]


def test_approving_other_words_is_in_the_history_and_no_word_is(
    admin_client: Client, chat: Chat
) -> None:
    entry = held(chat, "rude")
    decide(admin_client, entry, "approve", text="kind")
    assert stands(entry) == ("pending", "", "kind")
    assert history(entry) == ["Approved with other words."]


def test_discarding(admin_client: Client, chat: Chat) -> None:
    entry = held(chat)
    decide(admin_client, entry, "discard")
    assert stands(entry)[0] == "discarded"
    assert history(entry) == ["Discarded by hand."]


def test_who_comes_second_is_told_and_changes_nothing(
    admin_client: Client, admin_user: User, chat: Chat
) -> None:
    entry = held(chat)
    seen = by_hand.digest(entry)
    decide(admin_client, entry, "approve")
    answer = decide(admin_client, entry, "discard", seen=seen)
    assert told(answer) == ["admin has approved it already. Nothing was changed."]
    assert history(entry) == ["Approved."]


def test_it_leads_back_to_pages_of_this_site_alone(admin_client: Client, chat: Chat) -> None:
    answer = decide(admin_client, held(chat), "approve", back="https://evil.example/")
    assert answer.redirect_chain[-1][0] == REVIEW
    back = f"{REVIEW}?chat={chat.pk}"
    answer = decide(admin_client, held(chat), "approve", back=back)
    assert answer.redirect_chain[-1][0] == back


# Who may.
def test_a_viewer_sees_the_queue_and_no_button(viewer: Client, chat: Chat) -> None:
    held(chat, "look at me")
    page = text_of(viewer.get(REVIEW))
    assert "look at me" in page
    assert 'name="decision"' not in page


ADDRESSES = ["decide", "edit", "confirm", "pause_chat", "pause_bot", "action"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_viewer_decides_nothing(viewer: Client, chat: Chat, address: str, method: str) -> None:
    entry = held(chat)
    urls = {
        "decide": reverse("admin:core_outboxentry_decide", args=[entry.pk]),
        "edit": reverse("admin:core_outboxentry_edit", args=[entry.pk]),
        "confirm": reverse("admin:core_outboxentry_confirm", args=["discard"]),
        "pause_chat": reverse("admin:core_chat_pause", args=[chat.pk]),
        "pause_bot": reverse("admin:core_bot_pause", args=[chat.bot_id]),
        "action": reverse("admin:core_outboxentry_changelist"),
    }
    posted = {
        "decision": "pause" if "pause" in address else "approve",
        "seen": by_hand.digest(entry),
        "text": "x",
        "pick": f"{entry.pk}:{by_hand.digest(entry)}",
        "action": "discard",
        "_selected_action": str(entry.pk),
    }
    if method == "get":
        if address == "action":
            return
        assert viewer.get(urls[address]).status_code in (403, 405)
    else:
        assert viewer.post(urls[address], posted).status_code == 403
    assert stands(entry) == ("pending", "review", "words")
    assert not Chat.objects.filter(paused_at__isnull=False).exists()


# Many at once.
def tick(*entries: OutboxEntry) -> list[str]:
    return [f"{entry.pk}:{by_hand.digest(entry)}" for entry in entries]


def test_a_list_asks_before_it_discards_what_waits(admin_client: Client, chat: Chat) -> None:
    waiting, sent = held(chat, "waits"), current(factories.make_sent(chat, "is out"))
    posted = {"action": "discard", "_selected_action": [waiting.pk, sent.pk]}
    url = reverse("admin:core_outboxentry_changelist")
    asked = admin_client.post(url, posted, follow=True)
    assert "waits" in text_of(asked)
    assert "is out" not in text_of(asked)
    assert stands(waiting)[0] == "pending"
    confirm = asked.redirect_chain[-1][0]
    answer = admin_client.post(confirm, {"pick": tick(waiting)}, follow=True)
    assert told(answer) == ["1 was discarded."]
    assert answer.redirect_chain[-1][0] == url
    assert stands(waiting)[0] == "discarded"


def test_the_sent_log_takes_back_many(admin_client: Client) -> None:
    messages = [factories.make_sent(content=f"said {number}") for number in range(2)]
    posted = {"action": "take_back", "_selected_action": [message.pk for message in messages]}
    url = reverse("admin:core_sentmessage_changelist")
    asked = admin_client.post(url, posted, follow=True)
    picks = tick(*(current(message) for message in messages))
    answer = admin_client.post(asked.redirect_chain[-1][0], {"pick": picks}, follow=True)
    assert told(answer) == ["2 are being taken back. It waits: the bot is not connected."]
    assert OutboxEntry.objects.filter(action="recall", by_hand=True).count() == 2
    assert history(messages[0]) == ["Taken back by hand."]


def test_before_many_are_taken_back_it_is_said_which_can_not_be(admin_client: Client) -> None:
    late = current(factories.make_sent(content="late", entry={"sending_at": LONG_AGO}))
    fresh = current(factories.make_sent(content="fresh"))
    url = reverse("admin:core_outboxentry_confirm", args=["recall"])
    page = text_of(admin_client.get(url, {"entry": [late.pk, fresh.pk]}))
    assert "only within 120 s" in page
    assert [by_hand.digest(one) in page for one in (late, fresh)] == [False, True]
    button = "Take it back</button>"
    assert button in page
    assert button not in text_of(admin_client.get(url, {"entry": late.pk}))


def test_the_sent_log_discards_what_waits_of_messages(admin_client: Client, chat: Chat) -> None:
    entry = held(chat)
    posted = {"action": "discard", "_selected_action": [entry.message_id]}
    url = reverse("admin:core_sentmessage_changelist")
    asked = admin_client.post(url, posted, follow=True)
    admin_client.post(asked.redirect_chain[-1][0], {"pick": tick(entry)})
    assert stands(entry)[0] == "discarded"


def test_all_of_a_chat_is_let_go_as_it_was_shown(admin_client: Client, chat: Chat) -> None:
    first, second = held(chat, "one"), held(chat, "two")
    url = f"{reverse('admin:core_outboxentry_confirm', args=['approve'])}?chat={chat.pk}"
    assert text_of(admin_client.get(url)).count('name="pick"') == 2
    picks = tick(first, second)
    OutboxEntry.objects.filter(pk=second.pk).update(content="changed meanwhile")
    answer = admin_client.post(url, {"pick": picks}, follow=True)
    assert told(answer)[0] == "1 was approved. It waits: the bot is not connected."
    assert (stands(first)[1], stands(second)[1]) == ("", "review")


def test_an_odd_tick_does_nothing_worse_than_a_plain_one(admin_client: Client, chat: Chat) -> None:
    entry = held(chat)
    url = reverse("admin:core_outboxentry_confirm", args=["approve"])
    picks = [f"0{entry.pk}:x", "abc:x", f"{'9' * 5000}:x", ":", "1"]
    assert admin_client.post(url, {"pick": picks}).status_code == 302
    assert stands(entry)[1] == "review"


def test_the_way_back_is_an_address(admin_client: Client, chat: Chat) -> None:
    answer = decide(admin_client, held(chat), "approve", back="nowhere")
    assert answer.status_code == 200
    assert answer.redirect_chain == [(REVIEW, 302)]


def test_a_nul_is_no_fault_and_ends_of_lines_are_plain(admin_client: Client, chat: Chat) -> None:
    typed, kept = "one\r\n\0two", "one\n\ufffdtwo"
    waits, is_out = held(chat), current(factories.make_sent(content="old"))
    for entry in (waits, is_out):
        url = reverse("admin:core_outboxentry_edit", args=[entry.pk])
        posted = {"text": typed, "seen": by_hand.digest(entry)}
        assert admin_client.post(url, posted).status_code == 302
    assert stands(waits)[2] == kept
    assert OutboxEntry.objects.latest("pk").content == kept
    approved = held(chat)
    decide(admin_client, approved, "approve", text=typed)
    assert stands(approved)[2] == kept


def test_what_is_gone_meanwhile_is_said(admin_client: Client) -> None:
    entry = current(factories.make_sent())
    url = reverse("admin:core_outboxentry_confirm", args=["discard"])
    answer = admin_client.get(url, {"entry": entry.pk}, follow=True)
    assert told(answer) == ["There is nothing left to which that can be done."]


@pytest.mark.parametrize(
    ("field", "value", "shown"), [("held", "review", 1), ("held", "paused", 0)]
)
def test_the_outbox_is_filtered_by_what_holds(
    admin_client: Client, chat: Chat, field: str, value: str, shown: int
) -> None:
    held(chat)
    factories.make_sent(chat, state="discarded", entry={"held": "review"})
    answer = admin_client.get(reverse("admin:core_outboxentry_changelist"), {field: value})
    assert answer.context["cl"].result_count == shown


# What becomes of what was let go, and why what is pending does not leave.
def test_what_was_let_go_goes_out_where_the_bot_is_connected(
    admin_client: Client, chat: Chat
) -> None:
    factories.make_connection(chat.bot)
    answer = decide(admin_client, held(chat), "approve")
    assert told(answer) == ["Approved. It goes out as soon as it is its turn."]


WAITING = [
    ({}, {}, "the bot is not connected"),
    ({}, {"paused_at": timezone.now()}, "the bot or the chat is paused"),
    ({}, {"silence_reason": "muted"}, "the bot is muted in the group"),
    ({}, {"silence_reason": "whole_group_muted"}, "the whole group is muted"),
    ({}, {"silence_reason": "removed"}, "the bot is not in the group any more"),
    ({}, {"enabled": False}, "the chat is disabled"),
    ({"enabled": False}, {}, "the bot is disabled"),
    ({"paused_at": timezone.now()}, {}, "the bot or the chat is paused"),
    ({"is_logged_out": True}, {}, "the platform has the account logged out"),
]


@pytest.mark.parametrize(("of_bot", "of_chat", "why"), WAITING)
def test_every_page_says_why_what_is_pending_waits(
    admin_client: Client, of_bot: dict[str, Any], of_chat: dict[str, Any], why: str
) -> None:
    chat = factories.make_chat(factories.make_bot(**of_bot), **of_chat)
    if why != "the bot is not connected":
        factories.make_connection(chat.bot)
    turn = factories.make_turn(chat)
    message = factories.make_sent(chat, "words", "pending", turn=turn)
    held(chat, "in review")
    pages = [
        reverse("admin:core_sentmessage_changelist"),
        reverse("admin:core_outboxentry_changelist"),
        reverse("admin:core_sentmessage_change", args=[message.pk]),
        reverse("admin:core_outboxentry_change", args=[message.entry_id]),
        reverse("admin:core_turn_change", args=[turn.pk]),
        reverse("admin:core_chat_conversation", args=[chat.pk]),
        REVIEW,
    ]
    for url in pages:
        assert f"It waits: {why}." in text_of(admin_client.get(url)), url


def test_what_is_held_for_review_says_that_first(admin_client: Client, chat: Chat) -> None:
    entry = held(chat)
    url = reverse("admin:core_outboxentry_change", args=[entry.pk])
    assert "It waits for review." in text_of(admin_client.get(url))


@pytest.mark.parametrize("name", ["sentmessage", "outboxentry"])
def test_lists_of_what_waits_ask_once(admin_client: Client, chat: Chat, name: str) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            admin_client.get(reverse(f"admin:core_{name}_changelist"))
        return len(queries)

    held(chat)
    count()
    few = count()
    for _ in range(5):
        factories.make_sent(factories.make_chat(), state="pending")
    assert count() == few


def test_a_recall_by_hand_is_not_held_by_a_pause(admin_client: Client, chat: Chat) -> None:
    factories.make_connection(chat.bot)
    entry = current(factories.make_sent(chat))
    Chat.objects.update(delivery_mode="live", paused_at=timezone.now())
    url = reverse("admin:core_outboxentry_confirm", args=["recall"])
    answer = admin_client.post(url, {"pick": tick(entry)}, follow=True)
    assert told(answer) == ["1 is being taken back. It goes out as soon as it is its turn."]


# Who did what by hand.
def page_of(client: Client, row: SentMessage | OutboxEntry) -> str:
    name = row._meta.model_name
    return text_of(client.get(reverse(f"admin:core_{name}_change", args=[row.pk])))


def test_pages_say_who_changed_it_before_it_was_sent(admin_client: Client, chat: Chat) -> None:
    entry = held(chat, "rude")
    decide(admin_client, entry, "approve", text="kind")
    change = Change.objects.get(changes__has_key="content")
    told = f"Changed before it was sent, by admin at {display.clock(change.timestamp)}."
    for row in (entry, entry.message):
        assert row is not None
        page = page_of(admin_client, row)
        assert told in page
        assert "Approved by admin at" in page
        assert "rude" not in page


def test_pages_say_who_discarded_it(admin_client: Client, chat: Chat) -> None:
    entry = held(chat)
    decide(admin_client, entry, "discard")
    for row in (entry, entry.message):
        assert row is not None
        assert "Discarded by admin at" in page_of(admin_client, row)


@pytest.mark.parametrize("state", ["sent", "pending"])
def test_a_page_says_which_operator_asked_to_take_it_back(
    admin_client: Client, admin_user: User, state: str
) -> None:
    message = factories.make_sent(state=state)
    assert "nobody" in page_of(admin_client, message)
    by_hand.recall(message.pk, seen=by_hand.digest(current(message)), by=admin_user)
    page = page_of(admin_client, message)
    assert re.search(r"asked to take it back.*?admin", page, re.DOTALL | re.IGNORECASE)
    assert "nobody" not in page
    assert "Whether the model asked" not in page
    assert ("Recall asked for by admin" if state == "sent" else "Discarded by admin") in page


def test_a_page_says_that_the_model_asked_to_take_it_back(admin_client: Client) -> None:
    message = factories.make_sent(recall_asked=True)
    factories.make_entry(message, action="recall", target=current(message), content="")
    assert "the model" in page_of(admin_client, message)


def test_steps_and_calls_count_as_on_the_page_of_the_turn(admin_client: Client) -> None:
    turn = factories.make_turn()
    message = factories.make_sent(turn.chat, turn=turn, entry={"step_index": 6, "call_index": 8})
    page = " ".join(page_of(admin_client, current(message)).split())
    assert [number for number in ("7", "9") if f">{number}<" in page.replace("> ", ">")] == [
        "7",
        "9",
    ]


# Changing one's words.
def test_what_waits_and_what_was_said_get_other_words(admin_client: Client) -> None:
    waits = current(factories.make_sent(content="old", state="pending"))
    is_out = current(factories.make_sent(content="old"))
    done = ("It says other words now.", "Its words are being changed.")
    for entry, said in zip((waits, is_out), done, strict=True):
        url = reverse("admin:core_outboxentry_edit", args=[entry.pk])
        assert "old" in text_of(admin_client.get(url))
        posted = {"seen": by_hand.digest(entry), "text": "new"}
        answer = admin_client.post(url, posted, follow=True)
        assert told(answer) == [f"{said} It waits: the bot is not connected."]
        assert history(entry) == ["Changed by hand."]
    assert stands(waits) == ("pending", "", "new")
    assert stands(is_out)[2] == "old"
    assert OutboxEntry.objects.filter(content="new", action="send").count() == 2


def test_a_refused_change_keeps_what_was_typed(admin_client: Client) -> None:
    entry = current(factories.make_sent(content="old", state="failed"))
    url = reverse("admin:core_outboxentry_edit", args=[entry.pk])
    answer = admin_client.post(url, {"seen": by_hand.digest(entry), "text": "typed for long"})
    assert told(answer) == ["It did not arrive, so there is nothing to change."]
    assert "typed for long" in text_of(answer)


def test_the_page_of_a_change_says_that_it_would_be_refused(admin_client: Client) -> None:
    entry = current(factories.make_sent(state="failed"))
    page = text_of(admin_client.get(reverse("admin:core_outboxentry_edit", args=[entry.pk])))
    assert "It did not arrive, so there is nothing to change." in page


OFFERED = [
    ("pending", {}, ["Change its words…", "Discard it…"]),
    ("pending", {"held": "review"}, ["Change its words…", "Discard it…"]),
    ("sending", {}, ["Change its words…", "Take it back…"]),
    ("sent", {}, ["Change its words…", "Take it back…"]),
    ("unknown", {}, []),
    ("failed", {}, []),
    ("discarded", {}, []),
    ("recalled", {}, []),
]


@pytest.mark.parametrize(("state", "fields", "texts"), OFFERED)
def test_a_page_offers_what_can_be_done(
    admin_client: Client, state: str, fields: dict[str, str], texts: list[str]
) -> None:
    message = factories.make_sent(state=state, entry=fields)
    choices = offered(admin_client, message).choices
    assert [str(choice.text) for choice in choices] == texts


def test_of_a_change_that_waits_each_button_says_what_it_is_about(admin_client: Client) -> None:
    message = factories.make_sent(state="sent")
    recall = factories.make_entry(message, action="recall", target=current(message), content="")
    factories.make_entry(message, content="new", waits_for=recall, held="review")
    offer = offered(admin_client, message)
    assert [str(choice.text) for choice in offer.choices] == [
        "Take it back…",
        "Change the words that are to replace it…",
        "Discard the change…",
    ]
    assert offer.refusals == ["A change of it waits already. Change or discard that one."]


def offered(client: Client, message: SentMessage) -> Any:
    url = reverse("admin:core_sentmessage_change", args=[message.pk])
    return client.get(url).context["offer"]


@pytest.mark.parametrize(
    ("made", "off", "can_recall"),
    [
        ({}, "", True),
        ({}, "recall", True),
        ({}, "edit", True),
        ({}, "", False),
        ({"entry": {"sending_at": LONG_AGO}}, "", True),
        ({"entry": {"platform_message_id": ""}}, "", True),
        ({"edits": 10**6}, "", True),
        ({"kind": "voice"}, "", True),
        ({"state": "sending"}, "", True),
        ({"state": "unknown"}, "", True),
        ({"state": "failed"}, "", True),
        ({"state": "discarded"}, "", True),
        ({"state": "recalled"}, "", True),
    ],
)
def test_a_page_offers_what_would_be_done_and_says_why_not(
    admin_client: Client,
    admin_user: User,
    monkeypatch: pytest.MonkeyPatch,
    made: dict[str, Any],
    off: str,
    can_recall: bool,
) -> None:
    if not can_recall:
        monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform())
    message = factories.make_sent(**made)
    if off:
        message.chat.capability_settings.create(target="cap", name=off, allowed=False)
    offer = offered(admin_client, message)
    page = admin_client.get(reverse("admin:core_sentmessage_change", args=[message.pk]))
    on_entry = admin_client.get(
        reverse("admin:core_outboxentry_change", args=[message.entry_id])
    ).context["offer"]
    choices = [str(choice.text) for choice in offer.choices]
    assert [str(choice.text) for choice in on_entry.choices] == choices
    seen = by_hand.digest(current(message))
    acts: dict[str, Callable[[], object]] = {
        "Take it back…": lambda: by_hand.recall(message.pk, seen=seen, by=admin_user),
        "Change its words…": lambda: by_hand.edit(message.pk, seen=seen, by=admin_user, text="new"),
    }
    for text, act in acts.items():
        with transaction.atomic():
            refusal = ""
            try:
                act()
            except by_hand.NotDone as not_done:
                refusal = str(not_done)
            transaction.set_rollback(True)
        assert (text in choices) == (not refusal)
        if refusal:
            assert refusal in offer.refusals
            assert escape(refusal) in text_of(page)


def test_what_is_being_taken_back_already_is_not_offered_again(admin_client: Client) -> None:
    message = factories.make_sent()
    factories.make_entry(message, action="recall", target=current(message), content="")
    offer = offered(admin_client, message)
    assert "Take it back…" not in [str(choice.text) for choice in offer.choices]
    assert "It is being taken back already." in offer.refusals


def test_a_change_in_place_that_waits_gives_no_more_time_to_take_back(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    can = {"recall": Ability(True), "edit": Ability(True)}
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform(can, recall_seconds=120))
    message = factories.make_sent(entry={"sending_at": LONG_AGO})
    factories.make_entry(message, action="edit", target=current(message))
    offer = offered(admin_client, message)
    assert "Take it back…" not in [str(choice.text) for choice in offer.choices]
    assert any("only within 120 s" in refusal for refusal in offer.refusals)


def test_what_was_said_in_shadow_is_taken_back_there(admin_client: Client, chat: Chat) -> None:
    Chat.objects.update(delivery_mode="shadow")
    message = factories.make_sent(chat, state="discarded", entry={"reason": "shadow"})
    confirm = next(
        choice.url
        for choice in offered(admin_client, message).choices
        if str(choice.text) == "Take it back…"
    )
    admin_client.post(confirm, {"pick": tick(current(message))})
    assert "It was taken back already." in offered(admin_client, message).refusals


def test_what_is_no_text_is_offered_no_change(admin_client: Client) -> None:
    message = factories.make_sent(state="sent", kind="voice")
    answer = admin_client.get(reverse("admin:core_sentmessage_change", args=[message.pk]))
    assert [str(choice.text) for choice in answer.context["offer"].choices] == ["Take it back…"]


# Pausing, and how it is shown.
def pause(client: Client, row: Bot | Chat, decision: str, **fields: str) -> Any:
    url = reverse(f"admin:core_{row._meta.model_name}_pause", args=[row.pk])
    return client.post(url, {"decision": decision, **fields}, follow=True)


@pytest.mark.parametrize("of_bot", [True, False])
def test_a_page_pauses_and_lets_go_on(
    admin_client: Client, admin_user: User, chat: Chat, of_bot: bool
) -> None:
    row: Bot | Chat = chat.bot if of_bot else chat
    answer = pause(admin_client, row, "pause", reason="too loud")
    assert told(answer) == ["It is paused."]
    assert "too loud" in text_of(answer)
    row.refresh_from_db()
    assert row.paused_by == admin_user
    assert told(pause(admin_client, row, "pause")) == ["It was paused already."]
    assert told(pause(admin_client, row, "resume")) == ["It goes on."]
    assert told(pause(admin_client, row, "resume")) == ["It was not paused any more."]
    row.refresh_from_db()
    assert row.paused_at is None
    assert sorted(history(row)) == ["Paused: too loud", "Resumed."]


def test_a_reason_may_have_a_nul(admin_client: Client, chat: Chat) -> None:
    pause(admin_client, chat, "pause", reason="too\0 loud")
    chat.refresh_from_db()
    assert chat.pause_reason == "too\ufffd loud"


def test_lists_pause_many(admin_client: Client) -> None:
    chats = [factories.make_chat() for _ in range(2)]
    url = reverse("admin:core_chat_changelist")
    posted = {"action": "pause", "_selected_action": [chat.pk for chat in chats]}
    assert told(admin_client.post(url, posted, follow=True)) == ["2 were paused."]
    posted["action"] = "resume"
    assert told(admin_client.post(url, posted, follow=True)) == ["2 go on."]


@pytest.mark.parametrize(
    ("fields", "banner"),
    [
        ({"delivery_mode": "review"}, "held until"),
        ({"delivery_mode": "shadow"}, "leaves; it takes"),
    ],
)
def test_pages_say_how_a_chat_delivers(
    admin_client: Client, fields: dict[str, Any], banner: str
) -> None:
    message = factories.make_sent(factories.make_chat(**fields))
    for row in (message, current(message), message.chat):
        url = reverse(f"admin:core_{row._meta.model_name}_change", args=[row.pk])
        assert banner in text_of(admin_client.get(url))


def test_a_chats_page_leads_to_what_is_held_there(admin_client: Client, chat: Chat) -> None:
    held(chat)
    Chat.objects.update(delivery_mode="live")
    page = text_of(admin_client.get(reverse("admin:core_chat_change", args=[chat.pk])))
    assert f"{REVIEW}?chat={chat.pk}" in page


def test_a_switch_on_the_page_concerns_what_waits(admin_client: Client, chat: Chat) -> None:
    Chat.objects.update(delivery_mode="live")
    entry = current(factories.make_sent(chat, state="pending"))
    url = reverse("admin:core_chat_change", args=[chat.pk])
    form = admin_client.get(url).context["adminform"].form
    posted = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    posted |= {f"initial-{name}": value for name, value in posted.items()}
    admin_client.post(url, {**posted, "delivery_mode": "shadow"})
    chat.refresh_from_db()
    assert chat.delivery_mode == "shadow"
    assert stands(entry)[0] == "discarded"


def test_the_landing_page_counts_what_is_paused_and_held(admin_client: Client, chat: Chat) -> None:
    held(chat)
    Chat.objects.update(paused_at=timezone.now())
    lines = admin_client.get(reverse("admin:index")).context["waiting"]
    counted = {line.text: line.count for line in lines}
    assert counted["waiting for review"] == 1
    assert counted["Outbox: pending"] == 0
    assert counted["paused chats"] == 1
    assert "paused bots" not in counted
