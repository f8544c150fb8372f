"""/metrics: off unless asked for, for this machine or for who brings the token, and true."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from core.models import ModelCallCount
from stickers.models import FunnelCount
from tests import factories

pytestmark = pytest.mark.django_db

ADDRESS = "/metrics"


@pytest.fixture
def _on(settings: Any) -> None:
    settings.ARISE_METRICS = True


def read(client: Client, **asked: Any) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples by name and values of labels."""
    answer = client.get(ADDRESS, **asked)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def test_it_is_off_unless_asked_for(client: Client, settings: Any) -> None:
    assert client.get(ADDRESS).status_code == 404
    settings.ARISE_METRICS_TOKEN = "secret"
    assert client.get(ADDRESS, headers={"authorization": "Bearer secret"}).status_code == 404


@pytest.mark.usefixtures("_on")
@pytest.mark.parametrize(
    ("came_from", "status"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, 200),
        ({"REMOTE_ADDR": "::1"}, 200),
        ({"REMOTE_ADDR": "10.1.2.3"}, 403),
        ({"REMOTE_ADDR": ""}, 403),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.1.2.3"}, 403),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=10.1.2.3"}, 403),
    ],
)
def test_without_a_token_it_is_for_this_machine(
    client: Client, came_from: Any, status: int
) -> None:
    assert client.get(ADDRESS, **came_from).status_code == status


@pytest.mark.usefixtures("_on")
@pytest.mark.parametrize(
    ("brought", "status"),
    [
        ("Bearer secret", 200),
        ("bearer secret", 200),
        ("Bearer secrets", 401),
        ("Bearer 秘密", 401),
        ("Basic secret", 401),
        ("", 401),
    ],
)
def test_a_token_is_asked_of_everybody(
    client: Client, settings: Any, brought: str, status: int
) -> None:
    settings.ARISE_METRICS_TOKEN = "secret"
    for address in ("10.1.2.3", "127.0.0.1"):
        answer = client.get(ADDRESS, HTTP_AUTHORIZATION=brought, REMOTE_ADDR=address)
        assert answer.status_code == status
        assert (status == 401) == ("WWW-Authenticate" in answer)


@pytest.mark.usefixtures("_on")
def test_it_tells_what_the_landing_page_tells(client: Client) -> None:
    made = factories.make_connection()
    other = factories.make_bot(paused_at=timezone.now(), is_logged_out=True)
    chat = factories.make_chat(made.bot, turn_due_at=timezone.now())
    now = timezone.now()
    item = factories.make_item(chat, trigger="mention", received_at=now - timedelta(seconds=3))
    turn = factories.make_turn(
        chat, first_item_id=item.pk, last_item_id=item.pk, prompt_tokens=40, completion_tokens=2
    )
    factories.make_sent(chat, turn=turn, entry={"settled_at": now})
    factories.make_sent(chat, state="unknown", entry={"settled_at": now})
    factories.make_sent(chat, state="pending", entry={"held": "muted"})
    factories.make_turn(chat, state="failed")
    # The tokens of a turn are its own; by the day are those of turns that were run again.
    ModelCallCount.objects.create(chat=chat, day=timezone.localdate(), calls=5, tokens=8)
    FunnelCount.objects.create(chat=chat, day=timezone.localdate(), name="seen", times=7)
    found = read(client)
    account, others = (made.bot.self_id,), (other.self_id,)
    assert found["arise_bot_connected"] == {account: 1, others: 0}
    assert found["arise_bot_paused"] == {account: 0, others: 1}
    assert found["arise_bot_logged_out"] == {account: 0, others: 1}
    assert list(found["arise_bot_connected_since_seconds"]) == [account]
    assert found["arise_chats_due"] == {(): 1}
    assert found["arise_outbox_entries"] == {("pending",): 1, ("sending",): 0, ("unknown",): 1}
    assert found["arise_outbox_held"] == {("muted",): 1, ("review",): 0}
    assert found["arise_outbox_lost"] == {("failed",): 0, ("unknown",): 1}
    assert found["arise_turns_lost"] == {("failed",): 1, ("abandoned",): 0}
    assert found["arise_messages_last_hour"] == {("in",): 1, ("out",): 1}
    assert found["arise_answer_latency_seconds"] == {
        ("0.5",): pytest.approx(3),
        ("0.95",): pytest.approx(3),
    }
    assert found["arise_model_calls_today"] == {("chat",): 5, ("learning",): 0}
    assert found["arise_model_tokens_today"] == {("chat",): 50, ("learning",): 0}
    assert found["arise_stickers_today"][("seen",)] == 7


@pytest.mark.usefixtures("_on")
def test_it_names_no_chat_and_no_person(client: Client) -> None:
    chat = factories.make_chat(title="Book club")
    factories.make_item(chat, sender_name="Ann")
    factories.make_sent(chat, "secret words", "unknown")
    told = client.get(ADDRESS).content.decode()
    for words in ("Book club", "Ann", "secret words", chat.external_id):
        assert words not in told


@pytest.mark.usefixtures("_on")
def test_it_needs_as_many_queries_for_many_bots_as_for_few(client: Client) -> None:
    def queries() -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as seen:
            read(client)
        return len(seen)

    factories.make_connection()
    read(client)
    few = queries()
    for _ in range(9):
        factories.make_connection()
    assert queries() == few
