"""Who may step in: one question for each act, so that its right is named in one place; and what the
history keeps of an act on many."""

from collections.abc import Iterable
from typing import Any, Literal, cast

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Model
from django.http import HttpRequest

Act = Literal["moderate", "pause", "rerun"]

RIGHTS: dict[tuple[Act, str], str] = {
    ("moderate", "outboxentry"): "core.moderate_outboxentry",
    ("moderate", "sentmessage"): "core.moderate_outboxentry",
    ("pause", "bot"): "core.change_bot",
    ("pause", "chat"): "core.change_chat",
    ("rerun", "turn"): "core.change_chat",
}
"""To moderate is to approve, change, discard and take back what the bot says; to rerun is to pay for a
turn once more."""


def may(request: HttpRequest, act: Act, of: type[Model] | Model) -> bool:
    """Whether the person may do this to rows of a model, or to one row."""
    return request.user.has_perm(RIGHTS[act, str(of._meta.model_name)])


def log_changes(request: HttpRequest, rows: Iterable[Model], said: str | list[Any]) -> None:
    """Keep in the history of many rows what was done to them, in one statement."""
    made: Any = list(rows)
    LogEntry.objects.log_actions(cast("int", request.user.pk), made, CHANGE, said)
