"""Both message formats to one list of segments."""

from hypothesis import given
from hypothesis import strategies as st

from botgateway import segments
from botgateway.segments import Segment

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
_NAME = st.text("abcXYZ019_.-", min_size=1, max_size=8)
_CODES = st.builds(
    Segment, _NAME.filter(lambda name: name != "text"), st.dictionaries(_NAME, _TEXT)
)
_TEXTS = st.builds(lambda text: Segment("text", {"text": text}), _TEXT)


@given(st.lists(st.tuples(st.one_of(st.none(), _TEXTS), _CODES), max_size=10))
def test_segments_survive_the_way_through_a_cq_string(
    pairs: list[tuple[Segment | None, Segment]],
) -> None:
    written = [segment for pair in pairs for segment in pair if segment is not None]
    assert list(segments.parse(segments.to_cq(written))) == written


@given(st.text())
def test_any_string_is_a_message(message: str) -> None:
    segments.parse(message)


def test_array_text_is_never_parsed() -> None:
    typed = "[CQ:at,qq=all] &#91;x&#93;"
    assert segments.parse([{"type": "text", "data": {"text": typed}}]) == (
        Segment("text", {"text": typed}),
    )


def test_an_entity_is_unescaped_once() -> None:
    assert segments.text_of(segments.parse("&amp;#91; &amp;amp; &#91;")) == "&#91; &amp; ["


def test_malformed_codes_stay_text() -> None:
    for message in ("[CQ:]", "[CQ:at,qq]", "[CQ:at,=1]", "[CQ:at qq=1]", "[CQ:at,qq=1", "[cq:at]"):
        assert segments.parse(message) == (Segment("text", {"text": message}),)


def test_a_single_object_and_strings_in_a_list_are_taken() -> None:
    assert segments.parse({"type": "face", "data": {"id": "1"}}) == (Segment("face", {"id": "1"}),)
    assert segments.parse(["hi", None, 5, {"type": 7}]) == (
        Segment("text", {"text": "hi"}),
        Segment("unknown"),
        Segment("unknown"),
        Segment("unknown"),
    )


def test_more_than_500_segments_are_cut_with_a_mark() -> None:
    for message in ("[CQ:face,id=1]" * 600, [{"type": "face", "data": {"id": "1"}}] * 600):
        parsed = segments.parse(message)
        assert len(parsed) == segments.MAX_SEGMENTS + 1
        assert parsed[-1] == Segment("cut", {"segments": True})


def test_text_beyond_64_kib_is_cut_between_characters_with_a_mark() -> None:
    parsed = segments.parse(
        [
            {"type": "text", "data": {"text": "长" * 20_000}},
            {"type": "text", "data": {"text": "长" * 20_000}},
        ]
    )
    assert len(segments.text_of(parsed).encode()) == 65_535
    assert "cut" not in parsed[0].data
    assert parsed[1].data["cut"] is True
