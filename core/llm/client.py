"""The only door to models: one request, one answer or one ModelFailure."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from core import text
from core.errors import ModelFailure
from core.llm import reading
from core.llm.types import Answer, ToolCallRequest

__all__ = ["Answer", "ToolCallRequest", "complete", "embed", "list_models", "speak"]

_NO_KEY = "none"  # what the settings give where the endpoint asks for none
_MOST_SPEECH_RETRIES = 1  # words that can't be spoken soon go out as text
_MOST_EMBEDDING_RETRIES = 1  # a turn waits for it, and goes on without


def complete(
    *,
    model: str,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
    tool_choice: str = "",
    retries: int | None = None,
) -> Answer:
    """Ask a model once; what fails in passing is asked again with growing pauses.

    `tool_choice` names the tool that it has to call; empty: it chooses. `retries`, where it is
    given, stands for ARISE_MODEL_RETRIES: 0 for what may be paid once only.

    This may wait for minutes (ARISE_MODEL_TIMEOUT_SECONDS an attempt, ARISE_MODEL_RETRIES more
    attempts): the caller gives its database connection back first. Raises ModelFailure.
    """
    began = time.monotonic()
    most = settings.ARISE_MODEL_RETRIES if retries is None else retries
    with _keys_hidden():
        request = body(model, messages, tools, tool_choice)
        answer, asked_again = _post("/chat/completions", request, most)
        return reading.read(answer, retries=asked_again, seconds=time.monotonic() - began)


def speak(*, model: str, voice: str, words: str) -> bytes:
    """Have words spoken; the recording, as MP3 where the endpoint can, up to reading.MAX_SPEECH_BYTES.

    It may wait as `complete` does, though it is asked again but once. Raises ModelFailure.
    """
    request = {
        "model": model,
        "input": text.clean_text(words),
        "voice": voice,
        "response_format": "mp3",
    }
    with _keys_hidden():
        retries = min(_MOST_SPEECH_RETRIES, settings.ARISE_MODEL_RETRIES)
        body, _ = _post("/audio/speech", request, retries)
        return reading.recording(body)


def embed(*, model: str, texts: Sequence[str], dimensions: int = 0) -> list[list[float]]:
    """The embeddings of texts, in their order and all of one size: `dimensions` numbers where it is
    given and the endpoint heeds it, else as many as the model has.

    It may wait as `complete` does, though it is asked again but once. Raises ModelFailure, `refused`
    also by endpoints that take no `dimensions`.
    """
    request: dict[str, Any] = {"model": model, "input": [text.clean_text(one) for one in texts]}
    if dimensions:
        request["dimensions"] = dimensions
    with _keys_hidden():
        retries = min(_MOST_EMBEDDING_RETRIES, settings.ARISE_MODEL_RETRIES)
        body, _ = _post("/embeddings", request, retries)
        return reading.vectors(body, len(texts))


def list_models(*, seconds: float) -> list[str]:
    """Names of the endpoint's models, for the doctor; empty where it answers but lists none.

    Raises ModelFailure as `complete` does, without asking twice.
    """
    from core.llm import endpoint  # noqa: PLC0415

    with _keys_hidden():
        body = endpoint.list_models(
            base_url=settings.ARISE_MODEL_BASE_URL,
            api_key=settings.ARISE_MODEL_API_KEY,
            seconds=seconds,
        )
    return reading.model_names(body)


def _post(path: str, request: dict[str, Any], retries: int) -> tuple[bytes, int]:
    if settings.ARISE_DEMO_MODEL and not settings.ARISE_MODEL_BASE_URL:
        # Without an address the openai package would ask its own vendor.
        detail = "the built-in demo model runs only while `up` does"
        raise ModelFailure("unreachable", detail, costs_nothing=True)
    # Most of a second to import, and only a worker needs it.
    from core.llm import endpoint  # noqa: PLC0415

    return endpoint.post(
        path,
        request,
        base_url=settings.ARISE_MODEL_BASE_URL,
        api_key=settings.ARISE_MODEL_API_KEY,
        seconds=settings.ARISE_MODEL_TIMEOUT_SECONDS,
        retries=retries,
    )


@contextmanager
def _keys_hidden() -> Iterator[None]:
    try:
        yield
    except ModelFailure as failure:
        detail = _safe(failure.detail, settings.ARISE_MODEL_API_KEY)
        raise ModelFailure(failure.code, detail, costs_nothing=failure.costs_nothing) from None


def body(
    model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]], tool_choice: str = ""
) -> dict[str, Any]:
    """What `complete` sends."""
    request: dict[str, Any] = {"model": model, "messages": text.clean(messages)}
    if tools:  # an empty list is refused by some endpoints
        forced = {"type": "function", "function": {"name": tool_choice}}
        request |= {"tools": tools, "tool_choice": forced if tool_choice else "auto"}
    return request


def _safe(detail: str, key: str) -> str:
    """An endpoint may repeat the key in its words; hidden before the cut, which could halve it."""
    secrets = [] if key == _NO_KEY else [key]
    return text.one_line(text.redact(detail, secrets), 500)
