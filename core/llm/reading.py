"""Reading what any endpoint may have answered: lenient in form, strict in sense."""

import json
import re
import uuid
from typing import Any

from core import text
from core.errors import ModelFailure
from core.llm.types import Answer, ToolCallRequest

MAX_SPEECH_BYTES = 4 * 1024 * 1024
MAX_DIMENSIONS = 16_000  # of a vector in pgvector

# Fields beyond the standard that some endpoints want back, or they refuse the next request.
_MESSAGE_EXTRAS = ("reasoning_content", "reasoning_details")
_CALL_EXTRAS = ("extra_content",)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_MAX_LABEL = 200
_MAX_TOKENS = 10**7  # of one call: a turn adds its calls up in a column of 32 bits
_MOST_FLOAT = 3.4e38  # of the 32 bits that a vector's numbers are stored in
_LEAST_FLOAT = 1e-30
_MAX_CALLS = 64  # each is written in the step's one transaction, which holds its chat


def read(body: bytes, *, retries: int = 0, seconds: float = 0.0) -> Answer:
    """Make an Answer of a response's body, or raise ModelFailure `bad_answer`."""
    try:
        document = json.loads(body.decode("utf-8", "replace"))
        return _answer(text.clean(document), retries, seconds)
    except RecursionError:
        raise _bad("the answer is nested too deeply") from None
    except ValueError:
        start = body[:2000].decode("utf-8", "replace")
        raise _bad(f"the answer is not JSON: {start}") from None


def model_names(body: bytes) -> list[str]:
    """The ids in a list of models; empty when it is none."""
    try:
        document = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []
    models = document.get("data") if isinstance(document, dict) else None
    entries = models if isinstance(models, list) else []
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return [text.clean_text(name) for name in names if isinstance(name, str)]


def recording(body: bytes) -> bytes:
    """A spoken text as it came, or ModelFailure `bad_answer` where it can't be one."""
    if len(body) > MAX_SPEECH_BYTES:
        raise _bad(f"the recording has {len(body)} bytes; {MAX_SPEECH_BYTES} are taken at most")
    if not body.strip():
        raise _bad("the recording is empty")
    if body.lstrip()[:1] in (b"{", b"[", b"<"):  # no sound begins so: it is JSON or a page
        raise _bad(f"the answer is no recording: {body[:2000].decode('utf-8', 'replace')}")
    return body


def vectors(body: bytes, count: int) -> list[list[float]]:
    """`count` embeddings in the order of their texts, or ModelFailure `bad_answer`.

    All have one size and finite numbers, and none is zero: from nothing there is no distance.
    """
    try:
        document = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise _bad(f"the answer is not JSON: {body[:2000].decode('utf-8', 'replace')}") from None
    entries = document.get("data") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise _bad("the answer has no list of embeddings")
    if len(entries) != count:
        raise _bad(f"the answer has {len(entries)} embeddings for {count} texts")
    placed: dict[int, list[float]] = {}
    for position, entry in enumerate(entries):
        fields = entry if isinstance(entry, dict) else {}
        index = fields.get("index", position)
        if type(index) is not int or not 0 <= index < count or index in placed:
            raise _bad("the answer's embeddings can't be told apart")
        placed[index] = _vector(fields.get("embedding"))
    if len({len(vector) for vector in placed.values()}) > 1:
        raise _bad("the answer's embeddings differ in size")
    return [placed[index] for index in range(count)]


def _vector(raw: Any) -> list[float]:
    if not isinstance(raw, list) or not 0 < len(raw) <= MAX_DIMENSIONS:
        raise _bad("the answer has an embedding that is no list of numbers")
    for number in raw:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise _bad("the answer has an embedding that is no list of numbers")
        if not abs(number) <= _MOST_FLOAT:  # nor is NaN
            raise _bad("the answer has an embedding with a number that is not finite")
    if not any(abs(number) > _LEAST_FLOAT for number in raw):
        raise _bad("the answer has an embedding of nothing but zeros")
    return [float(number) for number in raw]


