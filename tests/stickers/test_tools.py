"""`search_stickers`: what the model is told, what is paid for, and what is refused."""

import json
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from core import capabilities
from core.capabilities import Ability, Platform
from core.llm import client
from core.llm.types import ToolCallRequest
from core.models import Chat, Turn
from core.toolcalls import ToolContext
from core.tools import execution, registry
from stickers import embeddings, funnel, tools
from tests.factories import make_bot, make_call, make_chat, make_step, make_turn
from tests.fakes.model import EMBEDDING_MODEL, Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model
from tests.stickers.making import embedded, make_sticker

__all__ = ["script", "scripted_model"]
pytestmark = pytest.mark.django_db
STICKER = Platform({"sticker": Ability(True)})


@pytest.fixture(autouse=True)
def _endpoint(settings: Settings, scripted_model: ScriptedModel) -> None:
    scripted_model.embedded.clear()
    settings.ARISE_DEMO_MODEL = False
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_MODEL_RETRIES = 0
    settings.ARISE_EMBEDDING_MODEL = EMBEDDING_MODEL


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probe", lambda chat: STICKER)


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot(connection_number=7))


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


def step(turn: Turn, *queries: str, tool: str = tools.SEARCH) -> list[dict[str, Any]]:
    """What a step with these searches is told, as core.turns and core.journal run it."""
    allowed: dict[str, registry.Tool | None] = {
        tool.name: tool for tool in registry.offered(turn.chat, capabilities.in_chat(turn.chat))
    }
    requests = [
        ToolCallRequest(str(index), tool, json.dumps({"query": query}))
        for index, query in enumerate(queries)
    ]
    prepared = execution.prepare(allowed, turn, requests)
    told = []
    kept = make_step(turn, index=turn.steps)
    with transaction.atomic():
        for index, request in enumerate(requests):
            context = ToolContext(
                turn.chat, turn, turn.steps, index, timezone.now(), prepared[index]
            )
            result = execution.execute(
                allowed, context, name=request.name, arguments=request.arguments
            )
            told.append(dict(result.values))
            make_call(kept, index, name=request.name, arguments=request.arguments, result=told[-1])
    turn.steps += 1
    return told


def test_it_gives_refs_and_meanings_best_first(turn: Turn, scripted_model: ScriptedModel) -> None:
    well = embedded(make_sticker(turn.chat, "well done, that was great", use_when="after a win"))
    embedded(make_sticker(turn.chat, "good night", avoid_when="in the morning"))
    scripted_model.embedded.clear()
    (told,) = step(turn, "well done, that was great!")
    assert told == {
        "ok": True,
        "stickers": [{"ref": well.ref, "meaning": well.meaning, "use_when": "after a win"}],
    }
    (request,) = scripted_model.embedded
    assert request["input"] == ["well done, that was great!"]
    assert funnel.counts(turn.chat.pk, timezone.localdate())[funnel.OFFERED] == 1


def test_it_may_say_that_nothing_fits(turn: Turn) -> None:
    embedded(make_sticker(turn.chat, "good night"))
    (told,) = step(turn, "what a feast")
    assert (told["ok"], told["stickers"]) == (True, [])
    assert "No sticker fits" in told["message"]


def test_what_is_told_is_bounded(turn: Turn) -> None:
    for _ in range(9):
        embedded(make_sticker(turn.chat, "well done " * 300, use_when="x\n" * 999))
    (told,) = step(turn, "well done " * 300)
    assert len(told["stickers"]) == 5
    assert max(len(value) for one in told["stickers"] for value in one.values()) <= 200


def test_it_is_offered_where_the_chat_has_the_capability(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offered() -> bool:
        held = capabilities.in_chat(chat)
        return tools.SEARCH in [tool.name for tool in registry.offered(chat, held)]

    assert offered()  # without any sticker, too
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform({}))
    assert not offered()


