"""What a query and a text have in common by their letters, where Chinese has no blanks between words."""

import re
import unicodedata

_WORDS = re.compile(r"[a-z0-9']+")
_CHINESE = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]+")
_MOST = 60
# Words that most queries have and no meaning is found by.
_EMPTY_WORDS = """
a an and are as at be but by for from i if in is it its it's me my of on or so that the their them
this to was we when with you your sticker stickers
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())


def of(text: str) -> list[str]:
    """The pieces that a text is compared by, each once: words, and pairs of Chinese characters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = [word for word in _WORDS.findall(folded) if word not in _EMPTY]
    pairs = [
        run[start : start + 2]
        for run in _CHINESE.findall(folded)
        for start in range(max(1, len(run) - 1))
    ]
    return list(dict.fromkeys([*words, *pairs]))[:_MOST]


def share(pieces: list[str], text: str) -> float:
    """How many of the pieces a text has, of 0 to 1."""
    if not pieces:
        return 0.0
    folded = unicodedata.normalize("NFKC", text).casefold()
    return sum(piece in folded for piece in pieces) / len(pieces)
