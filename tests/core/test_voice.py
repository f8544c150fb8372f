"""Voice messages: who may speak aloud, what is paid for, and what goes out where it can't be made."""

import json
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from core import capabilities, outbox, sending, tasks
from core.capabilities import Ability, Platform
from core.llm import client
from core.llm.types import ToolCallRequest
from core.models import Chat, ModelCallCount, OutboxEntry, SentMessage, Turn
from core.outbox import Words
from core.toolcalls import ToolContext
from core.tools import execution, own_words, registry, voice
from tests.factories import make_bot, make_chat, make_member, make_sent, make_turn
from tests.fakes.model import UNSPEAKABLE, VOICE_MODEL, ScriptedModel, recording
from tests.fakes.model_fixtures import scripted_model

__all__ = ["scripted_model"]
pytestmark = pytest.mark.django_db
CONNECTION = 7
CAN = Ability(True)
ABLE = Platform({"voice": CAN, "tag.user": CAN, "tag.face": CAN})


@pytest.fixture(autouse=True)
def _endpoint(settings: Settings, scripted_model: ScriptedModel) -> None:
    scripted_model.spoken.clear()
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_MODEL_RETRIES = 0
    settings.ARISE_TTS_MODEL = VOICE_MODEL
    settings.ARISE_TTS_VOICE = "nova"
    settings.ARISE_SEND_PACE = settings.ARISE_DRAFT_SECONDS = 0


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probe", lambda chat: ABLE)


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot(connection_number=CONNECTION))


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


def step(turn: Turn, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """What a step with these `send_message` calls is told: made ready, then applied."""
    tools: dict[str, registry.Tool | None] = {
        tool.name: tool for tool in registry.offered(turn.chat, capabilities.in_chat(turn.chat))
    }
    requests = [
        ToolCallRequest(str(index), "send_message", json.dumps(call))
        for index, call in enumerate(calls)
    ]
    prepared = execution.prepare(tools, turn, requests)
    told = []
    with transaction.atomic():
        for index, request in enumerate(requests):
            context = ToolContext(
                turn.chat, turn, turn.steps, index, timezone.now(), prepared[index]
            )
            result = execution.execute(
                tools, context, name=request.name, arguments=request.arguments
            )
            told.append(dict(result.values))
    turn.steps += 1
    return told


def aloud(content: str) -> dict[str, Any]:
    return {"content": content, "voice": True}


def written(turn: Turn) -> list[tuple[str, str, bytes | None]]:
    """The turn's messages: their kind, content and recording."""
    entries = OutboxEntry.objects.filter(turn=turn).order_by("pk").defer(None)
    found = entries.select_related("message")
    return [
        (entry.message.kind if entry.message else "", entry.content, _bytes(entry.payload))
        for entry in found
    ]


def _bytes(payload: Any) -> bytes | None:
    return None if payload is None else bytes(payload)


def spoken(model: ScriptedModel) -> list[str]:
    return [request["input"] for request in model.spoken]


def paid() -> int:
    return sum(ModelCallCount.objects.values_list("calls", flat=True))


def test_a_voice_message_is_spoken_and_written_with_its_words(
    turn: Turn, scripted_model: ScriptedModel
) -> None:
    assert step(turn, aloud("good morning")) == [{"ok": True, "handle": "m1", "voice": True}]
    assert written(turn) == [("voice", "good morning", recording("good morning"))]
    (request,) = scripted_model.spoken
    assert (request["model"], request["voice"]) == (VOICE_MODEL, "nova")
    assert (turn.sends, paid()) == (1, 1)


def test_a_message_without_voice_costs_nothing(turn: Turn, scripted_model: ScriptedModel) -> None:
    assert step(turn, {"content": "hi", "voice": False}) == [{"ok": True, "handle": "m1"}]
    assert (written(turn), paid()) == ([("text", "hi", None)], 0)


def test_names_are_spoken_and_faces_are_not(turn: Turn, scripted_model: ScriptedModel) -> None:
    make_member(turn.chat, user_id="30001", name="Ann")
    step(turn, aloud("hi @user:30001 @face:76 @nobody:1!"))
    assert spoken(scripted_model) == ["hi Ann  !"]
    assert written(turn)[0][1] == "hi @user:30001 @face:76 @nobody:1!"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "empty_message"),
        (" \n", "empty_message"),
        ("@face:76", "empty_message"),
        ("@nobody", "empty_message"),
        ("x" * (voice.LONGEST_SPOKEN + 1), "too_long_for_voice"),
        ("x" * 4001, "too_long"),
    ],
)
def test_what_may_not_be_said_or_spoken_is_refused_and_costs_nothing(
    turn: Turn, scripted_model: ScriptedModel, content: str, code: str
) -> None:
    (told,) = step(turn, aloud(content))
    assert (told["ok"], told["error"]) == (False, code)
    assert (spoken(scripted_model), paid(), turn.sends, written(turn)) == ([], 0, 0, [])


