"""Emoji as a platform takes them under a message: one QQ face or one code point, as decimal text.

QQ tells the two apart by their length: up to three digits are a face, more a code point
(`emoji_id` of NapCat's group_msg_emoji_like). So whatever is several code points can't be said: a
flag, a family, a skin tone, a keycap; nor can the few below U+03E8, as ©.
"""

import re
import unicodedata

VARIATION_SELECTOR_16 = "\ufe0f"
_DECIMAL = re.compile(r"[0-9]{1,7}")
_HEXADECIMAL = re.compile(r"(?:U\+|0x)([0-9a-f]{1,6})", re.IGNORECASE)
_FACES = range(1000)
_CODE_POINTS = range(1000, 0x110000)
_REGIONAL_INDICATORS = range(0x1F1E6, 0x1F200)
_OTHER_EMOJI = frozenset("‼⁉ℹ↔⤴⤵◻◼◽◾〰")
"""Those that Unicode does not count as symbols of the kind that emoji are."""
_NEW_EMOJI = range(0x1FA70, 0x1FB00)
"""Where Unicode puts emoji every year: some may be younger than Python's tables."""


def canonical(written: str) -> str | None:
    """The decimal text of a QQ face id, of an emoji or of its code point (`128077`, `U+1F44D`,
    `0x1F44D`), as received reactions have it; None for what can't be said so."""
    text = written.strip()
    if _DECIMAL.fullmatch(text):
        number = int(text)
        return str(number) if number in _FACES else _code_point(number)
    if found := _HEXADECIMAL.fullmatch(text):
        return _code_point(int(found[1], 16))
    kept = text.replace(VARIATION_SELECTOR_16, "")
    return _code_point(ord(kept)) if len(kept) == 1 else None


def _code_point(number: int) -> str | None:
    if number not in _CODE_POINTS or number in _REGIONAL_INDICATORS:
        return None
    character = chr(number)
    is_symbol = unicodedata.category(character) == "So"
    is_emoji = is_symbol or character in _OTHER_EMOJI or number in _NEW_EMOJI
    return str(number) if is_emoji else None
