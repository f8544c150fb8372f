"""What a skill's name and text may be."""

import pytest
from django.core.exceptions import ValidationError

from skills import texts


@pytest.mark.parametrize(
    "name", ["poker", "成语接龙", "How to brew tea", "a.b", "R&D", "2048", "é"]
)
def test_names_of_any_language_are_taken(name: str) -> None:
    texts.check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "a/b", "a\\b", "..", ".hidden", "a.", " a", "a ", "a  b", "a\nb", "a\x1b[31m", "a\u202eb",
        "C:", "a*", "a?", "e\u0301", "\U0001f600" * 51,
    ],
)  # fmt: skip
def test_a_name_that_some_file_system_reads_otherwise_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        texts.check_name(name)


def test_a_text_is_stored_with_unix_lines_and_none_empty_around_it() -> None:
    assert texts.tidy_body("\r\n\n  a\r\nb\rc  \n\n") == "  a\nb\nc"
    assert texts.tidy_line(" a\n b\te\u0301 ") == "a b é"


def test_headings_are_found_and_those_in_code_are_not() -> None:
    body = "# One\ntext\n## Two ##\n```sh\n# no\n```\n~~~\n# no\n```\n~~~\n#no\n   ### Three\n    # no\n#"
    assert texts.headings(body) == ["# One", "## Two", "### Three"]


def test_a_code_block_that_is_never_closed_hides_what_follows() -> None:
    assert texts.headings("# a\n````\n```\n# b") == ["# a"]


def test_headings_of_a_megabyte_of_blanks_are_found_at_once() -> None:
    assert texts.headings("# " + " #" * 500_000 + "x") == ["# " + "# " * 98 + "#…"]
