"""The landing page: at a glance, and with as many queries for many rows as for few."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from arise_site import dashboard
from botgateway.models import Connection
from tests import factories
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db


def waiting() -> list[dashboard.Waiting]:
    """What somebody who reaches everything sees waiting."""
    return dashboard._waiting(dashboard.Within(User(is_superuser=True)))


def page(client: Client) -> str:
    return client.get(reverse("admin:index")).content.decode()


def fill() -> None:
    made = factories.make_connection(implementation="NapCat.Onebot", version="4.8.1")
    chat = factories.make_chat(made.bot, turn_due_at=timezone.now())
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


def test_a_silent_implementation_is_named_with_what_to_do(admin_client: Client) -> None:
    factories.make_connection(implementation="NapCat.Onebot", reports_own=False)
    told = page(admin_client)
    assert "own messages not reported" in told
    assert "Switch on reportSelfMessage (上报自身消息) in NapCat" in told
    Connection.objects.update(reports_own=True)
    assert "own messages not reported" not in page(admin_client)


def test_it_needs_as_many_queries_for_many_rows_as_for_few(admin_client: Client) -> None:
    def queries() -> int:
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
