"""What processes keep of their connections, and what they learn of each other's by it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from botgateway import bookkeeping
from botgateway.bookkeeping import Sign
from botgateway.models import Connection
from core.models import Bot
from tests.factories import make_bot, make_connection

pytestmark = pytest.mark.django_db


def sign(connection: Connection) -> Sign:
    return Sign(connection.pk, connection.bot_id, connection.role, timezone.now(), True, None)


def test_a_connection_is_over_when_another_process_took_a_newer_one() -> None:
    bot = make_bot()
    ours = make_connection(bot)
    make_connection(bot, process="elsewhere:1")
    other_bots = make_connection()
    over = bookkeeping.look_after([sign(ours), sign(other_bots)])
    assert over == {ours.pk: bookkeeping.REPLACED}


def test_an_api_and_an_event_connection_live_side_by_side() -> None:
    bot = make_bot()
    both = [make_connection(bot, role="api"), make_connection(bot, role="event")]
    assert bookkeeping.look_after([sign(connection) for connection in both]) == {}


def test_a_closed_newer_connection_replaces_nothing() -> None:
    bot = make_bot()
    ours = make_connection(bot)
    make_connection(bot, closed_at=timezone.now())
    assert bookkeeping.look_after([sign(ours)]) == {}


def test_a_disabled_or_removed_bot_ends_its_connections() -> None:
    disabled, removed = make_connection(make_bot(enabled=False)), make_connection()
    signs = [sign(disabled), sign(removed)]
    removed.bot.delete()
    assert bookkeeping.look_after(signs) == {
        disabled.pk: bookkeeping.BOT_DISABLED,
        signs[1].number: bookkeeping.BOT_GONE,
    }


def test_signs_of_life_are_kept() -> None:
    connection = make_connection(online=None)
    bookkeeping.look_after([sign(connection)])
    connection.refresh_from_db()
    assert connection.online is True


def test_rows_that_no_process_looks_after_are_not_live_and_get_closed() -> None:
    left = make_connection()
    long_ago = timezone.now() - timedelta(seconds=60)
    Connection.objects.filter(pk=left.pk).update(kept_at=long_ago)
    assert not Connection.objects.live().exists()
    bookkeeping.look_after([sign(make_connection())])
    left.refresh_from_db()
    assert left.close_reason == "its process ended"


def test_the_first_reason_of_an_end_stays() -> None:
    connection = make_connection()
    bookkeeping.closed(connection.pk, "first")
    bookkeeping.closed(connection.pk, "second")
    connection.refresh_from_db()
    assert connection.close_reason == "first"


def test_one_that_may_no_longer_send_is_over_although_the_newer_one_is_gone() -> None:
    bot = make_bot()
    older = make_connection(bot)
    newer = make_connection(bot, closed_at=timezone.now())
    Bot.objects.update(connection_number=newer.pk)
    assert bookkeeping.look_after([sign(older)]) == {older.pk: bookkeeping.REPLACED}


def test_an_event_connection_goes_on_beside_a_newer_sender() -> None:
    bot = make_bot()
    event = make_connection(bot, role=Connection.Role.EVENT)
    api = make_connection(bot, role=Connection.Role.API)
    Bot.objects.update(connection_number=api.pk)
    assert bookkeeping.look_after([sign(event)]) == {}


def test_a_connection_that_ended_while_we_looked_stays_ended() -> None:
    connection = make_connection(closed_at=timezone.now(), close_reason="closed by the other side")
    bookkeeping.look_after([sign(connection)])
    connection.refresh_from_db()
    assert connection.closed_at is not None
    assert connection.close_reason == "closed by the other side"


def test_a_connection_that_was_only_taken_for_abandoned_lives_again() -> None:
    connection = make_connection(closed_at=timezone.now(), close_reason=bookkeeping.ABANDONED)
    bookkeeping.look_after([sign(connection)])
    assert Connection.objects.live().get() == connection
