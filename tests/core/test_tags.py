"""Inline tags: which there are, what becomes of them, and that nothing else changes."""

import itertools
import random
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import tags
from core.tags import TagPiece, TagRenderer, TextPiece

Value = tuple[str, str | None]
Renderers = Mapping[str, TagRenderer[Value]]
NONE: Renderers = {}
MEBIBYTE = 1 << 20


def _all(parameter: str | None) -> Value | None:
    return ("all", None) if parameter is None else None


def _user(parameter: str | None) -> Value | None:
    return ("user", parameter) if parameter and parameter.isdigit() else None


def _face(parameter: str | None) -> Value | None:
    return ("face", parameter) if parameter and parameter.isdigit() else None


def _broken(parameter: str | None) -> Value | None:
    raise RuntimeError(f"no {parameter}")


SOME: Renderers = {
    "user": TagRenderer(_user, "@user:ID mentions a member."),
    "all": TagRenderer(_all, "@all mentions everybody."),
    "face": TagRenderer(_face, "@face:ID shows a face."),
}
WITH_BROKEN: Renderers = {**SOME, "broken": TagRenderer(_broken, "@broken fails.")}


def _shown(text: str, renderers: Renderers = SOME) -> list[str | Value]:
    """Texts as strings, rendered tags as what their renderers returned."""
    return [
        piece.text if isinstance(piece, TextPiece) else piece.value
        for piece in tags.render(text, renderers)
    ]


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("@all", ("all", None)),
        ("@user:10001", ("user", "10001")),
        ("@face:178", ("face", "178")),
    ],
)
class TestEachTag:
    def test_a_registered_tag_becomes_what_its_renderer_returns(
        self, tag: str, value: Value
    ) -> None:
        assert tags.render(tag, SOME) == [TagPiece(value[0], value)]

    def test_a_registered_tag_is_replaced_in_its_place(self, tag: str, value: Value) -> None:
        assert _shown(f"大家好 {tag}  看\n这里 ", SOME) == ["大家好 ", value, "  看\n这里 "]

    def test_an_unregistered_tag_is_cut_and_nothing_else(self, tag: str, value: Value) -> None:
        others = {name: renderer for name, renderer in SOME.items() if name != value[0]}
        for renderers in (others, NONE):
            assert _shown(f"大家好 {tag}  看\n这里 ", renderers) == ["大家好   看\n这里 "]

    def test_a_tag_of_which_nothing_is_left_leaves_no_piece(self, tag: str, value: Value) -> None:
        assert tags.render(tag, NONE) == []

    def test_chinese_may_stand_before_and_after_at_once(self, tag: str, value: Value) -> None:
        assert _shown(f"你好{tag}你好", SOME) == ["你好", value, "你好"]
        assert _shown(f"你好{tag}你好", NONE) == ["你好你好"]

    def test_a_tag_in_code_is_text(self, tag: str, value: Value) -> None:
        for text in (
            f"写 `{tag}` 就行",
            f"``a ` {tag}``",
            f"看：\n```\n{tag}\n```\n",
            f"~~~\n{tag}",
        ):
            assert _shown(text, SOME) == _shown(text, NONE) == [text]

    def test_a_tag_in_an_address_is_text(self, tag: str, value: Value) -> None:
        for before in ("a", "Z", "0", ".", "_", "+", "-"):
            assert _shown(before + tag, SOME) == _shown(before + tag, NONE) == [before + tag]

    def test_names_are_told_apart_by_case(self, tag: str, value: Value) -> None:
        assert _shown(f"a {tag.upper()}!", SOME) == ["a !"]


def test_a_renderer_is_a_function_of_the_parameter_and_a_sentence() -> None:
    seen: list[str | None] = []
    renderers = {"x": TagRenderer[str](seen.append, "@x does nothing.")}
    tags.render("@x @x:a-B_9 @x: @x:你", renderers)
    assert seen == [None, "a-B_9", None, None]
    assert renderers["x"].description == "@x does nothing."


def test_every_tag_of_a_text_is_rendered_also_twice_the_same() -> None:
    text = "@all 和@user:1、@user:2，@user:1 @face:14@all"
    assert _shown(text) == [
        ("all", None), " 和", ("user", "1"), "、", ("user", "2"), "，", ("user", "1"), " ",
        ("face", "14"), "@all",
    ]  # fmt: skip
    assert _shown(text, NONE) == [" 和、， @all"]


