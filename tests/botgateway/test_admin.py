"""How bots' connections look in the console."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

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


def test_a_refused_handshake_is_shown(admin_client: Client) -> None:
    make_refusal(self_id="10099", reason="unknown_bot", attempts=17)
    url = reverse("admin:botgateway_refusedconnection_changelist")
    page = admin_client.get(url).content.decode()
    assert "10099" in page
    assert "unknown bot" in page
    assert "17" in page
