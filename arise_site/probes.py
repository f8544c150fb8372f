"""Does a part answer? Each question is bounded in time, whatever hangs behind it, and its answer is
one line without a secret. /readyz and the doctor ask here."""

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
import redis
from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _
from redis.backoff import NoBackoff
from redis.retry import Retry

from arise_site.celery import app
from core import text

PATIENCE_SECONDS = 1.8
_ANSWER_SECONDS = 1.0


class Silent(Exception):
    """The part was asked and did not answer."""


def database() -> None:
    """Connect anew, which Postgres answers only when it can serve; the pool may be used up or stale."""
    params = {**connection.get_connection_params(), "connect_timeout": 2}
    psycopg.connect(**params).close()


def broker() -> None:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_ANSWER_SECONDS,
        socket_connect_timeout=_ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        client.ping()
    finally:
        client.close()


def worker() -> None:
    limits = {"socket_timeout": 2, "socket_connect_timeout": 1, "max_retries": 0}
    with app.connection(transport_options=limits) as own:
        mailbox = app.control.mailbox(own)  # type: ignore[attr-defined]  # the stubs lack it
        mailbox.producer_pool = None  # its connections have no time limit
        if not mailbox.multi_call("ping", timeout=_ANSWER_SECONDS, limit=1):
            raise Silent(_("no worker answers"))


PARTS: Mapping[str, Callable[[], None]] = {
    "database": database,
    "broker": broker,
    "worker": worker,
}


def why_not(parts: Mapping[str, Callable[[], None]] = PARTS) -> dict[str, str]:
    """Ask all parts at once; return those that do not answer, each with the reason."""
    asked = {name: _Question(part) for name, part in parts.items()}
    deadline = time.monotonic() + PATIENCE_SECONDS
    answers = {name: question.answer(deadline) for name, question in asked.items()}
    silent = {name: answer for name, answer in answers.items() if answer}
    if "broker" in silent and "worker" in silent:
        silent["worker"] = _("can't be asked: the broker does not answer")
    return silent


class _Question:
    """One part asked from a thread of its own, which the process does not wait for at its end.

    The thread ends by the part's own time limits soon after its answer is no longer awaited.
    """

    def __init__(self, part: Callable[[], None]) -> None:
        self._answer = _("no answer within %(seconds)g s") % {"seconds": PATIENCE_SECONDS}
        # In the context of whoever asks: his language is part of it.
        ask = contextvars.copy_context().run
        self._thread = threading.Thread(target=ask, args=(self._ask, part), daemon=True)
        self._thread.start()

    def _ask(self, part: Callable[[], None]) -> None:
        try:
            part()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is the answer)
            self._answer = plain(error)
        else:
            self._answer = ""

    def answer(self, deadline: float) -> str:
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return self._answer


def plain(error: BaseException) -> str:
    """An error in one line, with nothing that is secret."""
    words = str(error)
    if not isinstance(error, Silent):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return text.one_line(text.redact(words, secrets()), 200)


def secrets() -> list[str]:
    """What must never be shown: passwords inside the addresses, the model's key."""
    found: list[Any] = [settings.DATABASES["default"].get("PASSWORD"), settings.SECRET_KEY]
    for url in (settings.DATABASE_URL, settings.REDIS_URL, settings.ARISE_MODEL_BASE_URL):
        with contextlib.suppress(ValueError):  # not a URL: whoever uses it says so
            password = urlsplit(url).password or ""
            found += [password, unquote(password)]
    if settings.ARISE_MODEL_API_KEY != "none":
        found.append(settings.ARISE_MODEL_API_KEY)
    return sorted({str(secret) for secret in found if secret}, key=len, reverse=True)
