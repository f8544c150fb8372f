"""The cleaner of queries that models write."""

import pytest

from core.tools import queries


@pytest.mark.parametrize(
    ("written", "cleaned"),
    [
        ("  well\tdone \n you ", "well done you"),
        ("", ""),
        (" \u3000\u200b\x00\n", ""),
        ("a\x00b\x1bc\x7fd\x85e\ufffdf", "a b c d e f"),
        ("he\u200bll\u00ado \u202eyou", "hello you"),
        ("one\u2028two\u2029three", "one two three"),
        ("\ud83d尴尬\ue000", "尴尬"),
        ("ｈｉ　你好！", "ｈｉ 你好！"),
        ("👍🏻", "👍🏻"),
    ],
)
def test_a_query_is_one_line_of_what_is_seen(written: str, cleaned: str) -> None:
    assert queries.clean(written) == cleaned


def test_a_huge_query_is_cut() -> None:
    assert len(queries.clean("尴" * 10_000_000)) == queries.LONGEST
    assert queries.clean("a" * (queries.LONGEST - 1) + " b") == "a" * (queries.LONGEST - 1)
