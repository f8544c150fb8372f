"""What a model wrote to search by, made fit to search by: one cleaner for every tool that searches."""

import unicodedata

LONGEST = 200
_MOST_READ = 2000


def clean(query: str) -> str:
    """The query on one line, composed, without control and invisible characters, cut to LONGEST
    characters; empty where nothing is left.

    A longer one is cut, not refused: the words that count stand in front.
    """
    seen = unicodedata.normalize("NFC", query[:_MOST_READ])
    kept = "".join(filter(None, map(_kept, seen)))
    return " ".join(kept.split())[:LONGEST].rstrip()


def _kept(character: str) -> str:
    """The character, a blank for one that parts words, nothing for one that is not seen."""
    if character == "\ufffd":  # it stands where something could not be stored
        return " "
    match unicodedata.category(character):
        case "Cc" | "Zl" | "Zp" | "Zs":
            return " "
        case "Cf" | "Cs" | "Co":
            return ""
        case _:
            return character