def _bad(detail: str) -> ModelFailure:
    return ModelFailure("bad_answer", detail)


def _answer(document: Any, retries: int, seconds: float) -> Answer:
    choice = _choice(document)
    raw = choice.get("message")
    if not isinstance(raw, dict):
        raise _bad("the answer's choice has no message")
    content = _content(raw.get("content"))
    pairs = _tool_calls(raw.get("tool_calls"))
    message: dict[str, Any] = {"role": "assistant", "content": content}
    message |= {name: raw[name] for name in _MESSAGE_EXTRAS if raw.get(name)}
    if pairs:
        message["tool_calls"] = [sent for _, sent in pairs]
    elif content is None:
        message["content"] = ""  # null is taken only beside tool calls
    usage = document.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return Answer(
        message=message,
        content=content,
        tool_calls=tuple(request for request, _ in pairs),
        finish_reason=str(choice.get("finish_reason") or "")[:40],
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
        retries=retries,
        seconds=seconds,
    )


def _choice(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise _bad("the answer is not a JSON object")
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    # Some gateways answer 200 and put the failure of the model behind them into the body.
    told = document.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
    if told:
        words = told.get("message") if isinstance(told, dict) else told
        raise _bad(f"the endpoint answered with an error: {words or told}")
    if not isinstance(choice, dict):
        raise _bad("the answer has no choices")
    return choice


def _content(raw: Any) -> str | None:
    if raw is None or isinstance(raw, str):
        return raw
    if isinstance(raw, list):  # a list of parts, as some endpoints write plain text
        parts = [part.get("text") for part in raw if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    raise _bad("the answer's content is not text")


def _tool_calls(raw: Any) -> list[tuple[ToolCallRequest, dict[str, Any]]]:
    """Each call as the model wrote it, and as it is sent back."""
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise _bad("the answer's tool_calls is not a list")
    if len(raw) > _MAX_CALLS:
        raise _bad(f"the answer has {len(raw)} tool calls; {_MAX_CALLS} are taken at most")
    pairs: list[tuple[ToolCallRequest, dict[str, Any]]] = []
    seen: set[str] = set()
    for call in raw:
        request = _request(call, seen)
        seen.add(request.id)
        pairs.append((request, _sent_back(request, call)))
    return pairs


def _request(call: Any, seen: set[str]) -> ToolCallRequest:
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str) or not name.strip():
        raise _bad("the answer has a tool call without a name")
    given = call.get("id")
    is_usable = isinstance(given, str) and 0 < len(given) <= _MAX_LABEL and given not in seen
    call_id = given if is_usable else f"call_{uuid.uuid4().hex}"
    return ToolCallRequest(
        call_id, name.strip()[:_MAX_LABEL], _arguments(function.get("arguments"))
    )


def _arguments(raw: Any) -> str:
    """The arguments as a string; escapes inside them are cleaned as the text around them is."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return "{}"
    if not isinstance(raw, str):
        return json.dumps(raw, ensure_ascii=False)
    try:
        value = json.loads(raw)
        cleaned = text.clean(value)
        if cleaned == value:
            return raw
        # Written anew, two values under one name would become one, and nobody could tell any more.
        json.loads(raw, object_pairs_hook=_named_once)
    except _NamedTwice:
        return "{}"
    except (ValueError, RecursionError):
        return raw
    return json.dumps(cleaned, ensure_ascii=False)


class _NamedTwice(Exception):
    pass


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _NamedTwice
    return made


def _sent_back(request: ToolCallRequest, call: dict[str, Any]) -> dict[str, Any]:
    """The call as any endpoint takes it: many parse the arguments, and refuse what is not an object."""
    name = _NOT_IN_NAMES.sub("_", request.name)[:_MAX_NAME]
    arguments = request.arguments if _is_object(request.arguments) else "{}"
    return {
        "id": request.id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    } | {extra: call[extra] for extra in _CALL_EXTRAS if call.get(extra)}


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _count(raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= _MAX_TOKENS:
        return 0
    return int(raw)
