"""When what a chat gathers is to be judged: pure rules over the chat's due time.

A chat is due a little after the last message of whoever addressed the bot (so that a burst is one
turn), and at most some seconds after the first addressed one (so that a busy group does not keep a
mention waiting). Words that nobody meant for the bot are judged too, later and together.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds: after an addresser's last message, after the first addressed one at most, and for
    words that address nobody."""

    debounce: float
    debounce_max: float
    ambient: float


@dataclass(frozen=True, slots=True)
class Gathering:
    """What a chat row says of its gathered items; see core.models.Chat."""

    due_at: datetime | None
    addressed_at: datetime | None
    addressed_by: tuple[str, ...]


def extend(
    state: Gathering, *, sender_id: str, addresses_bot: bool, now: datetime, waits: Waits
) -> Gathering:
    """The gathering after one more item from `sender_id` at `now`."""
    if addresses_bot:
        state = replace(
            state,
            addressed_at=state.addressed_at or now,
            addressed_by=tuple(dict.fromkeys((*state.addressed_by, sender_id))),
        )
    if state.addressed_at is not None and sender_id in state.addressed_by:
        latest = state.addressed_at + timedelta(seconds=waits.debounce_max)
        return replace(state, due_at=min(now + timedelta(seconds=waits.debounce), latest))
    if state.due_at is None:
        return replace(state, due_at=now + timedelta(seconds=waits.ambient))
    return state
