"""`send_message(sticker=…)`: what may be sent, what is written for it, and what is told of it."""

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from core import capabilities, evidence, outbox, outcomes, sending, stickers
from core.capabilities import Ability, Platform
from core.database import give_back
from core.llm.types import ToolCallRequest
from core.models import Chat, OutboxEntry, SentMessage, Turn
from core.outbox import Words
from core.stickers import Sendable
from core.toolcalls import ToolContext
from core.tools import execution, own_words, registry, speaking
from tests.factories import make_bot, make_chat, make_item, make_sent, make_turn

pytestmark = pytest.mark.django_db
CONNECTION = 7
CAN = Ability(True)
ABLE = Platform(dict.fromkeys(("sticker", "quote", "voice", "recall", "tag.face"), CAN), None)
FACE = {"emoji_id": "a1", "emoji_package_id": 5, "key": "k", "summary": "[贴贴]"}
PICTURE = Sendable("sq7fj2k9x", "ab" * 32)
MARKET = Sendable("sm8hj3k2y", "cd" * 32, FACE)
TEXT = [{"type": "text", "data": {"text": "well done"}}]


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot(connection_number=CONNECTION))


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


@pytest.fixture(autouse=True)
def _stickers(monkeypatch: pytest.MonkeyPatch, chat: Chat, settings: Settings) -> None:
    """Two stickers of this chat, none of any other."""
    settings.ARISE_SEND_PACE = settings.ARISE_DRAFT_SECONDS = 0
    settings.ARISE_TTS_MODEL = "a-voice"
    known = {(chat.pk, sticker.ref): sticker for sticker in (PICTURE, MARKET)}
    monkeypatch.setattr(stickers, "_source", lambda chat, ref: known.get((chat.pk, ref)))
    monkeypatch.setattr(stickers, "_sent_listener", None)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: ABLE)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Which entries were told as sent, with the refs of their stickers."""
    told: list[tuple[int, str]] = []
    monkeypatch.setattr(stickers, "_sent_listener", lambda entry, ref: told.append((entry.pk, ref)))
    return told


def send(turn: Turn, **given: Any) -> dict[str, Any]:
    """What one call of `send_message` is told: made ready, then applied, a step of its own."""
    tools: dict[str, registry.Tool | None] = {
        tool.name: tool for tool in registry.offered(turn.chat, capabilities.in_chat(turn.chat))
    }
    request = ToolCallRequest("1", "send_message", json.dumps(given))
    (prepared,) = execution.prepare(tools, turn, [request])
    with transaction.atomic():
        context = ToolContext(turn.chat, turn, turn.steps, 0, timezone.now(), prepared)
        result = execution.execute(tools, context, name=request.name, arguments=request.arguments)
    turn.steps += 1
    return dict(result.values)


def written(chat: Chat) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """The chat's messages: kind, content and parts."""
    found = OutboxEntry.objects.filter(chat=chat).select_related("message").order_by("pk")
    return [
        (entry.message.kind if entry.message else "", entry.content, entry.parts) for entry in found
    ]


def part(sticker: Sendable, instead: list[dict[str, Any]]) -> dict[str, Any]:
    data = {
        "ref": sticker.ref,
        "sha256": sticker.sha256,
        "market_face": dict(sticker.market_face),
        "instead": instead,
    }
    return {"type": "sticker", "data": data}


def arguments(chat: Chat) -> dict[str, Any]:
    """The arguments of `send_message` that the model is shown in a chat."""
    tools = registry.offered(chat, capabilities.in_chat(chat))
    (tool,) = [tool for tool in tools if tool.name == "send_message"]
    shown: dict[str, Any] = tool.schema()["function"]["parameters"]["properties"]
    return shown


def test_a_sticker_is_one_message_and_its_words_wait_in_case(turn: Turn) -> None:
    assert send(turn, content="well done", sticker=PICTURE.ref) == {"ok": True, "handle": "m1"}
    assert written(turn.chat) == [("sticker", "well done", [part(PICTURE, TEXT)])]
    assert turn.sends == 1


@pytest.mark.parametrize("given", [{"content": ""}, {"content": " \n"}, {}])
def test_a_sticker_needs_no_words(turn: Turn, given: dict[str, str]) -> None:
    assert send(turn, sticker=PICTURE.ref, **given)["ok"]
    assert written(turn.chat) == [("sticker", "", [part(PICTURE, [])])]


def test_without_a_sticker_words_are_needed_as_ever(turn: Turn) -> None:
    assert send(turn, content="", sticker="")["error"] == "empty_message"
    assert send(turn)["error"] == "bad_arguments"
    assert "content" in speaking.SEND_MESSAGE.schema()["function"]["parameters"]["required"]


