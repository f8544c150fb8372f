"""Asking a model what people say with a sticker, and reading what it answers: strictly.

Only a boolean `sensitive: false` beside a usable meaning passes. Whatever else comes, a refusal,
half an answer, another type, two answers, is no answer.
"""

import base64
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from django.template.loader import render_to_string

from core.llm import client
from core.llm.types import Answer
from core.media.pictures import View
from core.models import InboundItem

TOOL_NAME = "describe_sticker"
LONGEST_MEANING = 300
LONGEST_HINT = 200
LONGEST_WORDS = 200
LONGEST_MOOD = 40
MOST_MOODS = 16
MOST_LINES = 6
LONGEST_LINE = 200
_TEXT = {"type": "string"}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Keep what people say with this sticker.",
        "parameters": {
            "type": "object",
            "properties": {
                "meaning": _TEXT | {"description": "What one says by sending it."},
                "sensitive": {
                    "type": "boolean",
                    "description": "Whether it should not be kept; true where in doubt.",
                },
                "use_when": _TEXT | {"description": "When it fits."},
                "avoid_when": _TEXT | {"description": "When it would be wrong."},
                "moods": {
                    "type": "array",
                    "items": _TEXT,
                    "description": "A few words, in Chinese and in English.",
                },
                "words": _TEXT | {"description": "The words that stand in the picture."},
            },
            "required": ["meaning", "sensitive"],
        },
    },
}


@dataclass(frozen=True, slots=True)
class Learned:
    """What is kept of a sticker that may be kept."""

    meaning: str
    use_when: str = ""
    avoid_when: str = ""
    moods: tuple[str, ...] = field(default=())
    words: str = ""

    def texts(self) -> list[str]:
        """All texts, none of them empty."""
        every = (self.meaning, self.use_when, self.avoid_when, *self.moods, self.words)
        return [one for one in every if one]

    def as_fields(self) -> dict[str, Any]:
        """The same as a sticker's columns, and as Picture.learned keeps it."""
        return asdict(self) | {"moods": list(self.moods)}

    @classmethod
    def from_fields(cls, told: Mapping[str, Any]) -> "Learned":
        """What `as_fields` gave."""
        return cls(**{**told, "moods": tuple(told["moods"])})


class Unusable(Exception):
    """An answer of which nothing is kept; `code` says why, `sensitive` where it said so."""

    def __init__(self, code: str, *, sensitive: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.sensitive = sensitive


def ask(model: str, view: View, lines: str = "") -> Answer:
    """Ask once, in a context of its own, with one forced tool. Raises ModelFailure."""
    address = f"data:{view.media_type};base64,{base64.b64encode(view.content).decode()}"
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": render_to_string("prompts/sticker.txt", {"lines": lines})},
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": render_to_string("prompts/sticker_request.txt", {"lines": lines}),
                },
                {"type": "image_url", "image_url": {"url": address}},
            ],
        },
    ]
    return client.complete(
        model=model, messages=messages, tools=[TOOL], tool_choice=TOOL_NAME, retries=0
    )


def lines_around(item: InboundItem) -> str:
    """A few lines of the chat around an item, quoted; who speaks is a letter, not a name."""
    nearby = InboundItem.objects.filter(
        chat=item.chat_id, kind=InboundItem.Kind.MESSAGE, recalled_at=None
    )
    before = list(nearby.filter(pk__lte=item.pk).order_by("-pk")[: MOST_LINES - 1])[::-1]
    after = list(nearby.filter(pk__gt=item.pk).order_by("pk")[:1])
    letters: dict[str, str] = {}
    lines = []
    for one in [*before, *after]:
        who = letters.setdefault(one.sender_id, chr(ord("A") + len(letters)))
        said = " ".join(one.text.split())[:LONGEST_LINE]
        if one.pk == item.pk:
            said = f"{said} [this sticker]".strip()
        lines.append(f'<line by="{who}">{escape(said)}</line>')
    return "\n".join(lines)


def read(answer: Answer) -> Learned:
    """What an answer says of a sticker that may be kept. Raises Unusable."""
    told = arguments(answer, TOOL_NAME)
    if told.get("sensitive") is True:
        raise Unusable("sensitive", sensitive=True)
    if told.get("sensitive") is not False:
        raise Unusable("no_verdict")
    meaning = _usable(told.get("meaning"), LONGEST_MEANING)
    if not meaning:
        raise Unusable("no_meaning")
    return Learned(
        meaning=meaning,
        use_when=_usable(told.get("use_when"), LONGEST_HINT),
        avoid_when=_usable(told.get("avoid_when"), LONGEST_HINT),
        moods=_moods(told.get("moods")),
        words=_usable(told.get("words"), LONGEST_WORDS),
    )


def arguments(answer: Answer, tool: str) -> dict[str, Any]:
    """The arguments of the one call of a forced tool; Unusable where the answer is anything else."""
    if answer.finish_reason in ("length", "content_filter"):
        raise Unusable("cut_off")
    if len(answer.tool_calls) != 1:
        raise Unusable("no_call" if not answer.tool_calls else "many_calls")
    (call,) = answer.tool_calls
    if call.name != tool:
        raise Unusable("other_tool")
    try:
        told = json.loads(
            call.arguments, object_pairs_hook=_named_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise Unusable("broken_json") from None
    if not isinstance(told, dict):
        raise Unusable("broken_json")
    return told


def clean(text: str) -> str:
    """A model's text on one line, without characters that can't be seen."""
    folded = unicodedata.normalize("NFC", text)
    visible = (" " if char.isspace() else char for char in folded if _is_kept(char))
    return " ".join("".join(visible).split())


def _is_kept(char: str) -> bool:
    # Joiners hold emoji together; every other invisible character only hides something.
    return char in "\t\n\r\u200d\ufe0f" or unicodedata.category(char)[0] != "C"


def _usable(told: Any, limit: int) -> str:
    """A text with words in it, or nothing."""
    if not isinstance(told, str) or len(told) > 10 * limit:
        return ""
    text = clean(told)
    if len(text) > limit or "\ufffd" in text:
        return ""
    if text.strip(" .\"'").casefold() in _NOTHINGS:
        return ""
    return text if any(unicodedata.category(char)[0] in "LN" for char in text) else ""


_NOTHINGS = {
    "null",
    "none",
    "nil",
    "n/a",
    "na",
    "undefined",
    "unknown",
    "string",
    "无",
    "未知",
    "没有",
}


def _moods(told: Any) -> tuple[str, ...]:
    given: Sequence[Any] = told if isinstance(told, list) else ()
    usable = (_usable(one, LONGEST_MOOD) for one in given[: 4 * MOST_MOODS])
    return tuple(dict.fromkeys(one for one in usable if one))[:MOST_MOODS]


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two answers under one name are none."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name stands twice")
    return made


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