def test_nothing_is_embedded_where_the_tool_is_off(
    turn: Turn, scripted_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded(make_sticker(turn.chat, "hello"))
    scripted_model.embedded.clear()
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform({}))
    assert step(turn, "hello")[0]["error"] == "unknown_tool"
    assert not scripted_model.embedded


def test_nothing_is_embedded_where_there_is_nothing_to_find(
    turn: Turn, scripted_model: ScriptedModel
) -> None:
    make_sticker(make_chat(), "hello")
    make_sticker(turn.chat, "hello", state="review")
    (told,) = step(turn, "hello")
    assert told == {"ok": True, "stickers": [], "message": "This chat has no stickers yet."}
    assert not scripted_model.embedded


@pytest.mark.parametrize("query", ["", " \n\u200b\x00 "])
def test_a_query_without_words_is_refused(
    turn: Turn, scripted_model: ScriptedModel, query: str
) -> None:
    embedded(make_sticker(turn.chat, "hello"))
    scripted_model.embedded.clear()
    assert step(turn, query)[0]["error"] == "empty_query"
    assert not scripted_model.embedded


def test_a_query_is_cleaned_before_it_is_embedded(
    turn: Turn, scripted_model: ScriptedModel
) -> None:
    embedded(make_sticker(turn.chat, "hello"))
    scripted_model.embedded.clear()
    step(turn, "\x00hel\u200blo\n" + "x" * 9999)
    (request,) = scripted_model.embedded
    assert request["input"] == ["hello " + "x" * 194]


def test_searches_of_a_turn_are_counted_in_a_step_and_over_steps(
    turn: Turn, scripted_model: ScriptedModel
) -> None:
    embedded(make_sticker(turn.chat, "hello"))
    scripted_model.embedded.clear()
    assert all(told["ok"] for told in step(turn, *["hello"] * 3))
    third, fourth, fifth = step(turn, *["hello"] * 3)
    assert third["ok"]
    assert fourth["ok"]
    assert fifth["error"] == "search_limit"
    assert step(turn, "hello")[0]["error"] == "search_limit"
    assert len(scripted_model.embedded) == tools.MOST_SEARCHES
    assert step(make_turn(turn.chat), "hello")[0]["ok"]


def test_an_endpoint_that_fails_refuses_the_search_and_breaks_nothing(
    turn: Turn, script: Script, settings: Settings
) -> None:
    make_sticker(turn.chat, "hello")
    settings.ARISE_EMBEDDING_MODEL = script.model
    script.reply("busy", status=500)
    (told,) = step(turn, "hello")
    assert told["error"] == "search_failed"
    assert "server_error" in told["message"]


def test_no_connection_is_held_while_the_query_is_embedded(
    turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded(make_sticker(turn.chat, "hello"))
    events: list[str] = []
    asked = client.embed
    monkeypatch.setattr(embeddings, "give_back", lambda: events.append("given back"))

    def embed(**values: Any) -> Any:
        events.append("asked")
        return asked(**values)

    monkeypatch.setattr(client, "embed", embed)
    assert step(turn, "hello")[0]["ok"]
    assert events == ["given back", "asked"]


def test_the_step_itself_asks_no_endpoint(turn: Turn, scripted_model: ScriptedModel) -> None:
    embedded(make_sticker(turn.chat, "hello"))
    (tool,) = [
        tool
        for tool in registry.offered(turn.chat, capabilities.in_chat(turn.chat))
        if tool.name == tools.SEARCH
    ]
    requests = [ToolCallRequest("1", tool.name, '{"query": "hello"}')]
    (ready,) = execution.prepare({tool.name: tool}, turn, requests)
    scripted_model.embedded.clear()
    context = ToolContext(turn.chat, turn, 0, 0, timezone.now(), ready)
    with CaptureQueriesContext(connection) as asked:
        assert tool.apply(context, tool.arguments(query="hello")).values["stickers"]  # type: ignore[call-arg]
    assert not scripted_model.embedded
    assert len([one for one in asked if "<=>" in one["sql"]]) == 1