def test_the_longest_voice_is_spoken(turn: Turn) -> None:
    (told,) = step(turn, aloud("x" * voice.LONGEST_SPOKEN))
    assert told["voice"]


def test_a_voice_beyond_the_send_budget_is_not_paid_for(
    turn: Turn, scripted_model: ScriptedModel, settings: Settings
) -> None:
    settings.ARISE_MAX_SENDS_PER_TURN = 3
    told = step(turn, {"content": "one"}, aloud("two"), {"content": "three"}, aloud("four"))
    assert [one.get("error") for one in told] == [None, None, None, "send_budget_spent"]
    assert spoken(scripted_model) == ["two"]
    assert step(turn, aloud("five"))[0]["error"] == "send_budget_spent"
    assert spoken(scripted_model) == ["two"]


def test_what_was_refused_leaves_the_budget_to_what_follows(
    turn: Turn, scripted_model: ScriptedModel, settings: Settings
) -> None:
    settings.ARISE_MAX_SENDS_PER_TURN = 1
    told = step(turn, aloud(""), aloud("x" * 501), aloud("hi"))
    assert [one["ok"] for one in told] == [False, False, True]
    assert spoken(scripted_model) == ["hi"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"daily_model_calls": 0}, "budget_spent"), ({"enabled": False}, "chat_disabled")],
)
def test_without_a_paid_call_the_words_go_out_as_text(
    turn: Turn, scripted_model: ScriptedModel, fields: dict[str, Any], code: str
) -> None:
    # The turn's own copy of the chat does not know of it yet.
    Chat.objects.filter(pk=turn.chat_id).update(**fields)
    (told,) = step(turn, aloud("hi"))
    assert (told["ok"], told["voice"]) == (True, False)
    assert f"({code})" in told["note"]
    assert (spoken(scripted_model), written(turn)) == ([], [("text", "hi", None)])


def test_a_voice_that_fails_goes_out_as_text_and_everybody_is_told(
    turn: Turn, caplog: pytest.LogCaptureFixture
) -> None:
    words = f"this is {UNSPEAKABLE}"
    with caplog.at_level(logging.WARNING, "core.tools.voice"):
        (told,) = step(turn, aloud(words))
    assert told == {
        "ok": True,
        "handle": "m1",
        "voice": False,
        "note": "It goes out as text: it could not be spoken (server_error).",
    }
    assert written(turn) == [("text", words, None)]
    (line,) = caplog.messages
    assert f"turn {turn.pk}: " in line
    assert "this can't be spoken" in line


