"""Text that is safe to store and to show: nothing that Postgres refuses, no secret."""

import math
import re
from collections.abc import Iterable
from typing import Any

# NUL cannot be stored by Postgres, a lone surrogate cannot even be encoded.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_KEY_LIKE = re.compile(r"\bsk-[\w-]{8,}|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)", re.ASCII)
_REPLACEMENT = "\ufffd"


def clean_text(text: str) -> str:
    """Put the replacement character where Postgres could not store what stands there."""
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def clean(value: Any) -> Any:
    """`clean_text` for all text, keys included, inside a JSON-like value; None for what JSON has no
    number for (Python reads NaN and 1e999, Postgres refuses both)."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {clean(key): clean(item) for key, item in value.items()}
        case list() | tuple():
            return [clean(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def one_line(text: str, limit: int = 300) -> str:
    """Storable text on a single line, cut to `limit` characters."""
    line = " ".join(clean_text(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Hide the given secrets, whatever looks like an API key, and passwords inside URLs.

    A secret is hidden where it stands by itself: inside a longer word a short one would mangle
    ordinary words, and tell by it what it is.
    """
    for secret in secrets:
        if secret:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return _KEY_LIKE.sub("***", text)
