"""A message's page shows all that was done about it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.admin import versions
from core.models import OutboxEntry, SentMessage
from tests import factories

pytestmark = pytest.mark.django_db

NOW = timezone.now().replace(microsecond=0)


def edited() -> SentMessage:
    """A message whose first version was taken back and whose second one was sent."""
    message = factories.make_sent(
        content="old words",
        state="recalled",
        edits=1,
        entry={
            "platform_message_id": "501",
            "settled_at": NOW - timedelta(minutes=2),
            "recalled_at": NOW,
        },
    )
    recall = factories.make_entry(
        message, action="recall", target=message.entry, content="", state="sent", settled_at=NOW
    )
    message.entry = factories.make_entry(
        message, waits_for=recall, content="new words", state="sent", platform_message_id="502"
    )
    message.save()
    return message


def shown(client: Client, row: Any) -> str:
    url = reverse(f"admin:core_{row._meta.model_name}_change", args=[row.pk])
    return client.get(url).content.decode()


def test_versions_are_numbered_from_the_oldest_on() -> None:
    message = edited()
    last = factories.make_entry(
        message, action="recall", target=message.entry, content="", state="failed"
    )
    found = versions.of(message)
    assert [(one.number, one.entry.action, one.is_current) for one in found] == [
        (1, "send", False),
        (1, "recall", False),
        (2, "send", True),
        (2, "recall", False),
    ]
    assert found[-1].entry == last


def test_a_version_was_sent_when_its_send_was_settled() -> None:
    first, recall, second = versions.of(edited())
    assert first.sent_at == NOW - timedelta(minutes=2)
    assert first.entry.recalled_at == NOW
    assert recall.sent_at == NOW
    assert second.sent_at == second.entry.settled_at


@pytest.mark.parametrize("state", ["pending", "sending", "unknown", "failed", "discarded"])
def test_what_did_not_surely_arrive_has_no_time_of_sending(state: str) -> None:
    (version,) = versions.of(factories.make_sent(state=state))
    assert version.sent_at is None


def test_a_messages_page_shows_its_versions(admin_client: Client) -> None:
    message = edited()
    page = shown(admin_client, message)
    assert page.index("old words") < page.rindex("new words")
    for entry in message.entries.all():
        assert reverse("admin:core_outboxentry_change", args=[entry.pk]) in page
    for text in ("501", "502", "current", NOW.strftime("%Y-%m-%d %H:%M:%S")):
        assert text in page


def test_a_messages_page_needs_as_many_queries_for_many_versions(admin_client: Client) -> None:
    message = edited()
    factories.make_entry(message, action="recall", target=message.entry, content="")
    shown(admin_client, message)
    with CaptureQueriesContext(connection) as few:
        shown(admin_client, message)
    for _ in range(10):
        factories.make_entry(message, action="recall", target=message.entry, content="")
    with CaptureQueriesContext(connection) as many:
        shown(admin_client, message)
    assert len(many) == len(few)


def test_an_entrys_page_leads_to_what_it_stands_behind(admin_client: Client) -> None:
    message = edited()
    recall = OutboxEntry.objects.get(action="recall")
    assert f"send #{recall.target_id}, recalled" in shown(admin_client, recall)
    page = shown(admin_client, message.entry)
    assert f"recall #{recall.pk}, sent" in page
    assert "new words" in page


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"history_asked": 0}, "never"),
        ({"history_asked": 1, "history_asked_at": NOW}, "1 time, last"),
        ({"history_asked": 3, "history_lacked": 1}, "3 times, 1 reading lacked it"),
        ({"evidence_until": None}, "from the bot&#x27;s next connection on"),
        ({"evidence_until": NOW + timedelta(hours=1)}, "until "),
        ({"evidence_until": NOW - timedelta(hours=1)}, "no longer, since"),
    ],
)
def test_an_entrys_page_tells_how_evidence_was_sought(
    admin_client: Client, fields: dict[str, Any], text: str
) -> None:
    message = factories.make_sent(state="unknown", entry=fields)
    assert text in shown(admin_client, message.entry)
