"""How bots' connections look in the console."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from botgateway import own_reports
from botgateway.admin import connection_state, live, with_open_connections
from botgateway.models import Connection
from core.models import Bot
from tests.factories import make_bot, make_connection, make_refusal

pytestmark = pytest.mark.django_db


def loaded(bot: Bot) -> Bot:
    return with_open_connections(Bot.objects.all()).get(pk=bot.pk)


def bots(client: Client) -> str:
    return client.get(reverse("admin:core_bot_changelist")).content.decode()


def test_a_connected_bot_shows_since_when_and_with_what(admin_client: Client) -> None:
    made = make_connection(implementation="NapCat.Onebot", version="4.8.1", nickname="小艾")
    Connection.objects.update(connected_at=timezone.now() - timedelta(hours=2, minutes=1))
    page = bots(admin_client)
    assert "connected for 2" in page
    assert "NapCat.Onebot 4.8.1" in page
    url = reverse("admin:core_bot_change", args=[made.bot_id])
    page = admin_client.get(url).content.decode()
    assert "小艾" in page
    assert reverse("admin:botgateway_connection_change", args=[made.pk]) in page


def test_a_closed_connection_is_none(admin_client: Client) -> None:
    make_connection(closed_at=timezone.now(), implementation="NapCat")
    page = bots(admin_client)
    assert "not connected" in page
    assert "NapCat" not in page


def test_a_playground_that_nobody_has_open_is_no_warning() -> None:
    assert "warn" in connection_state(loaded(make_bot()))
    assert "warn" not in connection_state(loaded(make_bot(is_playground=True)))


def test_an_account_that_is_logged_out_is_told() -> None:
    bot = make_connection(online=False).bot
    assert "logged out" in connection_state(loaded(bot))


def test_the_newest_open_connection_of_a_role_is_the_live_one() -> None:
    bot = make_bot()
    make_connection(bot)
    newest = make_connection(bot)
    event = make_connection(bot, role=Connection.Role.EVENT)
    assert {made.pk for made in live(loaded(bot))} == {newest.pk, event.pk}


def test_connections_are_loaded_with_one_query_for_all_bots() -> None:
    for _ in range(5):
        make_connection()
    with CaptureQueriesContext(connection) as seen:
        assert all(live(bot) for bot in with_open_connections(Bot.objects.all()))
    assert len(seen) == 2


def page_of(client: Client, row: Bot | Connection) -> str:
    url = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return client.get(url).content.decode()


@pytest.mark.parametrize(
    ("implementation", "setting"),
    [
        ("NapCat.Onebot", "reportSelfMessage (上报自身消息) in NapCat"),
        ("LLOneBot", "reportSelfMessage (上报自身消息) in LLOneBot"),
        ("go-cqhttp", "report-self-message in go-cqhttp"),
        ("Lagrange.OneBot", "IgnoreSelf: false"),
        ("", "go-cqhttp: report-self-message"),
    ],
)
def test_a_silent_implementation_is_told_with_what_to_do(
    admin_client: Client, implementation: str, setting: str
) -> None:
    made = make_connection(implementation=implementation, reports_own=False)
    connections = reverse("admin:botgateway_connection_changelist")
    for page in (
        page_of(admin_client, made.bot),
        page_of(admin_client, made),
        admin_client.get(connections).content.decode(),
    ):
        assert "not reported" in page
        assert setting in page


def test_no_advice_is_given_for_what_is_over(admin_client: Client) -> None:
    made = make_connection(reports_own=False, closed_at=timezone.now())
    assert "not reported" in page_of(admin_client, made)
    assert "Switch on" not in page_of(admin_client, made)
    assert "not reported" not in page_of(admin_client, made.bot)


@pytest.mark.parametrize(
    ("known", "is_silent"),
    [
        ([None], False),
        ([True], False),
        ([False], True),
        ([None, False], True),
        ([False, True], False),
        ([], False),
    ],
)
def test_one_connection_that_tells_is_enough(known: list[bool | None], is_silent: bool) -> None:
    made = [Connection(reports_own=reports) for reports in known]
    assert (own_reports.silent(made) is not None) == is_silent


def test_a_refused_handshake_is_shown(admin_client: Client) -> None:
    make_refusal(self_id="10099", reason="unknown_bot", attempts=17)
    url = reverse("admin:botgateway_refusedconnection_changelist")
    page = admin_client.get(url).content.decode()
    assert "10099" in page
    assert "unknown bot" in page
    assert "17" in page
