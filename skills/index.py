"""The index of a chat's skills, as it stands in the model's context: names and what they are for."""

from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from django.db.models.functions import Left
from django.template.loader import render_to_string

from core.models import Chat
from core.text import one_line
from skills import scope

# Of the whole section, its own prose included, whatever the number of skills.
MAX_CHARS = 4000
DESCRIPTION_CHARS = 160
_PROSE_CHARS = 1000
_SHORTEST_LINE = len('<skill name=""></skill>')
_MOST_LINES = MAX_CHARS // _SHORTEST_LINE


@dataclass(frozen=True, slots=True)
class Index:
    """The lines that fit, and how many skills have none."""

    lines: tuple[str, ...]
    more: int


def of(chat: Chat) -> Index:
    """What of a chat's skills fits the index, by name: the same skills give the same index."""
    skills = scope.of(chat).annotate(start=Left("description", DESCRIPTION_CHARS + 1))
    rows = list(skills.values_list("name", "start")[: _MOST_LINES + 1])
    count = len(rows) if len(rows) <= _MOST_LINES else skills.count()
    lines: list[str] = []
    left = MAX_CHARS - _PROSE_CHARS
    for name, description in rows:
        line = _line(name, description)
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return Index(tuple(lines), count - len(lines))


def text(chat: Chat) -> str:
    """The section of the system message about a chat's skills; empty where it has none.

    Reads the database; at most MAX_CHARS characters.
    """
    index = of(chat)
    if not index.lines and not index.more:
        return ""
    return render_to_string(
        "prompts/skills.txt", {"lines": "\n".join(index.lines), "more": index.more}
    ).strip()


def _line(name: str, description: str) -> str:
    return (
        f"<skill name={quoteattr(name)}>{escape(one_line(description, DESCRIPTION_CHARS))}</skill>"
    )
