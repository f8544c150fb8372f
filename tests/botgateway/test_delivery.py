"""What becomes of a send's answer."""

import pytest
from django.db import OperationalError

from botgateway import delivery
from botgateway.actions import Response
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from core import sending
from core.models import OutboxEntry
from core.sending import Claimed
from tests.factories import make_bot, make_chat, make_sent
from tests.flows.waiting import in_database

pytestmark = pytest.mark.django_db
SENT = Response(echo="send-1-1", ok=True, retcode=0, data={"message_id": 5})


def test_a_late_answer_settles_a_send_of_its_own_bot_alone() -> None:
    entry = make_sent(state="unknown").entry
    assert entry is not None
    delivery.settle_late(make_bot().pk, entry.pk, SENT)
    entry.refresh_from_db()
    assert entry.state == "unknown"
    delivery.settle_late(entry.bot_id, entry.pk, SENT)
    entry.refresh_from_db()
    assert (entry.state, entry.platform_message_id) == ("sent", "5")


async def test_an_outcome_waits_for_a_database_that_is_away() -> None:
    answers = iter([OperationalError("restarting"), None])
    kept: list[str] = []

    def keep(state: str) -> None:
        if failure := next(answers):
            raise failure
        kept.append(state)

    await delivery._keep(keep, "sent")
    assert kept == ["sent"]


async def nowhere(*_: object) -> None:
    """Neither written nor closed."""


@pytest.mark.django_db(transaction=True)
async def test_what_was_never_handed_over_waits_for_the_next_connection() -> None:
    def claimed() -> tuple[OutboxEntry, Claimed]:
        bot = make_bot(connection_number=7)
        entry = make_sent(make_chat(bot), state="pending").entry
        assert entry is not None
        (claim,) = sending.claim(bot.pk, 7)
        return entry, claim

    entry, claim = await in_database(claimed)
    connection = LiveConnection(7, entry.bot_id, "1", "universal", Calls(nowhere), nowhere)
    connection.calls.close()
    await delivery.deliver(connection, claim)
    await in_database(entry.refresh_from_db)
    assert (entry.state, entry.connection_number) == ("pending", None)
