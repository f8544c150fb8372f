"""The open registry of tools: an app adds one by registering one object, and nothing else changes.

A tool's `apply` runs inside the step's transaction and touches the database only; it never talks
to a socket. Its arguments are a pydantic model: one source for the schema and the check.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from core.capabilities import Effective
from core.models import Chat
from core.toolcalls import ToolContext


class Arguments(BaseModel):
    """Arguments of a tool: exact types, nothing unknown."""

    model_config = ConfigDict(strict=True, extra="forbid")


def _as_text(given: Any) -> Any:
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


Identifier = Annotated[str, BeforeValidator(_as_text)]
"""An id as an argument: text, also where the model writes it as the number that it looks like."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told besides `ok`; `ends_turn` where nothing is to follow."""

    values: Mapping[str, Any]
    ends_turn: bool = False


@dataclass(frozen=True)
class Tool:
    """One tool. `capability` names what the chat must have for the model to see it; None: always.

    `fit` gives the tool as one chat has it, with other arguments say, and None where the chat has
    no use for it; it may read the database, and is asked only where the capability holds.

    Arguments named in `without` (all with defaults) are not in the schema, and refused when given;
    `notes` by argument are added to its description.

    `prepare` runs before the step's transaction, with no connection held over its waits: it may
    ask a model and writes nothing of the turn's. Its context has a copy of the turn, so that it can
    count what the step's earlier calls take. What it returns is `ToolContext.prepared`.

    `apply` may raise core.errors.ToolRefusal: the model is told its code and sentence, and what
    the call had written is taken back.
    """

    name: str
    description: str
    arguments: type[Arguments]
    apply: Callable[[ToolContext, Any], ToolResult]
    capability: str | None = None
    fit: Callable[[Chat, Effective], "Tool | None"] | None = None
    prepare: Callable[[ToolContext, Any], Any] | None = None
    without: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """The tool as chat completions describe it."""
        parameters = self.arguments.model_json_schema()
        parameters.pop("title", None)
        parameters.pop("description", None)
        properties = parameters.get("properties", {})
        for name in self.without:
            properties.pop(name, None)
        for name, argument in properties.items():
            argument.pop("title", None)
            if note := self.notes.get(name):
                argument["description"] = f"{argument.get('description', '')} {note}".strip()
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


def offered(chat: Chat, effective: Effective) -> list[Tool]:
    """The tools that a chat has, each as it has it, in the order of registration."""
    holds = effective.capabilities
    able = [tool for tool in _tools.values() if tool.capability is None or holds[tool.capability]]
    made = [tool.fit(chat, effective) if tool.fit else tool for tool in able]
    return [tool for tool in made if tool is not None]


def schemas(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """What the model is given."""
    return [tool.schema() for tool in tools]
