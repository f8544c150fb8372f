"""Inline tags, `@name` or `@name:parameter`, in what the model writes: the one parser of them.

A host gives a chat's renderers by name: what the platform can't do or the operator has switched
off is not in the mapping. What a renderer returns is the host's own; core hands it on unread.

A tag's characters are ASCII and told apart by case; neither e-mail addresses nor what only looks
like a tag (a full-width `＠`, `@小明`, `@10001`) are tags. Nothing inside code is one. Code is, read
from left to right:

- a fenced block: from a line of at most three spaces and at least three backticks (and no other
  backtick in that line) or three tildes, to the end of the next such line of the same character,
  at least as long and with nothing but white space behind it; without one, to the end of the text;
- a span: from a run of backticks to the next run of just as many, before any fenced block begins.
  A run without such a partner, as kaomoji have it, is plain text.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

logger = logging.getLogger(__name__)

_TAG = re.compile(r"(?<![A-Za-z0-9._+-])@([A-Za-z][A-Za-z0-9_]*)(?::([A-Za-z0-9_-]+))?")
# A run of backticks; where `behind` is set (the rest of the line), the mark of a fenced block.
_MARK = re.compile(r"^ {0,3}(?:`{3,}+(?=[^`\n]*+$)|~{3,}+)(?=(?P<behind>[^\n]*+))|`+", re.MULTILINE)

R = TypeVar("R")


@dataclass(frozen=True)
class TagRenderer(Generic[R]):
    """How a host renders one tag.

    `render` gets the parameter, None where the tag has none, and returns what is to stand there,
    or None where that can't be (also for a parameter that does not fit). `description` is one
    sentence for the model: what to write, and what comes of it.
    """

    render: Callable[[str | None], R | None]
    description: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text as the model wrote it; never empty."""

    text: str


@dataclass(frozen=True)
class TagPiece(Generic[R]):
    """What the renderer of the tag `name` returned."""

    name: str
    value: R


Piece: TypeAlias = TextPiece | TagPiece[R]


def render(text: str, renderers: Mapping[str, TagRenderer[R]]) -> list[Piece[R]]:
    """The pieces of `text` in order, no two texts side by side; none where nothing is left.

    A tag that nobody renders, or whose renderer returns None or raises, is cut: its own characters
    and no other. All else stays to the letter. Takes time linear in the text.
    """
    pieces: list[Piece[R]] = []
    broken: set[str] = set()
    kept: list[str] = []
    position = 0
    for tag in _tags(text):
        kept.append(text[position : tag.start()])
        position = tag.end()
        value = _value(tag[1], tag[2], renderers, broken)
        if value is not None:
            pieces += [*_text(kept), TagPiece(tag[1], value)]
            kept = []
    return [*pieces, *_text([*kept, text[position:]])]


def hint(renderers: Mapping[str, TagRenderer[R]]) -> str:
    """What the model is told of the tags that it has, in the order of their names; '' for none."""
    if not renderers:
        return ""
    names = sorted(renderers)
    tags = ", ".join(f"@{name}" for name in names)
    sentences = " ".join(renderers[name].description for name in names)
    return (
        "Tags that work in the text, neither in backticks nor right behind an ASCII letter "
        f"or digit: {tags}. {sentences}"
    )


def _text(kept: list[str]) -> list[TextPiece]:
    text = "".join(kept)
    return [TextPiece(text)] if text else []


def _value(
    name: str, parameter: str | None, renderers: Mapping[str, TagRenderer[R]], broken: set[str]
) -> R | None:
    """What is to stand for a tag; the name of a renderer that raised is logged once, in `broken`."""
    if name not in renderers:
        return None
    try:
        return renderers[name].render(parameter)
    except Exception:
        if name not in broken:
            broken.add(name)
            logger.exception("the renderer of @%s failed; such tags are cut", name)
        return None


def _tags(text: str) -> Iterator[re.Match[str]]:
    """The tags outside code. None reaches into code: that begins with no character of a tag."""
    code = _code(text)
    start = end = 0
    for tag in _TAG.finditer(text):
        while end <= tag.start():
            start, end = next(code, (len(text), len(text)))
        if tag.start() < start:
            yield tag


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Where code begins and ends, in order."""
    marks = list(_MARK.finditer(text))
    partners = _partners(marks)
    index = 0
    while index < len(marks):
        first = index
        if marks[first]["behind"] is not None:
            index = _closing_fence(marks, first)
        elif partners[first]:
            index = partners[first]
        if index > first:
            yield marks[first].start(), marks[index].end() if index < len(marks) else len(text)
        index += 1


def _closing_fence(marks: Sequence[re.Match[str]], opening: int) -> int:
    """Which mark ends the block that the mark `opening` begins; the number of marks for none."""
    run = _run(marks[opening])
    for index in range(opening + 1, len(marks)):
        behind = marks[index]["behind"]
        if behind is not None and not behind.strip() and _run(marks[index]).startswith(run):
            return index
    return len(marks)


def _partners(marks: Sequence[re.Match[str]]) -> list[int]:
    """For each mark which next one is the same run, 0 for none; beyond a fence nothing is seen."""
    partners = [0] * len(marks)
    ahead: dict[str, int] = {}
    for index in range(len(marks) - 1, -1, -1):
        run = _run(marks[index])
        partners[index] = ahead.get(run, 0)
        if marks[index]["behind"] is not None:
            ahead = {}
        ahead[run] = index
    return partners


def _run(mark: re.Match[str]) -> str:
    return mark[0].lstrip()