def test_no_connection_is_held_while_the_voice_is_made(
    turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def speak(**_: str) -> bytes:
        order.append("spoken")
        return b"ID3"

    monkeypatch.setattr(voice, "give_back", lambda: order.append("given back"))
    monkeypatch.setattr(client, "speak", speak)
    step(turn, aloud("hi"))
    assert order == ["given back", "spoken"]


def arguments(chat: Chat) -> list[str]:
    """The arguments of `send_message` that the model is shown in a chat."""
    tools = registry.offered(chat, capabilities.in_chat(chat))
    (tool,) = [tool for tool in tools if tool.name == "send_message"]
    return list(tool.schema()["function"]["parameters"]["properties"])


@pytest.mark.parametrize(
    ("can", "of_bot", "of_chat", "model", "shown"),
    [
        (True, None, None, VOICE_MODEL, True),
        (True, None, None, "", False),
        (True, None, True, "", False),
        (True, False, None, VOICE_MODEL, False),
        (True, False, True, VOICE_MODEL, True),
        (True, True, False, VOICE_MODEL, False),
        (None, None, None, VOICE_MODEL, False),
        (None, None, True, VOICE_MODEL, True),
        (False, None, True, VOICE_MODEL, False),
    ],
)
def test_the_argument_is_shown_where_the_chat_has_a_voice(
    chat: Chat,
    turn: Turn,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    can: bool | None,
    of_bot: bool | None,
    of_chat: bool | None,
    model: str,
    shown: bool,
) -> None:
    settings.ARISE_TTS_MODEL = model
    able = Platform({"voice": Ability(can, "who knows")})
    monkeypatch.setattr(capabilities, "_probe", lambda chat: able)
    for owner, allowed in ((chat.bot, of_bot), (chat, of_chat)):
        if allowed is not None:
            owner.capability_settings.create(target="cap", name="voice", allowed=allowed)
    assert ("voice" in arguments(chat)) is shown
    assert step(turn, aloud("hi"))[0].get("error") == (None if shown else "bad_arguments")
    assert paid() == shown


def test_without_a_tts_model_the_capability_is_off_and_says_so(
    chat: Chat, settings: Settings
) -> None:
    settings.ARISE_TTS_MODEL = ""
    holding = capabilities.in_chat(chat).holdings["voice"]
    assert (holding.holds, holding.reason) == (False, "no TTS model is set")
    assert holding.layers.platform == CAN


def voices(chat: Chat, count: int = 1, **fields: Any) -> Sequence[OutboxEntry]:
    """Pending voices of a chat."""
    turn = make_turn(chat)
    made = []
    for index in range(count):
        context = ToolContext(chat, turn, 0, index, timezone.now())
        words = Words("hello", [{"type": "text", "data": {"text": "hello"}}])
        message = outbox.write_voice(context, words, recording("hello"))
        assert message.entry is not None
        OutboxEntry.objects.filter(pk=message.entry.pk).update(**fields)
        made.append(message.entry)
    return made


def test_who_sends_a_voice_is_given_its_bytes(chat: Chat) -> None:
    voices(chat)
    (claimed,) = sending.claim(chat.bot_id, CONNECTION)
    assert claimed.payload == recording("hello")
    assert [part["type"] for part in claimed.parts] == ["voice"]


@pytest.mark.parametrize("of", ["chat", "bot"])
def test_a_voice_that_is_off_by_now_is_discarded(chat: Chat, of: str) -> None:
    (entry,) = voices(chat)
    make_sent(chat, "text", "pending")
    owner = chat if of == "chat" else chat.bot
    owner.capability_settings.create(target="cap", name="voice", allowed=False)
    (claimed,) = sending.claim(chat.bot_id, CONNECTION)
    assert claimed.payload is None
    entry.refresh_from_db()
    assert (entry.state, entry.reason) == ("discarded", "capability_off")


def test_a_voice_is_taken_back_and_not_edited(turn: Turn) -> None:
    step(turn, aloud("hi"))
    tools = {"edit": own_words.EDIT, "self_recall": own_words.SELF_RECALL}
    context = ToolContext(turn.chat, turn, turn.steps, 0, timezone.now())
    for name, given, error in (
        ("edit", {"handle": "m1", "new_content": "x"}, "not_editable"),
        ("self_recall", {"handle": "m1"}, None),
    ):
        result = execution.execute(tools, context, name=name, arguments=json.dumps(given))
        assert result.values.get("error") == error
    assert OutboxEntry.objects.get(turn=turn).state == "discarded"


def test_lists_do_not_read_recordings(chat: Chat) -> None:
    voices(chat)
    with CaptureQueriesContext(connection) as queries:
        entry = OutboxEntry.objects.get()
        assert entry.content == "hello"
    assert "payload" not in queries[0]["sql"]


@pytest.mark.parametrize(
    ("state", "age", "kept"),
    [
        ("sent", timedelta(hours=25), False),
        ("unknown", timedelta(hours=25), False),
        ("recalled", timedelta(hours=25), False),
        ("discarded", timedelta(hours=25), False),
        ("sent", timedelta(hours=23), True),
        ("pending", timedelta(hours=25), True),
        ("sending", timedelta(hours=25), True),
    ],
)
def test_a_recording_is_dropped_a_day_after_it_was_settled(
    chat: Chat, state: str, age: timedelta, kept: bool
) -> None:
    settled = None if state in {"pending", "sending"} else timezone.now() - age
    voices(chat, state=state, settled_at=settled, created_at=timezone.now() - age)
    tasks.prune()
    payload = OutboxEntry.objects.values_list("payload", flat=True).get()
    assert (payload is not None) is kept
    assert SentMessage.objects.get().kind == "voice"


@pytest.mark.parametrize(
    ("payload_bytes", "timeout", "seconds"),
    [
        (0, 20, 20),
        (1, 20, 60),
        (1, 90, 90),
        (1024 * 1024, 20, 68),
        (4 * 1024 * 1024, 20, 92),
        (1024**3, 20, 300),
        (1, 400, 400),
    ],
)
def test_media_are_waited_for_longer_by_their_size(
    settings: Settings, payload_bytes: int, timeout: float, seconds: float
) -> None:
    settings.ARISE_SEND_TIMEOUT_SECONDS = timeout
    assert sending.answer_seconds(payload_bytes) == pytest.approx(seconds, abs=0.01)


@pytest.mark.parametrize(("is_voice", "state"), [(True, "sending"), (False, "unknown")])
def test_a_sender_of_media_is_not_given_up_while_it_waits(
    chat: Chat, settings: Settings, is_voice: bool, state: str
) -> None:
    settings.ARISE_SEND_TIMEOUT_SECONDS = 20
    claimed_at = timezone.now() - timedelta(seconds=500)
    if is_voice:
        voices(chat, state="sending", sending_at=claimed_at)
    else:
        make_sent(chat, "hi", "sending", entry={"sending_at": claimed_at})
    sending.sweep()
    assert OutboxEntry.objects.get().state == state
