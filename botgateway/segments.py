"""Message segments: the array form and the CQ-string form, both to one list of `Segment`.

Time is linear in the length of the message: no value of a CQ code may hold a bracket, so each scan
ends at the next one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botgateway import fields

MAX_SEGMENTS = 500
MAX_TEXT_BYTES = 64 * 1024

_CODE = re.compile(r"\[CQ:([A-Za-z0-9_.\-]++)((?:,[A-Za-z0-9_.\-]++=[^,\[\]]*+)*+)\]")
_ENTITIES = (("&#44;", ","), ("&#91;", "["), ("&#93;", "]"), ("&amp;", "&"))
"""The ampersand last, so that `&amp;#91;` becomes `&#91;` and not `[`."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a message as OneBot has it; types nobody knows are kept."""

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)


def parse(message: object) -> tuple[Segment, ...]:
    """The segments of an event's `message`: a list, one segment object, or a CQ string.

    The value's own type decides, since `message_format` may be missing (go-cqhttp, Lagrange).
    What goes beyond 500 segments or 64 KiB of text is cut: the last segment is then
    `Segment("cut", {"segments": True})`, and a shortened text's data has `cut: True`.
    """
    if isinstance(message, str):
        return _bounded(from_cq(message))
    if isinstance(message, dict):
        return _bounded(iter([_from_item(message)]))
    if isinstance(message, list):
        return _bounded(_from_item(item) for item in message)
    return ()


def text_of(segments: Iterable[Segment]) -> str:
    """The text segments, joined and not trimmed."""
    return "".join(segment.data["text"] for segment in segments if segment.type == "text")


def from_cq(message: str) -> Iterator[Segment]:
    """Segments of a CQ string; a malformed code stays text.

    Each piece is unescaped once: what a person typed as `&#91;` comes as `&amp;#91;`.
    """
    position = 0
    for match in _CODE.finditer(message):
        if match.start() > position:
            yield _text(_unescape(message[position : match.start()]))
        yield Segment(match[1], _values(match[2]))
        position = match.end()
    if position < len(message):
        yield _text(_unescape(message[position:]))


def to_cq(segments: Iterable[Segment]) -> str:
    """The CQ string of segments, as implementations write it; never used for what we send."""
    return "".join(
        _escape(segment.data["text"]) if segment.type == "text" else _code(segment)
        for segment in segments
    )


def _bounded(segments: Iterator[Segment]) -> tuple[Segment, ...]:
    kept: list[Segment] = []
    room = MAX_TEXT_BYTES
    for segment in segments:
        if len(kept) == MAX_SEGMENTS:
            kept.append(Segment("cut", {"segments": True}))
            break
        if segment.type == "text":
            encoded = segment.data["text"].encode()
            if len(encoded) > room:
                shortened = encoded[:room].decode(errors="ignore")
                segment = Segment("text", {"text": shortened, fields.CUT: True})
            room -= min(room, len(encoded))
        kept.append(segment)
    return tuple(kept)


def _from_item(item: object) -> Segment:
    """One element of the array form; what is no segment is kept as an unknown one."""
    if isinstance(item, str):
        return _text(item)
    segment = fields.mapping(item)
    kind = fields.string(segment.get("type"), 64)
    data = fields.mapping(segment.get("data"))
    if kind == "text":
        value = data.get("text")
        return _text(str(value) if isinstance(value, int | float) else fields.string(value))
    return Segment(kind or "unknown", data)


def _text(text: str) -> Segment:
    # Cleaned here too: segments may be parsed from what did not pass through `frames.decode`.
    return Segment("text", {"text": fields.clean_text(text)})


def _values(pairs: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for pair in pairs.split(",")[1:]:
        key, _, value = pair.partition("=")
        values[key] = _unescape(value)
    return values


def _unescape(text: str) -> str:
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("[", "&#91;").replace("]", "&#93;")


def _code(segment: Segment) -> str:
    pairs = (
        f",{key}={_escape(str(value)).replace(',', '&#44;')}" for key, value in segment.data.items()
    )
    return f"[CQ:{segment.type}{''.join(pairs)}]"
