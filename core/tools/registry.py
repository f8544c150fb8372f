"""The open registry of tools: an app adds one by registering one object, and nothing else changes.

A tool's `apply` runs inside the step's transaction and touches the database only; it never talks
to a socket. Its arguments are a pydantic model: one source for the schema and the check.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from core.toolcalls import ToolContext


class Arguments(BaseModel):
    """Arguments of a tool: exact types, nothing unknown."""

    model_config = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told besides `ok`; `ends_turn` where nothing is to follow."""

    values: Mapping[str, Any]
    ends_turn: bool = False


@dataclass(frozen=True)
class Tool:
    """One tool. `capability` names what the chat must have for the model to see it; None: always.

    `apply` may raise core.errors.ToolRefusal: the model is told its code and sentence, and what
    the call had written is taken back.
    """

    name: str
    description: str
    arguments: type[Arguments]
    apply: Callable[[ToolContext, Any], ToolResult]
    capability: str | None = None

    def schema(self) -> dict[str, Any]:
        """The tool as chat completions describe it."""
        parameters = self.arguments.model_json_schema()
        parameters.pop("title", None)
        parameters.pop("description", None)
        for field in parameters.get("properties", {}).values():
            field.pop("title", None)
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": parameters,
            },
        }


_tools: dict[str, Tool] = {}


def register(tool: Tool) -> None:
    """Add a tool; a name that is taken already is a ValueError."""
    if tool.name in _tools:
        raise ValueError(f"there is already a tool named {tool.name}")
    _tools[tool.name] = tool


def offered(capabilities: Mapping[str, bool]) -> list[Tool]:
    """The tools that a chat with these effective capabilities has, in the order of registration."""
    return [
        tool
        for tool in _tools.values()
        if tool.capability is None or capabilities.get(tool.capability, False)
    ]


def schemas(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """What the model is given."""
    return [tool.schema() for tool in tools]
