"""Where a tool call stands: what everything that it writes is written with."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.models import Chat, Turn


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written from: the turn, the call's place in it, and the database's time;
    `chat` is locked meanwhile. Without a turn it is by hand, by the operator `by_id`."""

    chat: Chat
    turn: Turn | None
    step_index: int
    call_index: int
    now: datetime
    by_id: int | None = field(default=None, kw_only=True)

    @property
    def is_by_hand(self) -> bool:
        return self.turn is None


@dataclass(frozen=True, slots=True)
class ToolContext(Place):
    """The place of a tool call; `prepared` is what the tool made ready before the transaction,
    `earlier` the names of the step's calls before this one."""

    turn: Turn
    prepared: Any = None
    earlier: tuple[str, ...] = ()
