"""What a skill's name, description and text may be, wherever they come from."""

import re
import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from core.text import one_line

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_BODY = 1024 * 1024
LONGEST_PATH = 255
_LONGEST_NAME_BYTES = 200  # with `.md` behind it, below the 255 that file systems take

# A name is also a folder's and a file's: what some file system reads otherwise is left out.
_UNFIT = re.compile(r'[/\\:*?"<>|]')
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]")
_LONGEST_HEADING = 200


def tidy_line(text: str) -> str:
    """A name or a description as it is stored: composed, on one line, no blanks around it."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def tidy_body(text: str) -> str:
    """A text as it is stored: lines end as Unix has it, no empty lines around it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines.strip("\n").rstrip()


def folded(name: str) -> str:
    """What two names have in common that people, or file systems, take for one."""
    return unicodedata.normalize("NFKC", name).casefold()


def check_name(name: str) -> None:
    """Raise ValidationError with a sentence for a name that can't be a skill's."""
    if not name.isprintable() or _UNFIT.search(name):
        raise ValidationError(_('A name has no control characters and none of / \\ : * ? " < > |'))
    if name != tidy_line(name) or name.startswith(".") or name.endswith("."):
        raise ValidationError(_("A name does not begin or end with a dot or a blank."))
    if len(name.encode()) > _LONGEST_NAME_BYTES:
        raise ValidationError(_("A name has at most 200 bytes as UTF-8."))


def headings(body: str) -> list[str]:
    """The Markdown headings of a text in their order, as `## Moves`; none from inside code blocks."""
    found = []
    fence = ""
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif (heading := _HEADING.match(line)) and (said := _unclosed(line[heading.end() :])):
            found.append(one_line(f"{heading[1]} {said}", _LONGEST_HEADING))
    return found


def _unclosed(heading: str) -> str:
    """A heading's words without the signs that may close it."""
    said = heading.strip()
    words = said.rstrip("#")
    return words.rstrip() if words != said and words[-1:] in {"", " ", "\t"} else said