def test_an_unknown_sticker_and_another_chats_are_refused(turn: Turn) -> None:
    assert send(turn, content="hi", sticker="snothing22")["error"] == "unknown_sticker"
    other = make_turn(make_chat(), state="running")
    assert send(other, content="hi", sticker=PICTURE.ref)["error"] == "unknown_sticker"
    assert (turn.sends, other.sends, OutboxEntry.objects.count()) == (0, 0, 0)


def test_a_sticker_takes_one_of_the_send_budget(turn: Turn, settings: Settings) -> None:
    settings.ARISE_MAX_SENDS_PER_TURN = 1
    assert send(turn, sticker=PICTURE.ref)["ok"]
    assert send(turn, sticker=PICTURE.ref)["error"] == "send_budget_spent"


def test_a_sticker_is_not_spoken_and_nothing_is_paid_for(turn: Turn) -> None:
    told = send(turn, content="hi", sticker=PICTURE.ref, voice=True)
    assert told["error"] == "sticker_or_voice"
    assert (turn.sends, written(turn.chat)) == (0, [])


def test_a_picture_quotes_and_a_face_of_the_platform_may_not(turn: Turn) -> None:
    item = make_item(turn.chat)
    quote = {"type": "reply", "data": {"id": item.platform_message_id}}
    given = {"content": "well done", "quote": item.platform_message_id}
    assert "note" not in send(turn, sticker=PICTURE.ref, **given)
    assert "quotes nothing" in send(turn, sticker=MARKET.ref, **given)["note"]
    assert [parts for _, _, parts in written(turn.chat)] == [
        [quote, part(PICTURE, TEXT)],
        [quote, part(MARKET, TEXT)],
    ]
    assert send(turn, sticker=PICTURE.ref, quote="404")["error"] == "unknown_quote"


