"""One turn from claim to finish: the step loop, and going on where a killed one stopped.

Nothing is held over a model call: no transaction, no connection.
"""

import logging
import threading

from django.db import transaction
from django.utils import timezone

from core import failpoints, journal, judging, leases, looking, wake
from core.database import database_now, give_back
from core.errors import LeaseLost, ModelFailure
from core.journal import Answered
from core.leases import Lease
from core.llm import client
from core.media import references
from core.models import Chat, Turn
from core.tools import execution

logger = logging.getLogger(__name__)
MOST_RUNS = 3
stopping = threading.Event()


def run(chat_id: int, owner: str) -> bool:
    """Judge what the chat gathered and, where the gate says so, run the turn to its end.

    Does nothing where the chat is not due, another worker holds it, or this one is told to stop.
    Returns whether the chat is due again at once (something addressed the bot meanwhile).
    """
    lease = None if stopping.is_set() else leases.claim(chat_id, owner)
    if lease is None:
        return False
    failpoints.reach("chat_claimed")
    with leases.kept(lease):
        try:
            looking.look(chat_id)
            failpoints.reach("pictures_seen")
            turn = _open(lease)
            if turn is not None:
                failpoints.reach("turn_opened")
                _drive(lease, turn)
                failpoints.reach("turn_left")
        except LeaseLost as lost:
            logger.warning("turn given up: %s", lost)
            return False
        finally:
            give_back()
    return not stopping.is_set() and _due_again(chat_id)


def _open(lease: Lease) -> Turn | None:
    """The turn to run under this lease: an interrupted one, or a new one if the gate says so.

    Its next model call is reserved; a turn that may not make one has ended, and is not returned.
    """
    with transaction.atomic():
        held = leases.hold(lease)
        turn = Turn.objects.filter(chat=held.chat, state=Turn.State.RUNNING).first()
        if turn is None:
            turn = judging.judge(held.chat, now=held.now)
            if turn is None:
                journal.finish_chat(held.chat, now=held.now)
            return turn
        turn.chat = held.chat
        turn.runs += 1
        if turn.runs > MOST_RUNS:
            detail = f"Its worker died {MOST_RUNS} times in it; it is not tried again."
            journal.end(held, turn, Turn.State.ABANDONED, error="crashed", detail=detail)
        else:
            journal.reserve_next(held, turn)
    return None if turn.ended_at else turn


def _drive(lease: Lease, turn: Turn) -> None:
    """Step after step until the turn ends, is handed over, or its lease is lost."""
    bot_id = turn.chat.bot_id
    messages = journal.request(turn)
    while turn.ended_at is None:
        if stopping.is_set():
            _hand_over(lease, turn)
            return
        told = journal.news(turn) if turn.steps else journal.News()
        give_back()
        started_at = timezone.now()
        failpoints.reach("model_asked")
        try:
            request = references.filled([*messages, *told.messages])
            answer = client.complete(model=turn.model, messages=request, tools=turn.tools)
        except ModelFailure as failure:
            logger.warning("turn %s failed: %s", turn.pk, failure)
            with transaction.atomic():
                held = leases.hold(lease)
                state = Turn.State.FAILED
                journal.end(held, turn, state, error=failure.code, detail=failure.detail)
        else:
            failpoints.reach("model_answered")
            allowed = judging.allowed(turn.chat, turn)
            prepared = execution.prepare(allowed, turn, answer.tool_calls)
            give_back()
            with transaction.atomic():
                held = leases.hold(lease)
                tools = judging.allowed(held.chat, turn)
                answered = Answered(answer, tools, started_at, told, prepared)
                messages += journal.commit_step(held, turn, answered)
                failpoints.reach("step_written")
            failpoints.reach("step_committed")
        wake.outbox(bot_id)


def _hand_over(lease: Lease, turn: Turn) -> None:
    """Give the turn up to another worker: this one is told to stop, which is no crash."""
    with transaction.atomic():
        leases.hold(lease)
        turn.runs -= 1
        turn.save(update_fields=["runs"])
        leases.release(lease)


def _due_again(chat_id: int) -> bool:
    return Chat.objects.filter(
        pk=chat_id, turn_due_at__lte=database_now(), lease_until__isnull=True
    ).exists()
