"""Reading what a model answers: whatever is not plainly harmless and usable stores nothing."""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from core.errors import ModelFailure
from core.llm import reading
from stickers import recognition
from stickers.recognition import TOOL_NAME, Learned, Unusable

GOOD = {"meaning": "I am so tired", "sensitive": False}
NESTED = "[" * 5000 + "]" * 5000


def body(arguments: Any, *, name: Any = TOOL_NAME, calls: int = 1, **more: Any) -> bytes:
    """A response with this call; arguments that are no text are written as JSON."""
    told = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": told}}
    message = {"role": "assistant", "content": None, "tool_calls": [call] * calls}
    return json.dumps({"choices": [{"message": message, **more}]}).encode()


def learned(raw: bytes) -> Learned | str:
    """What is kept of a response, or why nothing is."""
    try:
        return recognition.read(reading.read(raw))
    except Unusable as unusable:
        return unusable.code
    except ModelFailure as failure:
        return failure.code


NOT_FALSE: list[Any] = [
    True, None, 0, 1, "", "false", "False", "no", [], {}, [False], {"value": False}, 0.0, "0", "不",
    "none", -1,
]  # fmt: skip
NO_MEANING: list[Any] = [
    None, "", " ", "\n\t", "。。。", "!!!", "…", "-", "?!", 7, 0, True, [], {}, ["hi"], "x" * 301,
    "好" * 301, "x" * 100_000, "\u200b\u200b", "\u202e\u2066", "\x00", "\ud800", "null", "None",
    "N/A", "unknown", "《》", "()", "🙂🙂", "\ufffd", "a\x00b",
]  # fmt: skip
WHOLE = json.dumps(GOOD)
NO_ARGUMENTS = [
    '{"sensitive": true, "meaning": "x y", "sensitive": false}',
    '{"sensitive": false, "meaning": "x y", "sensitive": true}',
    '{"meaning": "a", "meaning": "b", "sensitive": false}',
    '{"meaning": "a", "sensitive": true, "sensitive": false, "words": "\\u0000"}',
    '{"meaning": "a", "sensitive": true, "sensitive": false, "words": NaN}',
    '{"meaning": "fine", "sensitive": NaN}',
    f'{{"meaning": {NESTED}, "sensitive": false}}',
    f"```json\n{WHOLE}\n```", f"{WHOLE}{WHOLE}", f"{WHOLE},", f"[{WHOLE}]", f"{WHOLE}\n{WHOLE}",
    f"// fine\n{WHOLE}", WHOLE.replace('"', "'"), WHOLE.replace("false", "False"),
    WHOLE.replace("false", "fals"), json.dumps(WHOLE), "null", "true", "7", "[]", '""', NESTED, "{}",
    "", "<tool_call>" + WHOLE, "sensitive: false, meaning: fine",
]  # fmt: skip
OTHER_TOOLS: list[Any] = [
    "describe", "describe_stickers", "send_message", "judge_sticker", "functions.describe_sticker",
    "DESCRIBE_STICKER", "", " ", None, 7, ["describe_sticker"], "describe_sticker()",
]  # fmt: skip
NO_CALL: list[Any] = [
    "I can't help with that.", "Sorry", WHOLE, f"describe_sticker({WHOLE})", None, 7, [], "",
]  # fmt: skip
NO_ANSWER = [
    b"", b"null", b"[]", b"<html>", b"{", b'{"choices": []}', b'{"choices": null}', b"\xff\xfe",
    b'{"error": {"message": "refused"}}', b'{"choices": [{"message": null}]}', b"data: {}\n\n",
    b'{"choices": [{"message": {"refusal": "no"}}]}', b"[" * 100_000,
    b'{"choices": [{"message": {"tool_calls": 7}}]}',
    b'{"choices": [{"message": {"tool_calls": [null]}}]}',
    b'{"choices": [{"error": {"code": 500}}]}',
]  # fmt: skip


