"""Finding what people are shown and nobody can translate: words in code and templates as they are."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

from django.template.base import Lexer, TokenType

_WORD = re.compile(r"[A-Za-z]{2,}")
_SHOWN_KEYWORDS = {
    "verbose_name",
    "verbose_name_plural",
    "help_text",
    "label",
    "short_description",
    "empty_label",
    "help",
}
_SHOWN_NAMES = {"verbose_name", "verbose_name_plural", "short_description", "help", "headers"}
_SHOWN_BY = {
    "CommandError": 0,
    "Finding": 2,
    "SetUpError": 0,
    "StartError": 0,
    "EmbeddedError": 0,
    "Misused": 0,
    "NoConnection": 0,
    "Reason": 0,
    "Ability": 1,
    "say": 0,
    "ValidationError": 0,
    "action": None,
    "display": None,
    "success": 1,
    "info": 1,
    "warning": 1,
    "error": 1,
    "write": 0,
    "log_change": 2,
}
"""Calls whose argument at this place is shown to people; None: by keyword alone."""

_LOGGERS = {"log", "logger", "logging"}
_NAMES_OF_THINGS = re.compile(r"\b(arise|OneBot|REDIS_URL|JSON|curl|QQ|Universal|API|Event)\b")
_BEFORE_DJANGO = {"bootstrap.py"}
"""Runs before anything is installed."""


def in_python(source: str) -> list[str]:
    """Literal words in places that are shown to people, as `line: words`."""
    tree = ast.parse(source)
    return [
        f"{node.lineno}: {ast.unparse(node)}" for node in _shown_nodes(tree) if _has_words(node)
    ]


def in_template(source: str) -> list[str]:
    """Words between tags, or in attributes that people read, outside of `translate`, as `words`."""
    reader = _Reader()
    reader.feed(_without_template_code(source))
    reader.close()
    return [words for words in reader.words if _WORD.search(_NAMES_OF_THINGS.sub("", words))]


def _shown_nodes(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _arguments(node, _name(node.func), _owner(node.func))
        elif isinstance(node, ast.ClassDef):
            for line in node.body:
                yield from _assigned(line)


def _arguments(call: ast.Call, name: str, owner: str) -> Iterator[ast.expr]:
    shown = _SHOWN_KEYWORDS | ({"description"} if name in ("action", "display") else set())
    yield from (word.value for word in call.keywords if word.arg in shown)
    place = _SHOWN_BY.get(name)
    if name not in _SHOWN_BY or place is None or owner in _LOGGERS:
        return
    if name in ("success", "info", "warning", "error") and owner != "messages":
        return
    if name == "write" and owner not in ("stdout", "stderr"):
        return
    yield from call.args[place : place + 1]


def _assigned(line: ast.stmt) -> Iterator[ast.expr]:
    match line:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _SHOWN_NAMES:
            yield from value.elts if isinstance(value, ast.Tuple) else [value]
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=[ast.Constant(), label])):
            if name.isupper():  # a choice with its label
                yield label
        case _:
            pass


def _has_words(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return bool(_WORD.search(_NAMES_OF_THINGS.sub("", text)))
        case ast.JoinedStr(values=values):
            return any(_has_words(value) for value in values)
        case ast.BinOp(left=left, right=right):
            return _has_words(left) or _has_words(right)
        case _:
            return False


def _name(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _owner(func: ast.expr) -> str:
    match func:
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
        case _:
            return ""


def _without_template_code(source: str) -> str:
    kept: list[str] = []
    skipped_until = ""
    for token in Lexer(source).tokenize():
        command = token.contents.split(" ", 1)[0] if token.token_type == TokenType.BLOCK else ""
        if skipped_until:
            skipped_until = "" if command == skipped_until else skipped_until
        elif command in ("blocktranslate", "blocktrans", "comment"):
            skipped_until = f"end{command}"
        elif token.token_type == TokenType.TEXT:
            kept.append(token.contents)
    return "".join(kept)


class _Reader(HTMLParser):
    """Gathers what people read of a page."""

    READ: ClassVar = ("placeholder", "title", "aria-label", "alt")

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style", "code")
        self.words += [value for name, value in attrs if name in self.READ and value]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style", "code")

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._hidden:
            self.words.append(data.strip())


def of_folder(folder: Path) -> Iterator[str]:
    """All of it under a folder, as `path:line: words`."""
    for path in sorted(folder.rglob("*.py")):
        if "migrations" not in path.parts and path.name not in _BEFORE_DJANGO:
            yield from (f"{path}:{found}" for found in in_python(path.read_text()))
    for path in sorted(folder.rglob("*.html")):
        yield from (f"{path}: {found}" for found in in_template(path.read_text()))