@pytest.mark.parametrize("tag", ["@user", "@user:abc", "@all:1", "@face", "@face:-1", "@face:1_0"])
def test_a_tag_whose_renderer_returns_none_is_cut_without_a_trace(tag: str) -> None:
    assert tags.render(f"(´ω｀) {tag} \n", SOME) == [TextPiece("(´ω｀)  \n")]


@pytest.mark.parametrize("tag", ["@nobody", "@poke:1", "@ALL", "@all_", "@User:1", "@a1:x-y_z"])
def test_an_unknown_tag_is_cut_and_the_rest_goes_on(tag: str) -> None:
    assert _shown(f"a {tag}, @all") == ["a , ", ("all", None)]


@pytest.mark.parametrize("tag", ["@user:10001", "@nobody", "@broken"])
def test_texts_that_a_cut_brings_together_are_one_piece(tag: str) -> None:
    renderers = {"broken": TagRenderer(_broken, "")}
    assert tags.render(f"一{tag}二 {tag} 三", renderers) == [TextPiece("一二  三")]


def test_a_renderer_that_raises_breaks_nothing_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shown = _shown("a @broken:1 b @all @broken c", WITH_BROKEN)
    assert shown == ["a  b ", ("all", None), "  c"]
    assert [record.getMessage() for record in caplog.records] == [
        "the renderer of @broken failed; such tags are cut"
    ]


def test_what_a_renderer_returns_is_handed_on_unread() -> None:
    values: list[object] = ["", "@all", "[CQ:at,qq=all]", 0, [], object()]
    renderers = {"x": TagRenderer(lambda index: values[int(index or 0)], "")}
    for index, value in enumerate(values):
        assert tags.render(f"@x:{index}", renderers) == [TagPiece("x", value)]


@pytest.mark.parametrize(
    "text",
    [
        "写信给 a@all.com, a.b@user.cn, x_@all, 5@all",
        "@小明 @10001 @_all @ all @:1 @",
        "＠all ＠user：10001 @\u200ball @ａｌｌ @аll",  # the last begins with a Cyrillic letter
        "(｀・ω・´) (╯°□°）╯︵ ┻━┻ ¯\\_(ツ)_/¯ (@_@) @_@ (＠_＠;)",
        "[CQ:at,qq=all] [CQ:at,qq=10001] &#91;CQ:at&#44;qq=all&#93; &amp;amp;",
        " \n\n\t 空白 \r\n ",
        "\u202e反\u202c\u200d\ufeff\x00\ud800",
    ],
)
def test_what_is_no_tag_stays_to_the_letter(text: str) -> None:
    assert _shown(text, SOME) == _shown(text, NONE) == [text]


def test_of_a_name_only_its_ascii_letters_are_the_tag() -> None:
    assert _shown("@all\u200b @allａ @user:1２ @a\u200bll @all\u0301") == [
        ("all", None), "\u200b ", ("all", None), "ａ ", ("user", "1"), "２ \u200bll ",
        ("all", None), "\u0301",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("`a`@all`b`", ["`a`", "*", "`b`"], id="between-spans"),
        pytest.param("(´ω`) @all", ["(´ω`) ", "*"], id="unclosed"),
        pytest.param("`` @all `", ["`` ", "*", " `"], id="unequal-runs"),
        pytest.param("`` ` @all `` @all", ["`` ` @all `` ", "*"], id="other-run-inside"),
        pytest.param("`\n\n@all`", ["`\n\n@all`"], id="span-over-lines"),
        pytest.param("\\`@all\\`", ["\\`@all\\`"], id="a-backslash-escapes-nothing"),
        pytest.param("```\n@all\n```\n@all", ["```\n@all\n```\n", "*"], id="fenced"),
        pytest.param(
            "```py\r\n@all\r\n``` \r\n@all", ["```py\r\n@all\r\n``` \r\n", "*"], id="crlf"
        ),
        pytest.param("  ~~~\n@all\n   ~~~~\n@all", ["  ~~~\n@all\n   ~~~~\n", "*"], id="indented"),
        pytest.param("```\n@all\n``\n~~~\n@all", ["```\n@all\n``\n~~~\n@all"], id="never-closed"),
        pytest.param("````\n```\n@all\n````\n@all", ["````\n```\n@all\n````\n", "*"], id="longer"),
        pytest.param("```\n``` x\n@all", ["```\n``` x\n@all"], id="closing-fence-has-no-words"),
        pytest.param("~~~ `\n` @all\n~~~\n@all", ["~~~ `\n` @all\n~~~\n", "*"], id="tildes"),
        pytest.param("    ~~~\n@all", ["    ~~~\n", "*"], id="four-spaces-are-no-fence"),
        pytest.param("嗯~~~ @all", ["嗯~~~ ", "*"], id="tildes-in-a-line-are-no-fence"),
        pytest.param("~~\n@all", ["~~\n", "*"], id="two-tildes-are-no-fence"),
        pytest.param("```@all``` @all", ["```@all``` ", "*"], id="span-of-three"),
        pytest.param("看:```\n@all\n```\n@all", ["看:```\n@all\n```\n", "*"], id="begun-in-a-line"),
        pytest.param("看:```\n@all\n``` @all", ["看:```\n@all\n``` ", "*"], id="words-behind-span"),
        pytest.param("看:```\n@all\n~~~\n@all", ["看:```\n", "*", "\n~~~\n@all"], id="other-fence"),
        pytest.param(
            "(´ω`)\n```\na `\n```\n@all", ["(´ω`)\n```\na `\n```\n", "*"], id="no-span-into-a-fence"
        ),
    ],
)
def test_what_is_code(text: str, shown: list[str]) -> None:
    assert ["*" if part == ("all", None) else part for part in _shown(text)] == shown


