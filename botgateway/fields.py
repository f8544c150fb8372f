"""Reading single fields of a frame that may hold anything; nothing here raises."""

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 32
MAX_ID_CHARACTERS = 128
MAX_ID_DIGITS = 64
MAX_NAME_CHARACTERS = 64
CUT = "cut"
"""The key that marks data of which something was cut off."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_EARLIEST_MILLISECONDS = 10**11
_LATEST_SECONDS = 253_402_214_400  # a day before the last one that Python has in every time zone


@dataclass(frozen=True, slots=True)
class WireId:
    """An id as it came in: its exact characters, and whether it was a JSON number."""

    value: str
    is_number: bool = True

    def wire(self) -> int | str:
        """The id as it goes out: in the type in which it came."""
        return int(self.value) if self.is_number else self.value


def identifier(value: object) -> WireId | None:
    """An id, or None for what names nobody: null, 0, "", booleans, fractions, endless digits."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        usable = value not in ("", "0") and len(value) <= MAX_ID_CHARACTERS
        return WireId(value, is_number=False) if usable else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    if value == 0 or abs(value) >= 10**MAX_ID_DIGITS:
        return None
    return WireId(str(value))


def message_identifier(value: object) -> WireId | None:
    """A message id; 0 and -1 mean none (Lagrange issue 94, go-cqhttp's failed sends)."""
    found = identifier(value)
    return None if found is not None and found.value == "-1" else found


def id_text(value: object) -> str:
    """The characters of an id, or "" where there is none."""
    found = identifier(value)
    return found.value if found else ""


def integer(value: object) -> int | None:
    """A whole number, also where an implementation sends it as decimal text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    if isinstance(value, int):
        return value if abs(value) < 10**MAX_ID_DIGITS else None
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        return int(value)
    return None


def string(value: object, limit: int | None = None) -> str:
    """A string, cut to `limit` characters; "" for anything else."""
    return value[:limit] if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def seconds(value: object) -> int | None:
    """A platform time in whole seconds since the epoch; None for none.

    NapCat falls back to milliseconds where QQ gave no valid time (initializeMessage), so what can
    only be milliseconds is divided.
    """
    number = integer(value)
    if number is not None and number >= _EARLIEST_MILLISECONDS:
        number //= 1000
    return number if number is not None and 0 < number <= _LATEST_SECONDS else None


def one_line(text: str, limit: int = MAX_NAME_CHARACTERS) -> str:
    """A name that people choose, fit for one line: no control, bidi or other format characters.

    The zero-width joiner stays: emoji are made with it. Names have carried new lines and
    right-to-left overrides (NapCat issue 815).
    """
    if text.isprintable():
        return " ".join(text.split())[:limit].strip()
    kept = []
    for character in text[: limit * 16]:
        category = unicodedata.category(character)
        if category in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif category not in ("Cf", "Cs") or character == "\u200d":
            kept.append(character)
    return " ".join("".join(kept).split())[:limit].strip()


def clean_text(text: str) -> str:
    """Text that UTF-8 and Postgres can hold: NUL removed, lone surrogates U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clean(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A decoded JSON value with clean text everywhere, finite numbers and bounded depth.

    What lies deeper than `depth` containers is replaced by `{"cut": true}`. Most of a frame's time
    is spent here, so the commonest types are asked for first and exactly.
    """
    kind = type(value)
    if kind is str:
        return clean_text(value)
    if kind is dict:
        if depth == 0:
            return {CUT: True}
        return {clean_text(key): clean(item, depth - 1) for key, item in value.items()}
    if kind is list:
        return [clean(item, depth - 1) for item in value] if depth else {CUT: True}
    if kind is float and not math.isfinite(value):
        return None
    return value
