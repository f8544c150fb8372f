"""What `send_message` may quote, and what becomes of the quote until the message leaves."""

import json
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from core import capabilities, evidence, judging, sending
from core.capabilities import Ability, Platform
from core.llm.types import ToolCallRequest
from core.messages import PlatformId
from core.models import Chat, OutboxEntry, Turn
from core.outbox import Words
from core.toolcalls import ToolContext
from core.tools import execution, voice
from core.tools.voice import Spoken
from tests.factories import make_bot, make_chat, make_item, make_sent, make_turn

pytestmark = pytest.mark.django_db
CONNECTION = 7


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("recall", "quote", "voice")
    able = Platform({name: Ability(True) for name in names}, recall_seconds=120)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: able)


@pytest.fixture
def chat() -> Chat:
    chat = make_chat(make_bot(connection_number=CONNECTION))
    make_item(chat, platform_message_id="55")
    return chat


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


def call(turn: Turn, name: str = "send_message", **arguments: Any) -> dict[str, Any]:
    chat = Chat.objects.select_related("bot").get(pk=turn.chat_id)
    tools = {tool.name: tool for tool in judging.offered(chat)}
    written = json.dumps(arguments)
    (ready,) = execution.prepare({**tools}, turn, [ToolCallRequest("1", name, written)])
    context = ToolContext(chat, turn, turn.steps, 0, timezone.now(), ready)
    turn.steps += 1
    with transaction.atomic():
        result = execution.execute({**tools}, context, name=name, arguments=written)
        chat.save(update_fields=["next_handle"])
    return dict(result.values)


def parts(quote: str, text: str = "hi") -> list[dict[str, Any]]:
    quoted = [{"type": "reply", "data": {"id": quote}}] if quote else []
    return [*quoted, {"type": "text", "data": {"text": text}}]


def claimed(chat: Chat) -> list[list[dict[str, Any]]]:
    OutboxEntry.objects.update(due_at=timezone.now(), draft_until=None)
    return [entry.parts for entry in sending.claim(chat.bot_id, CONNECTION)]


@pytest.mark.parametrize(
    ("given", "quoted"), [("55", "55"), (55, "55"), ("m9", "77"), (None, ""), ("", "")]
)
def test_a_quote_is_the_first_part_of_the_message(
    turn: Turn, chat: Chat, given: Any, quoted: str
) -> None:
    make_sent(chat, "earlier", handle="m9", entry={"platform_message_id": "77"})
    assert call(turn, content="hi", quote=given)["ok"]
    assert OutboxEntry.objects.get(content="hi").parts == parts(quoted)


@pytest.mark.parametrize(
    ("quote", "code"),
    [
        ("56", "unknown_quote"),
        ("m8", "unknown_quote"),
        ("57", "message_recalled"),
        ("m9", "quote_not_sent"),
    ],
)
def test_a_quote_that_can_not_be_is_refused_and_costs_nothing(
    turn: Turn, chat: Chat, quote: str, code: str
) -> None:
    make_item(make_chat(chat.bot), platform_message_id="56")
    make_item(chat, platform_message_id="57", recalled_at=timezone.now())
    make_sent(chat, "earlier", "pending", handle="m9")
    result = call(turn, content="hi", quote=quote)
    assert (result["ok"], result["error"]) == (False, code)
    assert turn.sends == 0
    assert not OutboxEntry.objects.filter(content="hi").exists()


@pytest.mark.parametrize("before", ["pending", "sent"])
def test_other_words_keep_the_quote(turn: Turn, chat: Chat, before: str) -> None:
    assert call(turn, content="old", quote="55")["ok"]
    if before == "sent":
        claimed(chat)
        sending.mark_sent(OutboxEntry.objects.get().pk, PlatformId("77"))
    assert call(turn, "edit", handle="m1", new_content="new")["ok"]
    assert OutboxEntry.objects.get(content="new").parts == parts("55", "new")


def test_a_quote_says_nothing_by_which_a_message_is_found_again(turn: Turn, chat: Chat) -> None:
    assert call(turn, content="hi", quote="55")["ok"]
    claimed(chat)
    entry = OutboxEntry.objects.get()
    sending.mark_unknown(entry.pk, reason="no_answer")
    assert not evidence.take_echo(chat, message_id=PlatformId("78"), text="55hi")
    assert evidence.take_echo(chat, message_id=PlatformId("77"), text="hi")
    entry.refresh_from_db()
    assert (entry.state, entry.platform_message_id) == ("sent", "77")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_quote_that_is_switched_off_meanwhile_does_not_leave_but_the_words_do(
    turn: Turn, chat: Chat, allowed: bool
) -> None:
    assert call(turn, content="hi", quote="55")["ok"]
    chat.capability_settings.create(target="cap", name="quote", allowed=allowed)
    assert claimed(chat) == [parts("55" if allowed else "")]
    assert OutboxEntry.objects.get().parts == parts("55" if allowed else "")


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[str]:
    """What was paid to be spoken."""
    settings.ARISE_TTS_MODEL = "a-voice"
    aloud: list[str] = []

    def speak(context: ToolContext, words: Words) -> Spoken:
        aloud.append(words.text)
        return Spoken(b"mp3")

    monkeypatch.setattr(voice, "speak", speak)
    return aloud


def test_a_voice_message_quotes_nothing_and_the_words_in_its_stead_do(
    turn: Turn, spoken: list[str]
) -> None:
    result = call(turn, content="hi", quote="55", voice=True)
    assert (result["voice"], result["note"]) == (True, "A voice message quotes nothing.")
    entry = OutboxEntry.objects.get(content="hi")
    assert entry.parts == [{"type": "voice", "data": {"instead": parts("55")}}]
    assert spoken == ["hi"]


def test_a_quote_that_can_not_be_is_refused_before_anything_is_spoken(
    turn: Turn, spoken: list[str]
) -> None:
    result = call(turn, content="hi", quote="99", voice=True)
    assert (result["ok"], result["error"]) == (False, "unknown_quote")
    assert spoken == []
