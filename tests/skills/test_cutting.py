"""Where a long text is cut."""

import pytest

from skills.cutting import cut


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("short", 5, "short"),
        ("one two.\n\nthree\nfour. five six", 15, "one two."),
        ("one two\nthree\nfour. five six", 14, "one two\nthree"),
        ("one two. three four five", 14, "one two."),
        ("第一条。第二条。第三条很长很长", 9, "第一条。第二条。"),
        ("v1.2 is out now, said she", 8, "v1.2 is"),
        ("abcdefghij", 4, "abcd"),
        ("a\n\nbcdefghijklmnop", 10, "a\n\nbcdefgh"),
        ("abcd\n\nefgh", 4, "abcd"),
        ("abc. efgh", 4, "abc."),
    ],
)
def test_a_text_is_cut_at_the_best_place_that_keeps_half(text: str, limit: int, kept: str) -> None:
    assert cut(text, limit) == kept


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_no_cut_is_longer_than_its_limit(limit: int) -> None:
    for text in ("\n\n" * 20, "。" * 20, "a\n" * 20, "a. " * 20, "x" * 20):
        assert len(cut(text, limit)) <= limit
