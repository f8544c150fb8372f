"""Emoji: what can be put under a message, and what it is called."""

import pytest

from core import emoji


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("76", "76"),
        ("0", "0"),
        ("076", "76"),
        (" 424\n", "424"),
        ("👍", "128077"),
        ("128077", "128077"),
        ("U+1F44D", "128077"),
        ("u+1f44d", "128077"),
        ("0x1F44D", "128077"),
        ("0X1f44d", "128077"),
        ("❤", "10084"),
        ("❤\ufe0f", "10084"),
        ("☀\ufe0f", "9728"),
        ("↔\ufe0f", "8596"),
        ("‼\ufe0f", "8252"),
        ("🥰", "129392"),
        ("🎉", "127881"),
        ("🫩", "129769"),  # younger than some tables
    ],
)
def test_a_face_an_emoji_and_a_code_point_have_one_name(written: str, canonical: str) -> None:
    assert emoji.canonical(written) == canonical


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        "\ufe0f",
        "👨‍👩‍👧",  # several people joined
        "🇨🇳",  # a flag
        "🇨",
        "U+1F1E8",
        "👍🏽",  # a skin tone
        "🏽",
        "1\ufe0f\u20e3",  # a keycap
        "👍👍",
        "©",  # a face of that number would go out
        "U+00A9",
        "0xAE",
        "a",
        "赞",
        "U+4E2D",
        "4321",  # a code point, and no emoji
        "1114112",
        "U+110000",
        "99999999",
        "-1",
        "U+",
        "0x",
        "1F44D",
        "U+D83D",
        "\ud83d",
        "76.0",
        "７６",
        ":thumbsup:",
        "[赞]",
        "thumbs up",
    ],
)
def test_what_is_no_single_emoji_can_not_be_said(written: str) -> None:
    assert emoji.canonical(written) is None
