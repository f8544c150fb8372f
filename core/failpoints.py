"""Named points of the way at which a process can be told to die, so that tests can kill it there.

`ARISE_FAILPOINT` names one: `step_committed` dies where the point is reached first,
`step_committed*3` where it is reached the third time, `model_asked+0.2` so many seconds after it
was reached. Dying is SIGKILL: nothing is tidied up, as when a machine loses its power.
"""

import os
import re
import signal
import threading
from dataclasses import dataclass

POINTS = {
    "event_read": "an event's frame was read; nothing of it is stored",
    "items_stored": "what came in is stored; nobody was told",
    "chat_claimed": "a worker holds a chat's lease; nothing was judged",
    "pictures_seen": "what a turn shows is fetched and kept; nothing was judged",
    "turn_opened": "the turn and its reserved model call are committed",
    "model_asked": "a model call is about to be made (with +SECONDS: is under way)",
    "model_answered": "a model call is answered; nothing of its step is written",
    "step_written": "a step is written and not committed",
    "step_committed": "a step is committed; nobody was told",
    "turn_left": "the turn has ended and the worker lets go of the chat",
    "entries_claimed": "Outbox entries are claimed; nothing is written to the socket",
    "call_writing": "an entry's call is about to be written",
    "call_written": "an entry's call is written; it is not answered",
    "answer_read": "an entry's answer is read; its outcome is not kept",
    "outcome_kept": "an entry's outcome is kept; nobody was told",
}
SHAPE = re.compile(
    r"(?P<point>[a-z_]+)(?:\*(?P<times>[1-9][0-9]{0,5}))?(?:\+(?P<seconds>[0-9.]+))?"
)


@dataclass(slots=True)
class Armed:
    """Where to die: at the point, once it was reached `times` times, `seconds` later."""

    point: str
    times: int = 1
    seconds: float = 0


_armed: Armed | None = None
_guard = threading.Lock()


def parse(text: str) -> Armed | None:
    """What ARISE_FAILPOINT says; None where it is empty. ValueError where it says nothing known."""
    if not text:
        return None
    found = SHAPE.fullmatch(text)
    if found is None or found["point"] not in POINTS:
        known = ", ".join(POINTS)
        raise ValueError(f"{text!r} is no failpoint; POINT, POINT*TIMES, POINT+SECONDS of: {known}")
    return Armed(found["point"], int(found["times"] or 1), float(found["seconds"] or 0))


def arm(text: str) -> None:
    """Set where this process is to die, as ARISE_FAILPOINT says it; empty: nowhere."""
    global _armed
    _armed = parse(text)


def reach(point: str) -> None:
    """Pass a named point: return, or die here."""
    if _armed is None or _armed.point != point:
        return
    with _guard:
        _armed.times -= 1
        if _armed.times:
            return
    if _armed.seconds:
        threading.Timer(_armed.seconds, _die).start()
    else:
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
