"""Tables for people: columns that line up in a terminal, whatever strangers called themselves."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

_GAP = "  "
# Cc moves the cursor, Cf turns the direction of writing round, the others break lines or encoding.
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def printable(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would obey."""
    return "".join("\ufffd" if unicodedata.category(char) in _UNSAFE else char for char in text)


def width(text: str) -> int:
    """How many columns a terminal gives it: CJK and most emoji take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def padded(text: str, columns: int) -> str:
    """`text` and blanks, `columns` wide in a terminal."""
    return text + " " * (columns - width(text))


def shortened(text: str, columns: int) -> str:
    """`text` in at most `columns` columns, with an ellipsis where some of it is left off."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for char in text:
        used += width(char)
        if used >= columns:
            break
        kept.append(char)
    return "".join(kept) + "…"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], widest: int = 48) -> Iterator[str]:
    """Lines of a table; rows are few enough to be held, cells longer than `widest` are cut."""
    cells = [list(headers)]
    cells += [[shortened(printable(cell), widest) for cell in row] for row in rows]
    columns = [max(width(row[index]) for row in cells) for index in range(len(headers))]
    for row in cells:
        filled = [padded(cell, columns[i]) for i, cell in enumerate(row)]
        yield _GAP.join(filled).rstrip()
