"""Where a text that is too long is cut, so that what is left reads as whole as it can."""

import re

# From the best place to the worst: behind a paragraph, a line, a sentence.
_PLACES = (re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"[。！？…；]|[.!?;](?=\s)"))


def cut(text: str, limit: int) -> str:
    """The beginning of `text`, at most `limit` characters, without blanks at its end.

    A place is good enough where it keeps at least half of the limit.
    """
    if len(text) <= limit:
        return text
    for place in _PLACES:
        # One more is looked at: a sign that stands right behind the limit ends it too.
        ends = [m.end() if m[0].strip() else m.start() for m in place.finditer(text, 0, limit + 1)]
        fitting = [end for end in ends if limit // 2 <= end <= limit]
        if fitting:
            return text[: fitting[-1]].rstrip()
    return text[:limit].rstrip()
