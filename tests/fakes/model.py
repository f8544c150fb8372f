"""A model that says what a test scripted, behind a real OpenAI-compatible HTTP server.

One server serves a whole test run, so that one worker can serve all of its tests: scripts are
told apart by the request's `model`, and each test's bot gets a model name of its own.
"""

import json
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from arise_site.openai_server import ChatCompletionsServer, Reply, completion, failure

ToolCallSpec = tuple[str, Mapping[str, Any] | str]
Scripted = Reply | Callable[[dict[str, Any]], Reply]
VOICE_MODEL = "scripted-voice"
"""Speaks whatever it is given, and can't speak what has UNSPEAKABLE in it."""
UNSPEAKABLE = "unspeakable"
EMBEDDING_MODEL = "scripted-embedding"
"""Embeds whatever it is given, by its letters (`embedding`)."""
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def assistant(text: str | None = None, tool_calls: Iterable[ToolCallSpec] = ()) -> dict[str, Any]:
    """An assistant message; arguments given as a string go out as they are, broken JSON included."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    calls = [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for index, (name, given) in enumerate(tool_calls)
    ]
    if calls:
        message["tool_calls"] = calls
    return message


def says(message: Mapping[str, Any], *, delay: float = 0, finish_reason: str = "") -> Reply:
    """The reply that carries an assistant message."""
    return Reply(completion("scripted", message, finish_reason) | {"usage": USAGE}, delay=delay)


def embeddings(vectors: Iterable[list[float]]) -> Reply:
    """The reply that carries embeddings."""
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    return Reply({"object": "list", "data": data, "model": "scripted", "usage": USAGE})


def recording(words: str) -> bytes:
    """What the scripted voice makes of words."""
    return b"ID3" + words.encode()


def embedding(text: str, dimensions: int = 64) -> list[float]:
    """What the scripted model makes of a text: texts that share pairs of letters come out near."""
    vector = [0.0] * dimensions
    for pair in zip(f" {text}", f"{text} ", strict=True):
        vector[zlib.crc32("".join(pair).encode()) % dimensions] += 1.0
    return vector


class Script:
    """What one model name answers, in order, and all that it was asked."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.requests: list[dict[str, Any]] = []
        self.extra: list[dict[str, Any]] = []
        self._replies: deque[Scripted] = deque()
        self._always: Scripted | None = None
        self._changed = threading.Condition()

    def reply(
        self,
        text: str | None = None,
        tool_calls: Iterable[ToolCallSpec] = (),
        *,
        delay: float = 0,
        status: int = 200,
        finish_reason: str = "",
    ) -> None:
        """Add the next answer; with another `status` than 200, a failure that says `text`.

        A failure tells the client to try again at once, if it does at all.
        """
        if status == 200:
            self.add(says(assistant(text, tool_calls), delay=delay, finish_reason=finish_reason))
            return
        told = failure(status, text or "scripted failure", "scripted")
        self.add(Reply(told.body, status, delay, {"retry-after-ms": "1"}))

    def add(self, reply: Scripted) -> None:
        """Add the next answer as a Reply, or as a function of the request."""
        with self._changed:
            self._replies.append(reply)

    def always(self, reply: Scripted) -> None:
        """What is answered whenever no scripted reply is left."""
        with self._changed:
            self._always = reply

    def take(self, request: dict[str, Any]) -> Reply:
        """Answer a request (called by the server's threads)."""
        with self._changed:
            self.requests.append(request)
            scripted = self._replies.popleft() if self._replies else self._always
            if scripted is None:
                self.extra.append(request)
            self._changed.notify_all()
        if scripted is None:
            return _no_reply(f"the script of {self.model} has no reply left")
        return scripted if isinstance(scripted, Reply) else scripted(request)

    def wait_for_requests(self, count: int, timeout: float = 10) -> list[dict[str, Any]]:
        """Block until the model was asked `count` times; fail when that takes too long."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.requests) >= count, timeout)
            assert came, f"{self.model} was asked {len(self.requests)} times, not {count}"
            return list(self.requests)

    def assert_consumed(self) -> None:
        """Fail when replies are left, or when more was asked than was scripted."""
        with self._changed:
            assert not self._replies, (
                f"{self.model}: {len(self._replies)} replies were not asked for"
            )
            assert not self.extra, f"{self.model}: {len(self.extra)} requests had no scripted reply"


class ScriptedModel:
    """The server, and the scripts by model name."""

    def __init__(self) -> None:
        self._scripts: dict[str, Script] = {}
        self.strays: list[dict[str, Any]] = []
        self.spoken: list[dict[str, Any]] = []
        self.embedded: list[dict[str, Any]] = []
        self.server = ChatCompletionsServer(
            self._answer, speech=self._speak, embeddings=self._embed
        )
        self.server.start()

    @property
    def url(self) -> str:
        """The base URL (OPENAI_BASE_URL) of the server."""
        return self.server.url

    def script(self, model: str) -> Script:
        """Begin the script of a model name; a name is scripted once."""
        assert model not in self._scripts, f"{model} is scripted already"
        self._scripts[model] = Script(model)
        return self._scripts[model]

    def stop(self) -> None:
        self.server.stop()

    def _speak(self, request: dict[str, Any]) -> Reply:
        """Scripts may stand for voices too; without one, only VOICE_MODEL speaks."""
        if request.get("model") != VOICE_MODEL:
            return self._answer(request)
        self.spoken.append(request)
        if UNSPEAKABLE in request["input"]:
            return _no_reply("this can't be spoken")
        return Reply(raw=recording(request["input"]), headers={"Content-Type": "audio/mpeg"})

    def _embed(self, request: dict[str, Any]) -> Reply:
        """Scripts may stand for embeddings too; without one, only EMBEDDING_MODEL embeds."""
        if request.get("model") != EMBEDDING_MODEL:
            return self._answer(request)
        self.embedded.append(request)
        size = request.get("dimensions", 64)
        return embeddings([embedding(text, size) for text in request["input"]])

    def _answer(self, request: dict[str, Any]) -> Reply:
        script = self._scripts.get(str(request.get("model")))
        if script is not None:
            return script.take(request)
        self.strays.append(request)
        return _no_reply(f"nobody scripted the model {request.get('model')}")


def _no_reply(message: str) -> Reply:
    """A failure that is not worth another try, so that a test fails at once."""
    told = failure(500, message, "not_scripted")
    return Reply(told.body, told.status, headers={"x-should-retry": "false"})
