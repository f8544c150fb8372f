"""What becomes of a send's answer."""

import json
from typing import Any, cast

import pytest
from django.db import OperationalError
from pytest_django import Settings

from botgateway import delivery
from botgateway.actions import Call, Response, read_response
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from botgateway.delivery import Prepared
from core import sending
from core.messages import PlatformId
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

    await delivery.keep(keep, "sent")
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


REFUSED_VOICE = {
    "retcode": 1200,
    "status": "failed",
    "message": "语音转换失败, 请检查语音文件是否正常",
}
DELIVERED = {"retcode": 0, "status": "ok", "data": {"message_id": 5}}
WORDS = [{"type": "text", "data": {"text": "good morning"}}]


def claimed_voice() -> tuple[OutboxEntry, Claimed]:
    bot = make_bot(connection_number=7)
    made = {"parts": [{"type": "voice", "data": {"instead": WORDS}}], "payload": b"ID3"}
    entry = make_sent(make_chat(bot), "good morning", "pending", kind="voice", entry=made).entry
    assert entry is not None
    (claim,) = sending.claim(bot.pk, 7)
    return entry, claim


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("answers", "sent", "note"),
    [
        ([DELIVERED], [("record", {"file": "base64://SUQz"})], ""),
        (
            [REFUSED_VOICE, DELIVERED],
            [("record", {"file": "base64://SUQz"}), ("text", {"text": "good morning"})],
            "Sent as text, since its voice was refused: 语音转换失败, 请检查语音文件是否正常",
        ),
    ],
)
async def test_a_voice_goes_out_with_its_bytes_and_its_words_where_it_is_surely_refused(
    settings: Settings, answers: list[dict[str, Any]], sent: list[tuple[str, Any]], note: str
) -> None:
    settings.ARISE_TTS_MODEL = "a-voice"
    entry, claim = await in_database(claimed_voice)
    frames: list[dict[str, Any]] = []

    async def answer(text: str) -> None:
        frames.append(json.loads(text))
        told = {**answers[len(frames) - 1], "echo": frames[-1]["echo"]}
        connection.calls.resolve(read_response(told))

    connection = LiveConnection(7, entry.bot_id, "1", "universal", Calls(answer), nowhere)
    await delivery.deliver(connection, claim)
    await in_database(entry.refresh_from_db)
    segments = [frame["params"]["message"] for frame in frames]
    assert [(one["type"], one["data"]) for (one,) in segments] == sent
    assert (entry.state, entry.platform_message_id, entry.error) == ("sent", "5", note)


async def test_the_answer_to_a_voice_is_waited_for_longer(settings: Settings) -> None:
    settings.ARISE_SEND_TIMEOUT_SECONDS = 20
    waited: list[float] = []

    class Patient:
        async def call(self, call: Call, *, echo: str, seconds: float) -> Response:
            waited.append(seconds)
            return SENT

    connection = LiveConnection(7, 1, "1", "universal", cast("Calls", Patient()), nowhere)
    claim = Claimed(1, "send", "group", PlatformId("5"), {}, WORDS, None)
    for media_bytes in (0, 3):
        await delivery._ask(connection, claim, Prepared(Call("send_group_msg"), media_bytes))
    assert waited == [20, pytest.approx(60, abs=0.1)]


@pytest.mark.django_db(transaction=True)
async def test_a_late_answer_waits_for_a_database_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = await in_database(lambda: make_sent(state="unknown").entry)
    assert entry is not None
    monkeypatch.setattr(delivery, "PAUSE_SECONDS", 0)
    answers = iter([OperationalError("restarting")])
    settle = delivery.settle_late

    def away_once(bot_id: int, entry_id: int, response: Response) -> None:
        if failure := next(answers, None):
            raise failure
        settle(bot_id, entry_id, response)

    monkeypatch.setattr(delivery, "settle_late", away_once)
    late = Response(echo=f"send-{entry.pk}-1", ok=True, retcode=0, data={"message_id": 5})
    await delivery.take_late(entry.bot_id, late)
    await in_database(entry.refresh_from_db)
    assert entry.state == "sent"
