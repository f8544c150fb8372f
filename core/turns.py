"""One turn from claim to finish: the step loop, its journal, and going on where a killed one stopped.

Each transaction begins with `leases.hold`, the fence. Nothing is held over a model call: no
transaction, no connection.
"""

import logging
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Min
from django.utils import timezone

from core import budgets, capabilities, context, gating, leases, outbox, wake
from core.database import database_now, give_back
from core.errors import LeaseLost, ModelFailure
from core.leases import Lease
from core.llm import client
from core.llm.client import Answer
from core.models import Chat, Decision, InboundItem, ToolCall, Turn, TurnStep
from core.tools import execution, registry
from core.tools.registry import Tool, ToolContext, ToolResult

logger = logging.getLogger(__name__)
MOST_RUNS = 3
MOST_ADDRESSED = 200
stopping = threading.Event()


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn that this worker runs: its row, and where its bot's Outbox is."""

    turn: Turn
    bot_id: int


def run(chat_id: int, owner: str) -> bool:
    """Judge what the chat gathered and, where the gate says so, run the turn to its end.

    Does nothing where the chat is not due, another worker holds it, or this one stops. Returns whether the chat is
    due again at once (something addressed the bot meanwhile).
    """
    lease = None if stopping.is_set() else leases.claim(chat_id, owner)
    if lease is None:
        return False
    with leases.kept(lease):
        try:
            opened = _open(lease)
            if opened is not None:
                _drive(lease, opened)
        except LeaseLost as lost:
            logger.warning("turn given up: %s", lost)
            return False
        finally:
            give_back()
    return _due_again(chat_id)


def _open(lease: Lease) -> Opened | None:
    """The turn to run under this lease: an interrupted one, or a new one if the gate says so."""
    with transaction.atomic():
        chat = leases.hold(lease)
        turn = Turn.objects.filter(chat=chat, state=Turn.State.RUNNING).first()
        if turn is None:
            turn = _judge(chat)
        if turn is None:
            _finish_chat(chat)
            return None
        turn.runs += 1
        if turn.runs > MOST_RUNS:
            detail = f"Its worker died {MOST_RUNS} times in it; it is not tried again."
            _end(chat, turn, Turn.State.ABANDONED, error="crashed", detail=detail)
            return None
        turn.save(update_fields=["runs"])
        return Opened(turn, chat.bot_id)


def _judge(chat: Chat) -> Turn | None:
    """Ask the gate about what was gathered; write its decision; make the turn if it says answer."""
    gathered = InboundItem.objects.filter(chat=chat, pk__gt=chat.judged_item_id)
    span = gathered.aggregate(first=Min("pk"), last=Max("pk"))
    if span["last"] is None:
        # Nothing is left to answer: the chat must not stay due for ever.
        chat.addressed_at = None
        chat.addressed_by = []
        chat.save(update_fields=["addressed_at", "addressed_by"])
        return None
    # A chat may have gathered for days while no worker ran: what is loaded is bounded.
    addressed = list(gathered.exclude(trigger="").order_by("pk")[:MOST_ADDRESSED])
    latest = list(gathered.order_by("-pk")[: context.NEW_ITEMS])[::-1]
    verdict = gating.decide([*addressed, *latest], refusal=budgets.refusal(chat))
    turn = None
    if verdict.verdict == gating.ANSWER:
        turn = _new_turn(chat, verdict.reason, latest, first=span["first"])
        gathered.filter(pk__lte=span["last"]).update(turn=turn)
    Decision.objects.create(
        chat=chat,
        verdict=verdict.verdict,
        reason=verdict.reason,
        first_item_id=span["first"],
        last_item_id=span["last"],
        turn=turn,
    )
    chat.judged_item_id = span["last"]
    chat.addressed_at = None
    chat.addressed_by = []
    chat.save(update_fields=["judged_item_id", "addressed_at", "addressed_by"])
    return turn


def _new_turn(chat: Chat, trigger: str, items: list[InboundItem], *, first: int) -> Turn:
    tools = registry.offered(_capabilities(chat))
    return Turn.objects.create(
        chat=chat,
        trigger=trigger,
        model=chat.bot.chat_model or settings.ARISE_CHAT_MODEL,
        first_item_id=first,
        last_item_id=items[-1].pk,
        messages=context.assemble(chat, items, now=database_now()),
        tools=registry.schemas(tools),
    )


def _capabilities(chat: Chat) -> dict[str, bool]:
    return capabilities.effective(chat, chat.capability_settings.all()).capabilities


def _drive(lease: Lease, opened: Opened) -> None:
    """Step after step until the turn ends, is handed over, or its lease is lost."""
    turn = opened.turn
    tools = _tools_of(turn)
    messages = _journal(turn)
    while True:
        if stopping.is_set():
            _hand_over(lease, turn)
            return
        refused = _reserve(lease, turn)
        if refused:
            return
        give_back()
        started_at = timezone.now()
        try:
            answer = client.complete(model=turn.model, messages=messages, tools=turn.tools)
        except ModelFailure as failure:
            _fail(lease, turn, failure)
            break
        step, ended = _commit_step(lease, turn, tools, answer, started_at)
        wake.outbox(opened.bot_id)
        if ended:
            return
        messages += _step_messages(step)
    wake.outbox(opened.bot_id)


