"""What differs between two versions."""

from skills.comparing import MOST_LINES, Line, compare


def test_changed_lines_stand_with_those_around_them() -> None:
    old = "\n".join("abcdefghij")
    assert compare(old, old.replace("h", "H\nI")) == [
        Line("place", "5"),
        Line("same", "e"),
        Line("same", "f"),
        Line("same", "g"),
        Line("removed", "h"),
        Line("added", "H"),
        Line("added", "I"),
        Line("same", "i"),
        Line("same", "j"),
    ]


def test_equal_texts_have_nothing_to_tell() -> None:
    assert compare("a\nb", "a\nb") == []


def test_lines_that_are_only_added_or_removed_are_told() -> None:
    assert compare("a\na", "a\na\na") == [
        Line("place", "1"), Line("same", "a"), Line("same", "a"), Line("added", "a"),
    ]  # fmt: skip
    assert compare("x", "") == [Line("place", "1"), Line("removed", "x"), Line("added", "")]


def test_a_small_change_of_a_long_text_is_told() -> None:
    lines = [str(n) for n in range(100_000)]
    changed = [*lines[:50_000], "new", *lines[50_001:]]
    told = compare("\n".join(lines), "\n".join(changed))
    assert told is not None
    assert [line.text for line in told if line.kind in {"added", "removed"}] == ["50000", "new"]
    assert told[0] == Line("place", "49998")


def test_texts_that_differ_too_much_are_not_compared() -> None:
    assert compare("\n".join("a" * (MOST_LINES + 1)), "b") is None