def test_the_hint_names_each_registered_tag_in_the_order_of_names() -> None:
    assert tags.hint(SOME) == (
        "Tags that work in the text, neither in backticks nor right behind an ASCII letter or "
        "digit: @all, @face, @user. "
        "@all mentions everybody. @face:ID shows a face. @user:ID mentions a member."
    )
    assert tags.hint({name: SOME[name] for name in reversed(list(SOME))}) == tags.hint(SOME)


def test_an_unregistered_tag_is_not_in_the_hint() -> None:
    hint = tags.hint({"user": SOME["user"]})
    assert "@user" in hint
    assert "@all" not in hint
    assert "@face" not in hint


def test_without_registered_tags_there_is_no_hint() -> None:
    assert tags.hint(NONE) == ""


@pytest.mark.parametrize(
    "unit",
    [
        "@",
        "@a",
        "@a:",
        "@a ",
        "@all ",
        "`",
        "`x",
        "` `` ",
        "```\n",
        "~~~\n",
        "x```\n~~~\n",
        " ",
        "好",
    ],
)
def test_a_mebibyte_of_hostile_text_is_read(unit: str) -> None:
    """The tag before it makes sure that code is looked for at all."""
    text = unit * (MEBIBYTE // len(unit))
    pieces = _shown(f"@user:1 {text}")
    assert pieces[0] == ("user", "1")


@pytest.mark.parametrize("character", ["`", "~"])
def test_runs_of_all_lengths_are_read(character: str) -> None:
    """Some 1,400 runs, a mebibyte of them, none with a partner."""
    for between, step in itertools.product(("x", "\n", " @all "), (1, -1)):
        runs = [character * length for length in range(1, 1420)][::step]
        assert tags.render("@user:1 " + between.join(runs), SOME)


# What follows judges by a second reading of the rules, a character at a time and without care for
# speed, that shares nothing with the first.
LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
NAME = LETTERS | frozenset("0123456789_")
PARAMETER = NAME | {"-"}
ADDRESS = LETTERS | frozenset("0123456789._+-")


def _line(text: str, at: int) -> str:
    return text[at:].split("\n", 1)[0]


def _fence(text: str, at: int) -> tuple[str, str] | None:
    """The run and the rest of the line where a fenced block's line begins at `at`."""
    line = _line(text, at)
    inner = line.lstrip(" ")
    rest = inner.lstrip(inner[:1])
    run = inner[: len(inner) - len(rest)]
    is_fence = (at == 0 or text[at - 1] == "\n") and len(line) - len(inner) <= 3 and len(run) >= 3
    if not is_fence or run[0] not in "`~" or (run[0] == "`" and "`" in rest):
        return None
    return run, rest


def _block_end(text: str, at: int, run: str) -> int:
    at += len(_line(text, at)) + 1
    while at < len(text):
        found = _fence(text, at)
        if found and found[0][0] == run[0] and len(found[0]) >= len(run) and not found[1].strip():
            return at + len(_line(text, at))
        at += len(_line(text, at)) + 1
    return len(text)


def _span_end(text: str, at: int) -> int:
    """Where the span ends that the run at `at` begins; the run's own end where it begins none."""
    end = at
    while text[end : end + 1] == "`":
        end += 1
    size, here = end - at, end
    while here < len(text):
        found = _fence(text, here)
        if found and found[0] != "`" * size:
            break
        here += len(_line(text, here)) - len(_line(text, here).lstrip(" ")) if found else 0
        run = len(text[here:]) - len(text[here:].lstrip("`"))
        if run == size:
            return here + run
        here += run or 1
    return end


def _tag_end(text: str, at: int) -> int:
    """Where the tag ends that begins at `at`; `at` where none does."""
    if text[at] != "@" or text[at + 1 : at + 2] not in LETTERS or text[at - 1 : at] in ADDRESS:
        return at
    end = at + 1
    while text[end : end + 1] in NAME:
        end += 1
    if text[end : end + 1] == ":" and text[end + 1 : end + 2] in PARAMETER:
        end += 1
        while text[end : end + 1] in PARAMETER:
            end += 1
    return end


def _reading(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces, each with whether it is a tag."""
    at = 0
    while at < len(text):
        found = _fence(text, at)
        is_tag = False
        if found:
            end = _block_end(text, at, found[0])
        elif text[at] == "`":
            end = _span_end(text, at)
        else:
            end = _tag_end(text, at)
            is_tag = end > at
            end = max(end, at + 1)
        yield is_tag, text[at:end]
        at = end


def _assert_only_tags_are_touched(text: str) -> None:
    reading = list(_reading(text))
    without_tags = "".join(part for is_tag, part in reading if not is_tag)
    for renderers in (SOME, NONE, {"all": SOME["all"]}, {"user": SOME["user"]}):
        pieces = tags.render(text, renderers)
        texts = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
        assert "".join(texts) == without_tags
        assert all(texts)
        written = [part[1:].partition(":") for is_tag, part in reading if is_tag]
        due = [
            value
            for name, colon, parameter in written
            if name in renderers
            and (value := renderers[name].render(parameter if colon else None)) is not None
        ]
        assert [piece.value for piece in pieces if isinstance(piece, TagPiece)] == due
        for one, other in itertools.pairwise(pieces):
            assert not (isinstance(one, TextPiece) and isinstance(other, TextPiece))


MORSELS = (
    "@all", "@user:10001", "@user:", "@user", "@face:14", "@face:abc", "@nobody:1-2_3", "@ALL",
    "@", ":", "@@", "＠all", "@小明", "@10001", "a", "Zz", "0", "_", "-", ".", "+", "hello",
    "ann@example.com", "x+y@all.org", "你好", "大家好", "，", "。", "！", "（", "）", "【", "】", "「」",
    "[CQ:at,qq=all]", "[CQ:image,file=file:///etc/passwd]", "[CQ:", "]", "&#91;", "&#93;", "&#44;",
    "&amp;", "&amp;#91;", "［CQ：at］", "\u202e", "\u202c", "\u2066", "\u2069", "\u200b", "\u200d",
    "\u2060", "\ufeff", "\u0301", "\u212a", "ａｌｌ", "аll", "`", "``", "```", "````", "~", "~~~", "~~~~",
    "\n", "\n```\n", "\n~~~\n", "\n```py\n", "\r\n", " ", "  ", "    ", "\t", "\u3000", "\\", "(´ω`)",
    "(@_@)", "😀", "1️⃣", "\x00", "<b>", "{{ x }}",
)  # fmt: skip


def test_ten_thousand_mixed_texts_leak_no_tag_inject_nothing_and_change_no_other_character() -> (
    None
):
    chance = random.Random(11)
    for _ in range(10_000):
        _assert_only_tags_are_touched("".join(chance.choices(MORSELS, k=chance.randint(1, 24))))


@given(st.lists(st.sampled_from(MORSELS) | st.text(max_size=3)).map("".join))
def test_in_any_text_only_tags_are_touched(text: str) -> None:
    _assert_only_tags_are_touched(text)


@given(st.text("@a:1-好` ~\n"))
def test_in_any_text_of_marks_only_tags_are_touched(text: str) -> None:
    _assert_only_tags_are_touched(text)
