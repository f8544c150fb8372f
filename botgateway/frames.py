"""The first step of the way in: one WebSocket frame to an event, a response, or neither.

`decode` never raises and takes time linear in the frame's length, whatever the other side sends.
"""

import json
from dataclasses import dataclass
from typing import Any

from botgateway import event_parser, fields
from botgateway.actions import Response, read_response
from botgateway.events import Event


@dataclass(frozen=True, slots=True)
class Invalid:
    """A frame that is neither an event nor a response; `reason` is short and fit for a log."""

    reason: str


def decode(raw: str | bytes) -> Event | Response | Invalid:
    """What a text or binary frame says; invalid UTF-8 becomes U+FFFD.

    `post_type` makes an event; without it `echo` or `retcode` make a response.
    """
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
    try:
        value = _loads(text)
    except RecursionError:
        return Invalid("nested too deep")
    except ValueError:
        return Invalid("not JSON")
    if not isinstance(value, dict):
        return Invalid("not a JSON object")
    frame = fields.clean(value)
    if isinstance(frame.get("post_type"), str):
        return event_parser.parse(frame)
    if "echo" in frame or "retcode" in frame:
        return read_response(frame)
    return Invalid("neither an event nor a response")


def _loads(text: str) -> Any:
    """JSON with integers exact, and null for NaN, Infinity and numbers of thousands of digits.

    Not strict: some implementations leave control characters in strings unescaped.
    """
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text, strict=False, parse_constant=_nothing)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python refuses to read integers of more than 4,300 digits, since that is quadratic.
        return json.loads(text, strict=False, parse_constant=_nothing, parse_int=_bounded_int)


def _nothing(_literal: str) -> None:
    return None


def _bounded_int(digits: str) -> int | None:
    return int(digits) if len(digits) <= fields.MAX_ID_DIGITS else None
