"""The HTTP side of a model call: one client per process, bounded in time and size.

Importing the openai package takes most of a second, so only core.llm.client imports this module,
when the first call is made.
"""

import functools
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from core.errors import ModelFailure

MAX_ANSWER_BYTES = 16 * 1024 * 1024
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=500, keepalive_expiry=30)
_NOTHING_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class AnswerTooLarge(openai.OpenAIError):
    """Not retried: what comes once so large comes again so large."""


class _BoundedStream(httpx2.SyncByteStream):
    """A body that must be read before a deadline; the client's own limit is one between two reads,
    and endpoints that are busy keep connections alive with a blank line now and then."""

    def __init__(self, stream: httpx2.SyncByteStream, seconds: float) -> None:
        self._stream = stream
        self._deadline = time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise AnswerTooLarge(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout("the answer did not end in time")
            yield chunk

    def close(self) -> None:
        self._stream.close()


class _BoundedClient(openai.DefaultHttpxClient):
    """Reads each answer within the time of one attempt."""

    attempt_seconds: float

    def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        began = time.monotonic()
        response = super().send(request, stream=True, **options)
        if isinstance(response.stream, httpx2.SyncByteStream):
            left = self.attempt_seconds - (time.monotonic() - began)
            response.stream = _BoundedStream(response.stream, left)
        if not stream:
            try:
                response.read()
            except BaseException:
                response.close()
                raise
        return response


@functools.cache
def _client(base_url: str, api_key: str, seconds: float, retries: int) -> openai.OpenAI:
    """Thread-safe, and dear to build (it reads the system's certificates): one per process."""
    # A proxy of the environment is for the world outside, not for an endpoint on this machine.
    outside = urlsplit(base_url).hostname not in _LOOPBACK
    http = _BoundedClient(limits=_LIMITS, timeout=httpx2.Timeout(seconds), trust_env=outside)
    http.attempt_seconds = seconds
    return openai.OpenAI(
        base_url=base_url or None,
        api_key=api_key,
        timeout=httpx2.Timeout(seconds, connect=min(seconds, 10)),
        max_retries=retries,
        http_client=http,
    )


def post(
    path: str,
    request: dict[str, Any],
    *,
    base_url: str,
    api_key: str,
    seconds: float,
    retries: int,
) -> tuple[bytes, int]:
    """Ask what costs; return the body as it came and how often it was asked again.

    Raises ModelFailure once the client's retries are spent or make no sense; its detail is as it
    came, to be made safe by the caller.
    """
    try:
        client = _client(base_url, api_key, seconds, retries)
        # Not chat.completions.create, say, which walks every message to turn Python names into JSON's:
        # ours are JSON already, and the walk costs more than the rest of the call.
        response = client.post(path, cast_to=httpx2.Response, body=request)
    except (openai.OpenAIError, httpx2.InvalidURL, ValueError) as error:
        raise _as_failure(error) from None
    return response.content, int(response.request.headers.get("x-stainless-retry-count", 0))


def list_models(*, base_url: str, api_key: str, seconds: float) -> bytes:
    """Ask which models there are, which costs nothing; one attempt. Raises ModelFailure."""
    try:
        return _client(base_url, api_key, seconds, 0).models.with_raw_response.list().content
    except (openai.OpenAIError, httpx2.InvalidURL, ValueError) as error:
        raise _as_failure(error) from None


def _as_failure(error: Exception) -> ModelFailure:
    code, detail = _failure(error)
    return ModelFailure(code, detail, costs_nothing=_costs_nothing(error))


_NOTHING_DONE = (401, 403, 429)
"""A wrong key is nobody's, so that nobody is charged."""


def _costs_nothing(error: Exception) -> bool:
    """Whether nothing was sent, or the answer says that nothing was done. Not where a connection
    broke, or an answer did not come in time: the request may have been worked on, and charged."""
    match error:
        case openai.APIStatusError():
            return error.status_code in _NOTHING_DONE or error.status_code >= 500
        case openai.APIConnectionError():  # a timeout is one too
            return isinstance(error.__cause__, _NOTHING_SENT)
        case _:
            return False


def _failure(error: Exception) -> tuple[str, str]:
    match error:
        case openai.APITimeoutError():
            return "timeout", "the endpoint did not answer in time"
        case openai.APIStatusError():
            return _code_of_status(error.status_code), _words_of(error)
        case openai.APIConnectionError(__cause__=httpx2.DecodingError() as cause):
            return "bad_answer", str(cause)
        case openai.APIConnectionError():
            return "unreachable", f"the endpoint can't be reached: {error.__cause__ or error}"
        case AnswerTooLarge():
            return "bad_answer", str(error)
        case UnicodeError():
            return "refused", "the request or the API key holds characters that can't be sent"
        case _:
            return "refused", str(error)


def _code_of_status(status: int) -> str:
    if status == 429:
        return "rate_limited"
    if status == 408:
        return "timeout"
    return "server_error" if status >= 500 else "refused"


def _words_of(error: openai.APIStatusError) -> str:
    """What the endpoint said: its error's message where there is one, else its body."""
    said = error.body
    if isinstance(said, dict):
        said = said.get("message") or said.get("error") or said
    return f"HTTP {error.status_code}: {said or error.response.text or 'no words'}"
