"""Migrations move what is there: written as the older schema had it, read as the newer one has it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from core.models import SentMessage

pytestmark = pytest.mark.django_db(transaction=True)
FIRST = [("core", "0001_first")]
NOW = timezone.now().replace(microsecond=0)
STATES = ["pending", "sending", "sent", "unknown", "failed", "discarded"]


@pytest.fixture(autouse=True)
def newest_schema_again() -> Iterator[None]:
    yield
    forward()


def migrate(targets: list[tuple[str, str]] | None = None) -> MigrationExecutor:
    """Migrate to these, or to the newest. A site that other tests left running may be in the way of
    a table's lock: what it breaks off is tried again."""
    for tries_left in reversed(range(10)):
        executor = MigrationExecutor(connection)
        try:
            executor.migrate(targets or executor.loader.graph.leaf_nodes())
        except OperationalError:
            if not tries_left:
                raise
        else:
            return executor
    raise AssertionError


def forward() -> None:
    migrate()


def back() -> Any:
    """The models as the first migration has them, and their tables."""
    return migrate(FIRST).loader.project_state(FIRST).apps


def write_first_rows(apps: Any) -> None:
    """A message of its own for each state, as the first schema keeps them."""
    bot = apps.get_model("core", "Bot").objects.create(self_id="10001")
    chat = apps.get_model("core", "Chat").objects.create(bot=bot, kind="group", external_id="1")
    for index, state in enumerate(STATES):
        message = apps.get_model("core", "SentMessage").objects.create(
            chat=chat, handle=f"m{index}", content=f"words of {state}", created_at=NOW
        )
        message.entry = apps.get_model("core", "OutboxEntry").objects.create(
            bot=bot,
            chat=chat,
            message=message,
            call_index=index,
            action="send",
            state=state,
            due_at=NOW,
            expires_at=NOW + timedelta(hours=1),
            created_at=NOW,
            settled_at=None if state in ("pending", "sending") else NOW,
        )
        message.save()


def test_contents_move_to_the_entries_and_nobody_waits_for_old_evidence_or_is_told_old_news() -> (
    None
):
    write_first_rows(back())
    forward()
    found: dict[str, tuple[str, str, datetime | None]] = {}
    for message in SentMessage.objects.select_related("entry"):
        entry = message.entry
        assert entry is not None
        assert entry.content == f"words of {entry.state}"
        found[entry.state] = (message.handle, entry.told_state, entry.evidence_until)
    assert found == {
        "pending": ("m0", "", None),
        "sending": ("m1", "", None),
        "sent": ("m2", "sent", None),
        "unknown": ("m3", "unknown", NOW),
        "failed": ("m4", "failed", None),
        "discarded": ("m5", "discarded", None),
    }


def test_contents_move_back_to_the_messages() -> None:
    write_first_rows(back())
    forward()
    messages = back().get_model("core", "SentMessage").objects.order_by("handle")
    contents = list(messages.values_list("content", flat=True))
    assert contents == [f"words of {state}" for state in STATES]