def partial() -> Iterator[bytes]:
    """Answers that lack something, or call it by another name."""
    for key in GOOD:
        yield body({name: value for name, value in GOOD.items() if name != key})
        yield body({(name if name != key else key.upper()): value for name, value in GOOD.items()})
        yield body({(name if name != key else f" {key}"): value for name, value in GOOD.items()})
        yield body({"arguments": GOOD, key: GOOD[key]})
    yield from (body(WHOLE[:end]) for end in range(len(WHOLE)))


def hostile() -> Iterator[bytes]:
    """Answers that are malformed, hostile, partial, or say two things; without an end."""
    for value in NOT_FALSE:
        yield body(GOOD | {"sensitive": value})
        yield body({"sensitive": value, "meaning": "fine", "moods": ["ok"]})
    for value in NO_MEANING:
        yield body(GOOD | {"meaning": value})
        yield body(GOOD | {"meaning": value, "use_when": "always", "moods": ["happy"]})
    yield from partial()
    yield from map(body, NO_ARGUMENTS)
    yield from (body(GOOD, name=name) for name in OTHER_TOOLS)
    yield from (body(GOOD, calls=calls) for calls in (0, 2, 3, 65))
    yield from (body(GOOD, finish_reason=reason) for reason in ("length", "content_filter"))
    for content in NO_CALL:
        yield json.dumps({"choices": [{"message": {"content": content}}]}).encode()
    yield from NO_ANSWER
    chance, good = random.Random("mangled"), body(GOOD)
    while True:  # cut off anywhere
        yield good[: chance.randrange(len(good) - 1)]


def test_of_three_hundred_malformed_hostile_or_partial_answers_none_is_kept() -> None:
    answers = list(itertools.islice(hostile(), 300))
    kept = [raw for raw in answers if isinstance(learned(raw), Learned)]
    assert len(set(answers)) > 250
    assert kept == []


def test_and_the_same_answer_in_good_order_is_kept() -> None:
    assert learned(body(GOOD)) == Learned("I am so tired")


def test_only_an_explicit_true_is_sensitive() -> None:
    with pytest.raises(Unusable) as caught:
        recognition.read(reading.read(body({"sensitive": True})))
    assert caught.value.sensitive
    with pytest.raises(Unusable) as caught:
        recognition.read(reading.read(body(GOOD | {"sensitive": "true"})))
    assert not caught.value.sensitive


def test_what_else_it_says_is_taken_where_usable_and_dropped_where_not() -> None:
    told = GOOD | {
        "use_when": "it is late",
        "avoid_when": ["never"],
        "moods": ["困", "tired", "tired", 7, None, "", "x" * 41, "  sleepy "],
        "words": "z" * 5000,
        "colour": "blue",
    }
    assert learned(body(told)) == Learned(
        "I am so tired", use_when="it is late", moods=("困", "tired", "sleepy")
    )


def test_moods_are_bounded() -> None:
    found = learned(body(GOOD | {"moods": [f"mood {number}" for number in range(1000)]}))
    assert isinstance(found, Learned)
    assert len(found.moods) == recognition.MOST_MOODS


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("  太\n难\t了  ", "太 难 了"),
        ("a\u202eb\u200bc", "abc"),
        ("👨\u200d👩\u200d👧 family", "👨\u200d👩\u200d👧 family"),
        ("x" * 300, "x" * 300),
        ("666", "666"),
    ],
)
def test_a_meaning_is_one_line_without_hidden_characters(written: str, kept: str) -> None:
    found = learned(body(GOOD | {"meaning": written}))
    assert isinstance(found, Learned)
    assert found.meaning == kept


def test_what_is_learned_survives_being_kept() -> None:
    whole = Learned("a", "b", "c", ("d", "e"), "f")
    assert Learned.from_fields(json.loads(json.dumps(whole.as_fields()))) == whole
