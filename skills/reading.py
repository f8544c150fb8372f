"""What the model is given of a skill, at each level.

Every content begins with one element, escaped: whatever a text claims to be, it ends where its
element ends. What arise itself says of it stands behind the element.
"""

from xml.sax.saxutils import escape, quoteattr

from django.conf import settings

from core import capabilities, files
from core.models import SentMessage
from core.toolcalls import ToolContext
from core.tools import speaking
from skills import cutting, texts
from skills.models import Skill, SkillAttachment

HEADINGS_CHARS = 2000
MOST_FILES_SHOWN = 30

Content = dict[str, str]


def summary(skill: Skill) -> Content:
    """The description and the headings, and how long the text is."""
    said = "\n".join((skill.description, *texts.headings(skill.body)))
    shown = cutting.cut(said, len(skill.description) + HEADINGS_CHARS)
    note = f"The full text has {len(skill.body)} characters."
    if len(shown) < len(said):
        note = f"More headings follow. {note}"
    return _content(skill, "summary", shown, note)


def found(skill: Skill) -> Content:
    """What a skill is for, where it was found by a query."""
    element = f"<skill name={quoteattr(skill.name)}>{escape(skill.description)}</skill>"
    return {"name": skill.name, "content": element}


def full(place: ToolContext, skill: Skill) -> Content:
    """The text: whole, or what an overlong one comes to. `place` is the call that asks for it."""
    if len(skill.body) <= settings.ARISE_SKILL_FULL_TEXT_MAX_CHARS:
        return _content(skill, "full", skill.body, "")
    return overlong(place, skill)


def overlong(place: ToolContext, skill: Skill) -> Content:
    """How a text over ARISE_SKILL_FULL_TEXT_MAX_CHARS is given: it goes to the chat as a file where
    the chat takes files and the turn may still send, one for each call; else it is cut, since a part
    is better than nothing."""
    name, payload = f"{skill.name}.md", skill.body.encode()
    if not capabilities.in_chat(place.chat).capabilities["file"]:
        return cut(skill)
    sent = files.already_there(place, name=name, payload=payload)
    if sent is not None:
        return _sent(skill, sent, f"The full text is in the chat already, as the file {name}.")
    if files.wrote_one(place) or place.turn.sends >= settings.ARISE_MAX_SENDS_PER_TURN:
        return cut(skill)
    speaking.take_send(place)
    sentence = f"The file {name}, {len(skill.body)} characters."
    sent = files.write(place, name=name, sentence=sentence, payload=payload)
    return _sent(skill, sent, f"The full text goes to the chat as the file {name}.")


def _sent(skill: Skill, message: SentMessage, note: str) -> Content:
    """What the model is given of a text that went as a file: the headings, and the message's name."""
    headings = cutting.cut("\n".join(texts.headings(skill.body)), HEADINGS_CHARS)
    content = _content(skill, "full", headings, f"These are its headings. {note}")
    return {**content, "handle": message.handle}


def cut(skill: Skill) -> Content:
    """The beginning of the text, and how much of it is missing."""
    kept = cutting.cut(skill.body, settings.ARISE_SKILL_FULL_TEXT_MAX_CHARS)
    return _content(skill, "full", kept, _missing(kept, skill.body))


def attachment(file: SkillAttachment) -> Content:
    """A file that a skill's text may name; cut like a text, told of where it is none."""
    name = f"{file.skill.name}/{file.path}"
    try:
        text = texts.tidy_body(bytes(file.content).decode("utf-8-sig"))
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return {"name": name, "content": f"This file is no text; it has {file.size} bytes."}
    kept = cutting.cut(text, settings.ARISE_SKILL_FULL_TEXT_MAX_CHARS)
    note = _missing(kept, text) if len(kept) < len(text) else ""
    element = f"<file name={quoteattr(name)}>\n{escape(kept)}\n</file>"
    return {"name": name, "content": "\n".join(filter(None, (element, note)))}


def _missing(kept: str, text: str) -> str:
    missing = len(text) - len(kept)
    return f"The text is cut here: {missing} of its {len(text)} characters are missing."


def _content(skill: Skill, level: str, text: str, note: str) -> Content:
    element = (
        f"<skill name={quoteattr(skill.name)} level={quoteattr(level)}>\n{escape(text)}\n</skill>"
    )
    return {
        "name": skill.name,
        "content": "\n".join(filter(None, (element, note, _files(skill)))),
    }


def _files(skill: Skill) -> str:
    """Which files come with a skill, as they are asked for."""
    paths = list(skill.attachments.values_list("path", flat=True)[: MOST_FILES_SHOWN + 1])
    if not paths:
        return ""
    more = ", and more" if len(paths) > MOST_FILES_SHOWN else ""
    shown = ", ".join(f"{skill.name}/{path}" for path in paths[:MOST_FILES_SHOWN])
    return f"Files with it, to be read by these names: {escape(shown)}{more}."
