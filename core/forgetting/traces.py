"""Where a person is named: by the account, or by a name. Found in what was written to and by models,
taken out of what others wrote.

The account counts where it stands by itself, so that 10002 is not found in 100020; so does a name,
where its letters have words. One of a single character is no name here: it would be found
everywhere. A short account counts only where it can be nothing else.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

PLACEHOLDER = "forgotten"
"""Stands where an account stood."""
_SHORTEST_ACCOUNT = 5
_SHORTEST_NAME = 2
_BEFORE, _AFTER = r"(?<![0-9A-Za-z_])", r"(?![0-9A-Za-z_])"
_IS_WORD = re.compile(r"[0-9A-Za-z_]")


def account_pattern(user_id: str) -> str:
    """A regular expression of Postgres that finds the account in text or JSON."""
    account = re.escape(user_id)
    if len(user_id) < _SHORTEST_ACCOUNT:
        return rf'"{account}"|@user:{account}([^0-9A-Za-z_]|$)'
    return rf"(^|[^0-9A-Za-z_]){account}([^0-9A-Za-z_]|$)"


@dataclass(frozen=True)
class Traces:
    """What a person of one chat is known by."""

    user_id: str
    names: frozenset[str] = frozenset()

    @cached_property
    def _account(self) -> re.Pattern[str]:
        account = re.escape(self.user_id)
        if len(self.user_id) < _SHORTEST_ACCOUNT:
            return re.compile(rf'(?<=[="]){account}(?=")|(?<=@user:){account}{_AFTER}')
        return re.compile(f"{_BEFORE}{account}{_AFTER}")

    @cached_property
    def _named(self) -> re.Pattern[str] | None:
        names = {name.strip() for name in self.names}
        long = sorted(name for name in names if len(name) >= _SHORTEST_NAME)
        return re.compile("|".join(map(_by_itself, long)), re.IGNORECASE) if long else None

    def found_in(self, *values: Any) -> bool:
        """Whether the person is named anywhere in JSON-like values; text that is JSON, or XML as
        models are given, is read too."""
        return any(self._is_in(one) for one in _leaves(values))

    def _is_in(self, leaf: Any) -> bool:
        text = str(leaf)
        if text == self.user_id:
            return True
        if not isinstance(leaf, str):
            return False
        return any(
            self._account.search(one) or (self._named and self._named.search(one))
            for one in {text, html.unescape(text)}
        )

    def without(self, part: dict[str, Any]) -> dict[str, Any]:
        """A part of somebody else's message with the account taken out, and with it the name."""
        if part["type"] == "mention":
            is_theirs = str(part["data"].get("id")) == self.user_id
            return {"type": "mention", "data": {"id": PLACEHOLDER}} if is_theirs else part
        if self._cleared(part, frozenset()) == part:
            return part
        return {**part, "data": self._cleared(part["data"], self.names)}

    def without_account(self, text: str) -> str:
        """Text of somebody else with the account taken out."""
        return self._account.sub(PLACEHOLDER, text)

    def _cleared(self, value: Any, names: frozenset[str]) -> Any:
        match value:
            case dict():
                return {key: self._cleared(item, names) for key, item in value.items()}
            case list():
                return [self._cleared(item, names) for item in value]
            case str() if value == self.user_id or value in names:
                return PLACEHOLDER
            case str():
                return self.without_account(value)
            case int() if str(value) == self.user_id:
                return PLACEHOLDER
            case _:
                return value


def _by_itself(name: str) -> str:
    """A name as a pattern: words end where it does, and scripts without spaces have no words."""
    before = _BEFORE if _IS_WORD.match(name[0]) else ""
    after = _AFTER if _IS_WORD.match(name[-1]) else ""
    return f"{before}{re.escape(name)}{after}"


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """All that is no list and no mapping, keys included; without recursion, since models nest deep."""
    stack = list(values)
    while stack:
        match stack.pop():
            case dict() as mapping:
                stack += [*mapping.keys(), *mapping.values()]
            case list() | tuple() as several:
                stack += several
            case str() as text:
                yield text
                if text.lstrip()[:1] in ("{", "["):
                    stack += _parsed(text)
            case other:
                yield other


def _parsed(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []
