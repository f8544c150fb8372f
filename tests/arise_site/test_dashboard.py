"""The landing page: at a glance, and with as many queries for many rows as for few."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from arise_site import dashboard, figures, roles
from botgateway.models import Connection
from core.models import Bot, Chat, ModelCallCount, OutboxEntry, PersonLimit, Turn
from stickers.models import FunnelCount
from tests import factories
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db


def waiting() -> list[dashboard.Waiting]:
    """What somebody who reaches everything sees waiting."""
    return dashboard._waiting(figures.everything())


def page(client: Client) -> str:
    return client.get(reverse("admin:index")).content.decode()


def answered(chat: Chat, seconds: float, ago: timedelta = timedelta(0)) -> Turn:
    """A turn that answered what was asked so long ago, after so many seconds."""
    asked = timezone.now() - ago
    factories.make_item(chat, "not meant", received_at=asked - timedelta(seconds=50))
    item = factories.make_item(chat, trigger="mention", received_at=asked)
    turn = factories.make_turn(
        chat,
        first_item_id=item.pk - 1,
        last_item_id=item.pk,
        started_at=asked + timedelta(seconds=1),
        prompt_tokens=30,
        completion_tokens=4,
    )
    for delay in (seconds, seconds + 30):
        settled = {"settled_at": asked + timedelta(seconds=delay)}
        factories.make_sent(chat, turn=turn, entry=settled)
    return turn


def fill() -> None:
    made = factories.make_connection(implementation="NapCat.Onebot", version="4.8.1")
    chat = factories.make_chat(made.bot, turn_due_at=timezone.now())
    silenced = factories.make_chat(made.bot, silence_reason="muted", title="Quiet room")
    answered(silenced, seconds=4)
    day = timezone.localdate()
    ModelCallCount.objects.create(chat=chat, day=day, calls=2)
    FunnelCount.objects.create(chat=chat, day=day, name="seen", times=3)
    factories.make_sent(chat, "held", "pending", entry={"held": "muted"})
    factories.make_turn(chat, state="failed", error="rate_limited")
    factories.make_sent(chat, "lost", "failed", entry={"reason": "refused"})
    factories.make_sent(chat, "who knows", "unknown", entry={"reason": "timeout"})
    factories.make_sent(chat, "waits", "pending")
    sent = factories.make_sent(chat)
    for action in ("recall", "edit"):
        factories.make_entry(sent, action=action, target=sent.entry, state="unknown")
    factories.make_refusal(reason="unknown_bot")
    shown(chat, state="review")


def test_a_newcomer_is_told_what_to_do(admin_client: Client) -> None:
    told = page(admin_client)
    assert "Start here" in told
    assert reverse("admin:core_bot_add") in told
    assert "ws://testserver/onebot/v11/ws" in told
    factories.make_bot()
    assert "Start here" not in page(admin_client)


def viewer_of(*chats: Chat) -> User:
    roles.grant(apps)  # tests that empty the database leave none behind
    viewer = User.objects.create(username="viewer", is_staff=True)
    viewer.groups.set(Group.objects.filter(name="viewer"))
    PersonLimit.objects.create(person=viewer).chats.set(chats)
    return viewer


def test_who_is_limited_to_a_chat_is_shown_what_he_may_do_and_reach(
    client: Client, settings: Any
) -> None:
    settings.ARISE_DEMO_MODEL = True
    bot, other = factories.make_bot(name="Seen"), factories.make_bot(name="Hidden")
    chat = factories.make_chat(bot, silence_reason="muted", title="Quiet room")
    factories.make_chat(bot, silence_reason="muted", title="Closed room")
    client.force_login(viewer_of(chat))
    told = page(client)
    assert "Seen" in told
    assert "Quiet room" in told
    for words in ("Start here", "OPENAI_API_KEY", "No bot yet", other.name, "Closed room"):
        assert words not in told
    links = set(re.findall(r'href="(/admin/[^"]*)"', told.replace("&amp;", "&")))
    assert {client.get(link).status_code for link in links} == {200}


def test_who_is_limited_to_nothing_is_not_told_to_begin(client: Client) -> None:
    factories.make_bot(name="Hidden")
    client.force_login(viewer_of())
    told = page(client)
    assert "None that you may see yet." in told
    assert "Start here" not in told
    assert "Hidden" not in told


def test_the_funnel_says_over_which_chats(client: Client, admin_client: Client) -> None:
    client.force_login(viewer_of(factories.make_chat()))
    address = reverse("admin:stickers_sticker_funnel")
    assert "Over the chats that you see." in client.get(address).content.decode()
    assert "Over all chats." in admin_client.get(address).content.decode()


def test_an_empty_list_asks_nobody_for_what_he_may_not(
    client: Client, admin_client: Client
) -> None:
    address = reverse("admin:core_bot_changelist")
    client.force_login(viewer_of(factories.make_chat()))
    told = client.get(address).content.decode()
    assert "nothing that you may see" in told
    assert reverse("admin:core_bot_add") not in told
    nothing = admin_client.get(f"{address}?q=zzz").content.decode()
    assert "Nothing here is as you look for it." in nothing
    Chat.objects.all().delete()
    Bot.objects.all().delete()
    empty = admin_client.get(address).content.decode()
    assert "There is nothing here yet." in empty
    assert f'class="arise-button main" href="{reverse("admin:core_bot_add")}"' in empty


def test_it_tells_who_is_connected_what_waits_and_what_failed(admin_client: Client) -> None:
    fill()
    told = page(admin_client)
    for words in (
        "connected for",
        "NapCat.Onebot 4.8.1",
        "rate_limited",
        "refused",
        "timeout",
        "unknown bot",
    ):
        assert words in told
    assert {line.text: line.count for line in waiting()} == {
        "chats to be judged": 1,
        "turns running": 0,
        "Outbox: pending": 1,
        "Outbox: sending": 0,
        "held: muted": 1,
        "waiting for review": 0,
        "messages of unknown outcome": 1,
        "recalls and edits of unknown outcome": 2,
        "stickers to be reviewed": 1,
    }


def test_every_figure_leads_to_its_list(admin_client: Client) -> None:
    fill()
    factories.make_turn(state="running")
    for line in waiting():
        answer = admin_client.get(line.url)
        assert answer.status_code == 200
        shown = answer.context["cl"].result_count if "cl" in answer.context else None
        assert (answer.context["count"] if shown is None else shown) == line.count


@pytest.mark.parametrize("mode", ["review", "shadow"])
def test_chats_that_do_not_just_speak_are_counted(admin_client: Client, mode: str) -> None:
    factories.make_chat()
    assert not [line for line in waiting() if line.text == f"chats in {mode}"]
    chat = factories.make_chat(delivery_mode=mode)
    (line,) = [line for line in waiting() if line.text == f"chats in {mode}"]
    assert line.count == 1
    assert list(admin_client.get(line.url).context["cl"].queryset) == [chat]


def test_a_silent_implementation_is_named_with_what_to_do(admin_client: Client) -> None:
    factories.make_connection(implementation="NapCat.Onebot", reports_own=False)
    told = page(admin_client)
    assert "own messages not reported" in told
    assert "Switch on reportSelfMessage (上报自身消息) in NapCat" in told
    Connection.objects.update(reports_own=True)
    assert "own messages not reported" not in page(admin_client)


def test_it_needs_as_many_queries_for_many_rows_as_for_few(admin_client: Client) -> None:
    def queries() -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as seen:
            page(admin_client)
        return len(seen)

    fill()
    queries()
    few = queries()
    for _ in range(19):
        fill()
    assert queries() == few


def test_old_failures_are_no_longer_news(admin_client: Client) -> None:
    long_ago = timezone.now() - timedelta(days=2)
    factories.make_sent(content="x", state="failed", entry={"settled_at": long_ago})
    factories.make_refusal(last_at=long_ago)
    assert "Nothing." in page(admin_client)


def test_the_demo_model_is_named_as_what_it_is(admin_client: Client, settings: Any) -> None:
    settings.ARISE_DEMO_MODEL = True
    told = page(admin_client)
    assert "built-in demo model" in told
    assert "scripted" in told


def test_a_real_model_is_named_with_its_host_and_no_secret(
    admin_client: Client, settings: Any
) -> None:
    settings.ARISE_DEMO_MODEL = False
    settings.ARISE_CHAT_MODEL = "some-model"
    settings.ARISE_MODEL_BASE_URL = "https://user:secret@models.example.org:8443/v1"
    told = page(admin_client)
    assert "some-model" in told
    assert "models.example.org:8443" in told
    assert "secret" not in told
    assert "scripted" not in told


def test_no_address_is_the_packages_own(settings: Any) -> None:
    settings.ARISE_MODEL_BASE_URL = ""
    assert dashboard.serving_model().host == "api.openai.com"


def test_bots_are_shown_with_where_they_may_not_speak(admin_client: Client) -> None:
    bot = factories.make_bot()
    for number in range(5):
        factories.make_chat(bot, silence_reason="muted", title=f"Quiet {number}")
    over = timezone.now() - timedelta(seconds=1)
    factories.make_chat(bot, silence_reason="muted", title="Loud", silenced_until=over)
    told = page(admin_client)
    assert "Quiet 2" in told
    assert "Quiet 3" not in told
    assert "Loud" not in told
    assert "and 2 more" in told


def test_the_list_behind_muted_chats_has_them_alone(admin_client: Client) -> None:
    bot = factories.make_bot()
    muted = factories.make_chat(bot, silence_reason="muted")
    factories.make_chat(bot)
    (line,) = dashboard._bot_lines(figures.everything(), [bot])
    assert list(admin_client.get(line.muted_url).context["cl"].queryset) == [muted]


def test_messages_are_counted_by_the_hour() -> None:
    chat = factories.make_chat()
    now = timezone.now()
    factories.make_item(chat, received_at=now)
    factories.make_item(chat, received_at=now - timedelta(hours=2))
    factories.make_item(chat, received_at=now - timedelta(hours=25))
    factories.make_sent(chat, entry={"settled_at": now})
    factories.make_sent(chat, state="failed", entry={"settled_at": now})
    found = figures.traffic(figures.everything())
    assert len(found.hours) == figures.HOURS
    assert [(n, hour.received) for n, hour in enumerate(found.hours) if hour.received] == [
        (21, 1),
        (23, 1),
    ]
    assert [(n, hour.sent) for n, hour in enumerate(found.hours) if hour.sent] == [(23, 1)]
    assert (found.received, found.sent) == (1, 1)


def test_latency_runs_from_what_addressed_the_bot_to_its_first_message() -> None:
    chat = factories.make_chat()
    for seconds in (2, 4, 9):
        answered(chat, seconds)
    answered(chat, 60, ago=timedelta(hours=3))
    factories.make_turn(chat)
    found = figures.traffic(figures.everything())
    assert found.latency == figures.Latency(4, 9)
    assert found.nth == 1
    assert {hour.latency.p50 for hour in found.hours} >= {None, 60}


def test_latency_leaves_out_what_was_held() -> None:
    turn = answered(factories.make_chat(), seconds=600)
    first = OutboxEntry.objects.filter(turn=turn).earliest("settled_at")
    assert first.settled_at is not None
    due = first.settled_at - timedelta(seconds=590)
    for freed, seconds in (
        ({"approved_at": due + timedelta(seconds=585)}, 15),
        ({"approved_at": due + timedelta(seconds=400), "released_at": first.settled_at}, 10),
        ({"approved_at": due - timedelta(seconds=1)}, 600),
    ):
        none = {"approved_at": None, "released_at": None}
        OutboxEntry.objects.filter(turn=turn).update(**none)
        OutboxEntry.objects.filter(pk=first.pk).update(due_at=due, **freed)
        cache.clear()
        assert figures.traffic(figures.everything()).latency.p50 == pytest.approx(seconds)


def test_of_very_many_turns_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_TURNS", 3)
    chat = factories.make_chat()
    for _ in range(8):
        answered(chat, 5)
    found = figures.traffic(figures.everything())
    assert found.nth == 3
    assert found.latency == figures.Latency(5, 5)


def test_today_counts_calls_tokens_and_spent_budgets() -> None:
    day = timezone.localdate()
    chat = factories.make_chat(daily_model_calls=3, sticker_daily_calls=10)
    answered(chat, 1)
    ModelCallCount.objects.create(chat=chat, day=day, calls=3)
    ModelCallCount.objects.create(chat=chat, day=day, purpose="learning", calls=2, tokens=70)
    ModelCallCount.objects.create(chat=chat, day=day - timedelta(days=1), calls=99)
    assert figures.today(figures.everything()).spent == [
        figures.Spent("chat", 3, 34, 1),
        figures.Spent("learning", 2, 70, 0),
    ]


def test_figures_are_shared_for_a_while_by_those_who_reach_the_same() -> None:
    chat = factories.make_chat()
    person = User.objects.create(username="limited", is_staff=True)
    PersonLimit.objects.create(person=person).chats.add(chat)
    factories.make_item()
    assert figures.traffic(figures.everything()).received == 1
    assert figures.traffic(figures.Within(person)).received == 0
    factories.make_item(chat)
    assert figures.traffic(figures.everything()).received == 1
    cache.clear()
    assert figures.traffic(figures.everything()).received == 2
    assert figures.traffic(figures.Within(person)).received == 1


def test_charts_are_drawn_without_scripts_or_styles_and_told_as_tables(
    admin_client: Client,
) -> None:
    answered(factories.make_chat(), 4)
    told = admin_client.get(reverse("overview")).content.decode()
    assert told.count("<svg") >= 2
    assert "<script" not in told
    assert " style=" not in told
    assert "in 2, out 2" in told
    assert told.count("<tbody>") >= 2


def test_only_what_changed_is_sent_again(admin_client: Client) -> None:
    fill()
    first = admin_client.get(reverse("overview"))
    assert first.status_code == 200
    known = {"if-none-match": first["ETag"]}
    assert admin_client.get(reverse("overview"), headers=known).status_code == 304
    factories.make_turn(state="failed", error="brand_new")
    again = admin_client.get(reverse("overview"), headers=known)
    assert "brand_new" in again.content.decode()
    assert "private" in first["Cache-Control"]


def test_the_page_and_its_refresh_show_the_same(admin_client: Client) -> None:
    fill()
    assert admin_client.get(reverse("overview")).content.decode() in page(admin_client)


def test_strangers_get_no_figures(client: Client) -> None:
    answer = client.get(reverse("overview"))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("admin:login"))
    client.force_login(User.objects.create(username="visitor"))
    assert client.get(reverse("overview")).status_code == 302
