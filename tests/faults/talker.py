"""A model whose answers are a function of the request alone, so that a repeated call is known.

Each question that people ask carries a mark (`q20001.7`). The newest one of what a turn is asked
about decides how many steps the turn has and what they say; every text names question, step and
call, so it is unique. Where a request offers them, `edit` and `self_recall` are used on messages
of the turn's own now and then.
"""

import hashlib
import json
import random
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arise_site.openai_server import Reply
from tests.fakes.model import ToolCallSpec, assistant, says

MARK = re.compile(r"\bq(\d+\.\d+)\b")
NEW = "<new>"
STEPS = (1, 1, 2, 3)
DELAY_SECONDS = (0.05, 0.3)
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: when it came in (seconds since the epoch), and what it asked."""

    at: float
    digest: str


def digest(messages: Sequence[Message]) -> str:
    """What tells one request from another; the order of keys does not (the journal loses it)."""
    plain = [_canonical(message) for message in messages]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


class Talker:
    """The model: `answer` is asked by the server's threads, `asked` is what it was asked."""

    def __init__(self, seed: int) -> None:
        self.asked: list[Asked] = []
        self._seed = seed
        self._guard = threading.Lock()

    def answer(self, request: dict[str, Any]) -> Reply:
        messages: list[Message] = request["messages"]
        asked = Asked(time.time(), digest(messages))
        with self._guard:
            self.asked.append(asked)
        chance = random.Random(f"{self._seed} {asked.digest}")
        tools = {tool["function"]["name"] for tool in request.get("tools", ())}
        said = assistant(tool_calls=self._calls(messages, tools))
        return says(said, delay=chance.uniform(*DELAY_SECONDS))

    def _calls(self, messages: Sequence[Message], tools: set[str]) -> list[ToolCallSpec]:
        question = _question(messages)
        chance = random.Random(f"{self._seed} {question}")
        step = sum(message["role"] == "assistant" for message in messages)
        if not question or step >= chance.choice(STEPS):
            silent = chance.random() < 0.5
            return [("stay_silent", {"reason": "all is said"})] if silent else []
        chance = random.Random(f"{self._seed} {question} {step}")
        calls: list[ToolCallSpec] = [
            ("send_message", {"content": f"a{question}-{step}-{call}"})
            for call in range(chance.choice((1, 1, 2)))
        ]
        handles = _handles(messages)
        if handles and "edit" in tools and chance.random() < 0.3:
            again = {"handle": handles[-1], "new_content": f"a{question}-{step}-edited"}
            calls.append(("edit", again))
        elif handles and "self_recall" in tools and chance.random() < 0.2:
            calls.append(("self_recall", {"handle": handles[0]}))
        return calls


def _question(messages: Sequence[Message]) -> str:
    """The mark of the newest question that the turn began with; empty where there is none."""
    _, _, new = str(messages[1]["content"]).rpartition(NEW)
    marks: list[str] = MARK.findall(new)
    return marks[-1] if marks else ""


def _handles(messages: Sequence[Message]) -> list[str]:
    """Handles of the messages that this turn wrote."""
    results = [json.loads(one["content"]) for one in messages if one["role"] == "tool"]
    return [str(result["handle"]) for result in results if result.get("handle")]


def _canonical(message: Message) -> Message:
    if message["role"] != "tool":
        return message
    return {**message, "content": json.loads(message["content"])}
