"""Where a tool call stands: what everything that it writes is written with."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.models import Chat, Turn


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The turn, the call's place in it, and the database's time; `chat` is locked meanwhile. `prepared` is
    what the tool made ready before the transaction; `earlier`, the names of the step's calls before
    this one."""

    chat: Chat
    turn: Turn
    step_index: int
    call_index: int
    now: datetime
    prepared: Any = None
    earlier: tuple[str, ...] = ()
