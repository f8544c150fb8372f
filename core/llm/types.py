"""What a model call gives back: plain, frozen, safe to store."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """One tool call that the model asks for; `arguments` as it wrote them, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to one request.

    `message` goes back to the model as it is when the conversation goes on. Other endpoints than
    the one that wrote it may read it, so names and arguments that a strict one would refuse are
    put right in `message`; `tool_calls` has what the model really wrote.
    """

    message: dict[str, Any]
    content: str | None
    tool_calls: tuple[ToolCallRequest, ...]
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    retries: int = 0
    seconds: float = 0.0