def _hand_over(lease: Lease, turn: Turn) -> None:
    """Give the turn up to another worker: this one is told to stop, which is no crash."""
    with transaction.atomic():
        leases.hold(lease)
        Turn.objects.filter(pk=turn.pk).update(runs=F("runs") - 1)
        leases.release(lease)


def _tools_of(turn: Turn) -> dict[str, Tool]:
    """The tools that the model was given when the turn began, as they are now."""
    known = {tool.name: tool for tool in registry.offered(_capabilities(turn.chat))}
    given = [schema["function"]["name"] for schema in turn.tools]
    return {name: known[name] for name in given if name in known}


def _journal(turn: Turn) -> list[dict[str, Any]]:
    """The whole request so far, from what is committed."""
    messages = list(turn.messages)
    for step in TurnStep.objects.filter(turn=turn).order_by("index"):
        messages += _step_messages(step)
    return messages


def _step_messages(step: TurnStep) -> list[dict[str, Any]]:
    results = [
        {
            "role": "tool",
            "tool_call_id": call.call_id,
            "content": execution.as_content(call.result),
        }
        for call in step.tool_calls.order_by("index")
    ]
    return [*step.messages_added, step.answer, *results]


def _reserve(lease: Lease, turn: Turn) -> bool:
    """Reserve the next model call; where it is refused, end the turn and say so."""
    with transaction.atomic():
        chat = leases.hold(lease)
        if turn.steps >= settings.ARISE_MAX_STEPS:
            detail = f"The model did not end within {settings.ARISE_MAX_STEPS} calls."
            _end(
                chat, turn, _state_after(turn, Turn.State.FAILED), error="step_limit", detail=detail
            )
            return True
        reason = budgets.reserve(chat)
        if reason:
            detail = "No further model call was allowed in the middle of the turn."
            _end(chat, turn, _state_after(turn, Turn.State.FAILED), error=reason, detail=detail)
            return True
    return False


def _commit_step(
    lease: Lease, turn: Turn, tools: dict[str, Tool], answer: Answer, started_at: Any
) -> tuple[TurnStep, bool]:
    """Commit a step whole: the answer, all tool results, the Outbox entries. Fenced."""
    with transaction.atomic():
        chat = leases.hold(lease)
        # From the row, so that a step that was rolled back left nothing in our copy of it.
        turn.refresh_from_db()
        outbox.release_drafts(turn)
        step = TurnStep.objects.create(
            turn=turn,
            index=turn.steps,
            answer=answer.message,
            finish_reason=answer.finish_reason,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            retries=answer.retries,
            model_seconds=round(answer.seconds, 3),
            started_at=started_at,
        )
        ended = not answer.tool_calls
        for index, call in enumerate(answer.tool_calls):
            place = ToolContext(chat=chat, turn=turn, step_index=step.index, call_index=index)
            result = execution.execute(tools, place, name=call.name, arguments=call.arguments)
            _write_call(step, index, call, result)
            ended = ended or result.ends_turn
        turn.steps += 1
        turn.prompt_tokens += answer.prompt_tokens
        turn.completion_tokens += answer.completion_tokens
        if ended:
            _end(chat, turn, _state_after(turn, Turn.State.SILENT))
        else:
            turn.save()
    return step, ended


def _write_call(
    step: TurnStep, index: int, call: client.ToolCallRequest, result: ToolResult
) -> None:
    ToolCall.objects.create(
        step=step,
        index=index,
        call_id=call.id,
        name=call.name,
        arguments=call.arguments,
        result=dict(result.values),
    )


def _state_after(turn: Turn, with_nothing_written: Turn.State) -> Turn.State:
    return Turn.State.DONE if turn.sends else with_nothing_written


def _fail(lease: Lease, turn: Turn, failure: ModelFailure) -> None:
    logger.warning("turn %s failed: %s", turn.pk, failure)
    with transaction.atomic():
        chat = leases.hold(lease)
        _end(chat, turn, Turn.State.FAILED, error=failure.code, detail=failure.detail)


def _end(chat: Chat, turn: Turn, state: Turn.State, *, error: str = "", detail: str = "") -> None:
    """End the turn, let its messages go, and give the chat free."""
    outbox.release_drafts(turn)
    turn.state = state
    turn.error = error
    turn.error_detail = detail
    turn.ended_at = timezone.now()
    turn.save()
    _finish_chat(chat)


def _finish_chat(chat: Chat) -> None:
    """Release the lease; the chat stays due only for what came in since it was judged."""
    chat.lease_until = None
    if chat.addressed_at is None:
        newer = InboundItem.objects.filter(chat=chat, pk__gt=chat.judged_item_id).exists()
        ambient = timedelta(seconds=settings.ARISE_AMBIENT_SECONDS)
        chat.turn_due_at = database_now() + ambient if newer else None
    chat.save(update_fields=["lease_until", "turn_due_at"])


def _due_again(chat_id: int) -> bool:
    return Chat.objects.filter(
        pk=chat_id, turn_due_at__lte=database_now(), lease_until__isnull=True
    ).exists()
