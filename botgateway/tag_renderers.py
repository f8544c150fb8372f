"""The inline tags of OneBot: `@all`, `@user:ID` and `@face:ID`, as the parts that become segments."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from core.models import Chat, Member
from core.rendering import Renderers, register_source
from core.tags import TagRenderer

FACE = re.compile(r"[0-9]{1,4}")
Render = Callable[[str | None], Mapping[str, Any] | None]


@register_source
def renderers(chat: Chat, allowed: Collection[str]) -> Renderers:
    """The allowed tags of a chat. `@user` asks the database who is in it, each time."""
    known: dict[str, tuple[Render, str]] = {
        "all": (_everybody, "@all calls everybody in the group."),
        "user": (
            lambda user: _person(chat, user),
            "@user:ID mentions the person of that sender id.",
        ),
        "face": (_face, "@face:ID shows the QQ face of that number."),
    }
    return {
        name: TagRenderer(render, description)
        for name, (render, description) in known.items()
        if name in allowed
    }


def _everybody(parameter: str | None) -> Mapping[str, Any] | None:
    return {"type": "mention", "data": {"id": "all"}} if parameter is None else None


def _person(chat: Chat, user_id: str | None) -> Mapping[str, Any] | None:
    if not user_id:
        return None
    member = Member.objects.filter(chat=chat, user_id=user_id, left_at=None).first()
    if member is None:
        return None
    return {"type": "mention", "data": {"id": user_id, "name": member.name}}


def _face(number: str | None) -> Mapping[str, Any] | None:
    if number is None or not FACE.fullmatch(number):
        return None
    return {"type": "face", "data": {"id": number}}
