"""`inject_skills`: the model reads skills of its chat, at the level that it asks for."""

from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from typing import Annotated, Any, Literal

from django.db.models import F, QuerySet
from pydantic import Field, StringConstraints

from core.capabilities import Effective
from core.errors import ToolRefusal
from core.models import Chat
from core.toolcalls import ToolContext
from core.tools import queries
from core.tools.registry import Arguments, Tool, ToolResult, register
from skills import index, reading, scope, searching, texts
from skills.models import Skill, SkillAttachment, SkillReads

MOST_NAMES = 8
_Name = Annotated[str, StringConstraints(max_length=texts.LONGEST_NAME + 1 + texts.LONGEST_PATH)]
FULL = SkillReads.Level.FULL.value
_NAMES = "Names of skills, as the list of skills has them."


class InjectSkills(Arguments):
    names: list[_Name] = Field(description=_NAMES, min_length=1, max_length=MOST_NAMES)
    level: Literal["summary", "full"] = Field(
        description="`summary`: what it covers; `full`: its text."
    )


class FindSkills(Arguments):
    names: list[_Name] = Field(
        default_factory=list,
        description=f"{_NAMES} May be empty with `query`.",
        max_length=MOST_NAMES,
    )
    level: Literal["summary", "full"] = Field(
        default="summary", description="`summary`: what it covers; `full`: its text."
    )
    query: str = Field(
        default="",
        description="Words to find skills by that the list has no room for; gives their names "
        "and what they are for.",
    )


def inject_skills(context: ToolContext, arguments: InjectSkills | FindSkills) -> ToolResult:
    """Give the named skills at one level, and those found by the query with what they are for.

    A name that no skill of this chat has is told in `unknown`; a call that gives nothing at all is
    refused.
    """
    skills = scope.of(context.chat)
    query = queries.clean(arguments.query) if isinstance(arguments, FindSkills) else ""
    if not arguments.names and not query:
        raise ToolRefusal("nothing_asked", "Give names of skills, or a query.")
    named = _named(skills, arguments.names)
    unknown = [name for name, item in named.items() if item is None]
    given = [item for item in named.values() if item is not None]
    values: dict[str, Any] = {"skills": [_told(context, item, arguments.level) for item in given]}
    if query:
        found = searching.find(skills, query).exclude(
            pk__in=[item.pk for item in given if isinstance(item, Skill)]
        )
        values["skills"] += map(reading.found, found[: searching.MOST_FOUND])
        if (count := found.count()) > searching.MOST_FOUND:
            values["more"] = count - searching.MOST_FOUND
    if unknown:
        names = ", ".join(map(repr, unknown))
        values |= {"unknown": unknown, "message": f"This chat has no skill named {names}."}
    if not values["skills"]:
        sentence = values.get("message", "No skill of this chat has any of these words.")
        raise ToolRefusal("unknown_skill", sentence)
    return ToolResult(values)


def _named(
    skills: QuerySet[Skill], names: Sequence[str]
) -> dict[str, Skill | SkillAttachment | None]:
    """What each name stands for, `NAME/FILE` for a skill's file; names are the same in any case."""
    keys = {texts.folded(name): pk for pk, name in skills.values_list("pk", "name")}
    named: dict[str, Skill | SkillAttachment | None] = {}
    for asked in dict.fromkeys(names):
        # The list of skills is escaped, and a model may copy it as it stands.
        name, slash, path = unescape(asked).partition("/")
        key = keys.get(texts.folded(name.strip()))
        skill = skills.filter(pk=key).first() if key else None
        if slash and skill is not None:
            files = SkillAttachment.objects.select_related("skill")
            named[asked] = files.filter(skill=skill, path=path).first()
        else:
            named[asked] = skill
    return named


def _told(context: ToolContext, item: Skill | SkillAttachment, level: str) -> reading.Content:
    if isinstance(item, SkillAttachment):
        return reading.attachment(item)
    _count(context, item, level)
    return reading.full(context, item) if level == FULL else reading.summary(item)


def _count(context: ToolContext, skill: Skill, level: str) -> None:
    # The chat's row is locked: nobody else writes this one meanwhile.
    reads = SkillReads.objects.filter(skill=skill, chat=context.chat, level=level)
    if not reads.update(times=F("times") + 1, last_at=context.now):
        SkillReads.objects.create(
            skill=skill, chat=context.chat, level=level, times=1, last_at=context.now
        )


def fitted(chat: Chat, effective: Effective) -> Tool | None:
    """The tool as a chat has it: none without skills, with a query where the index is cut."""
    made = index.of(chat)
    if made.more:
        return _FINDING
    return _TOOL if made.lines else None


_TOOL = Tool(
    name="inject_skills",
    description="Read skills: texts that are kept ready for you.",
    arguments=InjectSkills,
    apply=inject_skills,
    fit=fitted,
)
_FINDING = replace(
    _TOOL,
    description="Read skills: texts that are kept ready for you. Find more of them by a query.",
    arguments=FindSkills,
)


def load() -> None:
    """Register the tool; called once, when the app is ready."""
    register(_TOOL)
