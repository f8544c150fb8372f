from core import text


def test_clean_reaches_every_string_and_keeps_the_rest() -> None:
    value = {"a\x00": ["\ud800", ("😀", 1, None, True)], "b": 1.5}
    assert text.clean(value) == {"a\ufffd": ["\ufffd", ["😀", 1, None, True]], "b": 1.5}


def test_clean_leaves_no_number_that_json_has_not() -> None:
    assert text.clean([float("nan"), {"a": float("inf")}, 1e300]) == [None, {"a": None}, 1e300]


def test_one_line_is_one_line_and_short() -> None:
    assert text.one_line(" a\n b\t\x00c ") == "a b \ufffdc"
    assert text.one_line("x" * 50, 10) == "x" * 9 + "…"


def test_redact_hides_what_is_given_and_what_looks_like_a_secret() -> None:
    shown = text.redact("a hunter2 sk-0123456789 redis://:p:w@h/0 http://h:80/x@y", ["hunter2", ""])
    assert shown == "a *** *** redis://***@h/0 http://h:80/x@y"


def test_a_short_secret_is_hidden_where_it_stands_alone_and_mangles_no_word() -> None:
    assert text.redact("password y of Valkey", ["y"]) == "password *** of Valkey"
    assert text.redact("database ab", ["ab"]) == "database ***"
