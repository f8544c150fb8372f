"""The only door to language models: one request, one Answer or one ModelFailure."""

import time
from typing import Any

from django.conf import settings

from core import text
from core.errors import ModelFailure
from core.llm import reading
from core.llm.types import Answer, ToolCallRequest

__all__ = ["Answer", "ToolCallRequest", "complete", "list_models"]

_NO_KEY = "none"  # what the settings give where the endpoint asks for none


def complete(*, model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Answer:
    """Ask a model once; what fails in passing is asked again with growing pauses.

    This may wait for minutes (ARISE_MODEL_TIMEOUT_SECONDS an attempt, ARISE_MODEL_RETRIES more
    attempts): the caller gives its database connection back first. Raises ModelFailure.
    """
    if settings.ARISE_DEMO_MODEL and not settings.ARISE_MODEL_BASE_URL:
        # Without an address the openai package would ask its own vendor.
        raise ModelFailure("unreachable", "the built-in demo model runs only while `up` does")
    # Most of a second to import, and only a worker needs it.
    from core.llm import endpoint  # noqa: PLC0415

    key = settings.ARISE_MODEL_API_KEY
    began = time.monotonic()
    try:
        body, retries = endpoint.post(
            _request(model, messages, tools),
            base_url=settings.ARISE_MODEL_BASE_URL,
            api_key=key,
            seconds=settings.ARISE_MODEL_TIMEOUT_SECONDS,
            retries=settings.ARISE_MODEL_RETRIES,
        )
        return reading.read(body, retries=retries, seconds=time.monotonic() - began)
    except ModelFailure as failure:
        raise ModelFailure(failure.code, _safe(failure.detail, key)) from None


def list_models(*, seconds: float) -> list[str]:
    """Names of the endpoint's models, for the doctor; empty where it answers but lists none.

    Raises ModelFailure as `complete` does, without asking twice.
    """
    from core.llm import endpoint  # noqa: PLC0415

    key = settings.ARISE_MODEL_API_KEY
    try:
        body = endpoint.list_models(
            base_url=settings.ARISE_MODEL_BASE_URL, api_key=key, seconds=seconds
        )
    except ModelFailure as failure:
        raise ModelFailure(failure.code, _safe(failure.detail, key)) from None
    return reading.model_names(body)


def _request(
    model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]
) -> dict[str, Any]:
    request: dict[str, Any] = {"model": model, "messages": text.clean(messages)}
    if tools:  # an empty list is refused by some endpoints
        request |= {"tools": tools, "tool_choice": "auto"}
    return request


def _safe(detail: str, key: str) -> str:
    """An endpoint may repeat the key in its words; hidden before the cut, which could halve it."""
    secrets = [] if key == _NO_KEY else [key]
    return text.one_line(text.redact(detail, secrets), 500)