def test_the_argument_is_shown_where_stickers_may_be_sent(
    chat: Chat, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "sticker" in arguments(chat)
    assert "may be empty" in arguments(chat)["content"]["description"]
    chat.capability_settings.create(target="cap", name="sticker", allowed=False)
    assert "sticker" not in arguments(chat)
    assert "may be empty" not in arguments(chat)["content"]["description"]
    told = send(turn, content="hi", sticker=PICTURE.ref)
    assert (told["error"], OutboxEntry.objects.count()) == ("bad_arguments", 0)
    monkeypatch.setattr(stickers, "_source", None)
    assert "sticker" not in arguments(make_chat())


def entry_of(chat: Chat, **fields: Any) -> OutboxEntry:
    """The entry of a sticker, pending unless said otherwise."""
    context = ToolContext(chat, make_turn(chat), 0, 0, timezone.now())
    message = outbox.write_sticker(context, Words("well done", TEXT), PICTURE)
    assert message.entry is not None
    chat.save(update_fields=["next_handle"])
    OutboxEntry.objects.filter(pk=message.entry.pk).update(**fields)
    message.entry.refresh_from_db()
    return message.entry


SENDING: dict[str, Any] = {"state": "sending", "connection_number": CONNECTION}


def test_it_is_told_once_when_the_platform_says_so(
    chat: Chat, counted: list[tuple[int, str]]
) -> None:
    entry = entry_of(chat, **SENDING)
    assert sending.mark_sent(entry.pk, None)
    assert not sending.mark_sent(entry.pk, None)
    assert counted == [(entry.pk, PICTURE.ref)]


@pytest.mark.django_db(transaction=True)
def test_it_is_told_once_where_two_see_at_the_same_time_that_it_was_sent(
    chat: Chat, counted: list[tuple[int, str]]
) -> None:
    entry = entry_of(chat, **SENDING)
    other = threading.Thread(target=_mark_sent, args=(entry.pk,))
    with transaction.atomic():
        assert sending.mark_sent(entry.pk, None)
        other.start()
        other.join(0.5)  # it waits for this transaction, or has overtaken it
    other.join()
    assert counted == [(entry.pk, PICTURE.ref)]


def _mark_sent(entry_id: int) -> None:
    try:
        sending.mark_sent(entry_id, None)
    finally:
        give_back()


def test_it_is_told_once_when_evidence_settles_it_later(
    chat: Chat, counted: list[tuple[int, str]]
) -> None:
    entry = entry_of(chat, **SENDING)
    sending.mark_unknown(entry.pk, reason="timeout")
    assert counted == []
    assert evidence.take_echo(chat, message_id=None, text="", kinds=["image"])
    assert counted == [(entry.pk, PICTURE.ref)]


def test_it_is_told_when_its_echo_came_and_its_answer_never_does(
    chat: Chat, counted: list[tuple[int, str]]
) -> None:
    entry = entry_of(chat, **SENDING, platform_message_id="99")
    sending.mark_unknown(entry.pk, reason="timeout")
    entry.refresh_from_db()
    assert (entry.state, counted) == ("sent", [(entry.pk, PICTURE.ref)])


@pytest.mark.parametrize("end", ["failed", "discarded"])
def test_what_was_not_sent_is_not_told(
    chat: Chat, counted: list[tuple[int, str]], end: str
) -> None:
    if end == "failed":
        sending.mark_failed(entry_of(chat, **SENDING).pk, reason="refused")
    else:
        entry_of(chat)
        chat.capability_settings.create(target="cap", name="sticker", allowed=False)
        assert sending.claim(chat.bot_id, CONNECTION) == []
        assert OutboxEntry.objects.get().reason == "capability_off"
    assert counted == []


def test_words_in_its_place_count_as_no_sticker_and_the_model_is_told(
    chat: Chat, counted: list[tuple[int, str]]
) -> None:
    entry = entry_of(chat, **SENDING)
    sending.keep_parts(entry.pk, TEXT)
    sending.mark_sent(entry.pk, None, note="refused")
    untold = outcomes.untold(chat)
    assert outcomes.lines(untold) == '<outcome handle="m1" state="sent" reason="sent_as_text"/>'
    outcomes.mark_told(untold)
    assert (outcomes.untold(chat), counted) == ([], [])


def test_a_sticker_that_was_sent_is_no_news(chat: Chat) -> None:
    sending.mark_sent(entry_of(chat, **SENDING).pk, None)
    assert outcomes.untold(chat) == []


def test_a_listener_that_fails_leaves_the_message_sent(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(entry: OutboxEntry, ref: str) -> None:
        raise RuntimeError

    monkeypatch.setattr(stickers, "_sent_listener", fails)
    entry = entry_of(chat, **SENDING)
    assert sending.mark_sent(entry.pk, None)
    entry.refresh_from_db()
    assert entry.state == "sent"


@pytest.mark.parametrize("kinds", [["sticker"], ["image"], ["reply", "sticker"]])
def test_an_echo_is_known_as_the_sticker_that_was_sent(chat: Chat, kinds: list[str]) -> None:
    entry = entry_of(chat, **SENDING)
    assert not evidence.take_echo(chat, message_id=None, text="hi", kinds=kinds)
    assert not evidence.take_echo(chat, message_id=None, text="", kinds=["voice"])
    assert evidence.take_echo(chat, message_id=None, text="", kinds=kinds)
    entry.refresh_from_db()
    assert entry.state == "sending"


def test_the_words_that_go_out_after_all_are_waited_for_anew(chat: Chat) -> None:
    entry = entry_of(chat, **SENDING, sending_at=timezone.now() - timedelta(seconds=500))
    sending.keep_parts(entry.pk, TEXT)
    sending.sweep()
    entry.refresh_from_db()
    assert entry.state == "sending"


@pytest.mark.parametrize(("of_sticker", "state"), [(True, "sending"), (False, "unknown")])
def test_a_sender_of_a_sticker_is_not_given_up_while_it_waits(
    chat: Chat, settings: Settings, of_sticker: bool, state: str
) -> None:
    settings.ARISE_SEND_TIMEOUT_SECONDS = 20
    at = timezone.now() - timedelta(seconds=500)
    if of_sticker:
        entry_of(chat, **SENDING, sending_at=at)
    else:
        make_sent(chat, "hi", "sending", entry={"sending_at": at})
    sending.sweep()
    assert OutboxEntry.objects.get().state == state


def test_a_sticker_is_taken_back_and_not_edited(turn: Turn) -> None:
    send(turn, content="hi", sticker=PICTURE.ref)
    tools = {"edit": own_words.EDIT, "self_recall": own_words.SELF_RECALL}
    context = ToolContext(turn.chat, turn, turn.steps, 0, timezone.now())
    for name, given, error in (
        ("edit", {"handle": "m1", "new_content": "x"}, "not_editable"),
        ("self_recall", {"handle": "m1"}, None),
    ):
        result = execution.execute(tools, context, name=name, arguments=json.dumps(given))
        assert result.values.get("error") == error
    assert OutboxEntry.objects.get(turn=turn).state == "discarded"
    assert SentMessage.objects.get().kind == "sticker"
