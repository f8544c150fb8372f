"""The registry of tools and what a bad call is told."""

import json
from dataclasses import replace

import pytest
from django.utils import timezone
from pydantic import Field

from core.errors import ToolRefusal
from core.models import Chat, Turn
from core.toolcalls import ToolContext
from core.tools import execution, registry
from core.tools.registry import Arguments, Tool, ToolResult
from tests.factories import make_chat, make_effective, make_turn


class Number(Arguments):
    number: int = Field(description="A number.")


def apply(context: ToolContext, arguments: Number) -> ToolResult:
    context.turn.silence_reason = str(arguments.number)
    context.turn.save()
    if arguments.number == 13:
        raise ToolRefusal("unlucky", "Not this one.")
    if arguments.number == 0:
        raise ZeroDivisionError
    return ToolResult({"doubled": 2 * arguments.number})


TOOL = Tool("double", "Doubles a number.", Number, apply, capability="edit")
CAPABLE = {"edit": True}


@pytest.mark.django_db
def test_the_built_in_tools_are_registered_and_a_name_is_taken_once() -> None:
    names = [tool.name for tool in registry.offered(make_chat(), make_effective())]
    assert names[:2] == ["send_message", "stay_silent"]
    with pytest.raises(ValueError, match="send_message"):
        registry.register(Tool("send_message", "", Number, apply))


def test_a_schema_has_what_chat_completions_want_and_nothing_else() -> None:
    assert TOOL.schema() == {
        "type": "function",
        "function": {
            "name": "double",
            "description": "Doubles a number.",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "integer", "description": "A number."}},
                "required": ["number"],
                "additionalProperties": False,
            },
        },
    }


def test_a_tool_is_given_as_the_chat_has_it_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    two, three = Chat(external_id="2"), Chat(external_id="3")
    mine = Tool(
        "mine", "", Number, apply, fit=lambda chat, effective: TOOL if chat is two else None
    )
    monkeypatch.setattr(registry, "_tools", {"mine": mine})
    nothing = make_effective()
    assert registry.offered(two, nothing) == [TOOL]
    assert registry.offered(three, nothing) == []


class Loud(Number):
    loud: bool = Field(default=False, description="Shout.")


@pytest.mark.django_db
def test_an_argument_that_a_chat_has_not_is_neither_shown_nor_taken(turn: Turn) -> None:
    tool = replace(TOOL, arguments=Loud, without=frozenset({"loud"}), notes={"number": "Small."})
    properties = tool.schema()["function"]["parameters"]["properties"]
    assert list(properties) == ["number"]
    assert properties["number"]["description"] == "A number. Small."
    context = ToolContext(turn.chat, turn, 0, 0, timezone.now())
    result = execution.execute(
        {"double": tool}, context, name="double", arguments='{"number": 1, "loud": true}'
    )
    assert result.values["error"] == "bad_arguments"


@pytest.fixture
def turn() -> Turn:
    return make_turn()


def call(turn: Turn, arguments: str, name: str = "double") -> dict[str, object]:
    place = ToolContext(turn.chat, turn, 0, 0, timezone.now())
    result = execution.execute({"double": TOOL}, place, name=name, arguments=arguments)
    return dict(result.values)


@pytest.mark.django_db
def test_a_good_call_is_told_ok_and_its_values(turn: Turn) -> None:
    assert call(turn, '{"number": 4}') == {"ok": True, "doubled": 8}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("", "bad_arguments"),
        ("{", "bad_json"),
        ("[" * 5000, "bad_json"),
        ("null", "bad_arguments"),
        ('{"number": "4"}', "bad_arguments"),
        ('{"number": 4, "more": 1}', "bad_arguments"),
        (json.dumps({"number": "x" * 10_000}), "bad_arguments"),
        ('{"number": 13}', "unlucky"),
        ('{"number": 0}', "internal_error"),
    ],
)
def test_a_bad_call_is_told_why_and_what_it_wrote_is_taken_back(
    turn: Turn, arguments: str, error: str
) -> None:
    told = call(turn, arguments)
    assert (told["ok"], told["error"]) == (False, error)
    assert isinstance(told["message"], str)
    assert len(told["message"]) < 1000
    turn.refresh_from_db()
    assert turn.silence_reason == ""


@pytest.mark.django_db
def test_an_unknown_tool_is_told_which_there_are(turn: Turn) -> None:
    told = call(turn, "{}", name="x" * 10_000)
    assert told["error"] == "unknown_tool"
    assert "double" in str(told["message"])
    assert len(str(told["message"])) < 1000
