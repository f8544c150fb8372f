"""The journal of a turn: what it asks the model next, and every write that it makes.

All writes happen in transactions that begin with `leases.hold`, the fence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from core import budgets, context, outbox, outcomes
from core.leases import Held
from core.llm.types import Answer
from core.models import Chat, InboundItem, OutboxEntry, ToolCall, Turn, TurnStep
from core.toolcalls import ToolContext
from core.tools import execution
from core.tools.registry import Tool, ToolResult

State = Turn.State
COUNTERS = [
    "state", "steps", "sends", "gestures", "prompt_tokens", "completion_tokens", "runs", "silence_reason",
    "error", "error_detail", "ended_at",
]  # fmt: skip


def request(turn: Turn, *, before_step: int | None = None) -> list[dict[str, Any]]:
    """The whole request so far, from what is committed; or as it was before a step, without the news
    that were told with it."""
    messages = list(turn.messages)
    last = turn.steps if before_step is None else before_step
    if last:
        for step in TurnStep.objects.filter(turn=turn, index__lt=last).order_by("index"):
            calls = step.tool_calls.order_by("index")
            messages += step_messages(step, [(call.call_id, call.result) for call in calls])
    return messages


def step_messages(
    step: TurnStep, results: list[tuple[str, Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """What a step adds to the request: its news, the answer, and what each call was told."""
    return [*step.messages_added, *told(step.answer, results)]


def told(
    answer: dict[str, Any], results: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """An answer, and what each of its calls was told."""
    messages = [
        {"role": "tool", "tool_call_id": call_id, "content": execution.as_content(result)}
        for call_id, result in results
    ]
    return [answer, *messages]


@dataclass(frozen=True, slots=True)
class News:
    """What became of the bot's own words since the chat's last request: told with the next one,
    and kept as told with its step."""

    entries: Sequence[OutboxEntry] = ()
    messages: Sequence[dict[str, Any]] = ()


def news(turn: Turn) -> News:
    """What the turn's next request has to tell besides the results of its calls."""
    entries = outcomes.untold(turn.chat)
    return News(entries, context.news(outcomes.lines(entries))) if entries else News()


@dataclass(frozen=True, slots=True)
class Answered:
    """A model call that was answered: the answer, the tools as they are allowed now, the call's
    time, what it was told beside the results, and what its calls' tools made ready."""

    answer: Answer
    tools: Mapping[str, Tool | None]
    started_at: datetime
    told: News = News()
    prepared: Sequence[Any] = ()


def commit_step(held: Held, turn: Turn, answered: Answered) -> list[dict[str, Any]]:
    """Write a step whole: what it was told, the answer, all tool results, the Outbox entries, and
    the reservation of the next model call or the turn's end. Returns what it adds to the request;
    the turn has ended where `turn.ended_at` is set."""
    answer, told = answered.answer, answered.told
    outcomes.mark_told(told.entries)
    step = TurnStep.objects.create(
        turn=turn,
        index=turn.steps,
        messages_added=list(told.messages),
        answer=answer.message,
        finish_reason=answer.finish_reason,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        retries=answer.retries,
        model_seconds=round(answer.seconds, 3),
        started_at=answered.started_at,
    )
    results = _run_calls(held, turn, answered, step)
    turn.steps += 1
    turn.prompt_tokens += answer.prompt_tokens
    turn.completion_tokens += answer.completion_tokens
    if not results or any(result.ends_turn for result in results):
        end(held, turn, _state_after(turn, State.SILENT))
    else:
        outbox.release_drafts(turn, before_step=step.index)
        reserve_next(held, turn)
    ids = [call.id for call in answer.tool_calls]
    values = [result.values for result in results]
    return step_messages(step, list(zip(ids, values, strict=True)))


def _run_calls(held: Held, turn: Turn, answered: Answered, step: TurnStep) -> list[ToolResult]:
    answer, tools, prepared = answered.answer, answered.tools, answered.prepared
    handles = held.chat.next_handle
    results = []
    for index, call in enumerate(answer.tool_calls):
        ready = prepared[index] if index < len(prepared) else None
        place = ToolContext(held.chat, turn, step.index, index, held.now, ready)
        results.append(execution.execute(tools, place, name=call.name, arguments=call.arguments))
    ToolCall.objects.bulk_create(
        ToolCall(
            step=step,
            index=index,
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
            result=dict(result.values),
        )
        for index, (call, result) in enumerate(zip(answer.tool_calls, results, strict=True))
    )
    if held.chat.next_handle != handles:
        held.chat.save(update_fields=["next_handle"])
    return results


def reserve_next(held: Held, turn: Turn) -> None:
    """Reserve the turn's next model call; where it is refused, the turn ends and says so."""
    if turn.steps >= settings.ARISE_MAX_STEPS:
        detail = f"The model did not end within {settings.ARISE_MAX_STEPS} calls."
        end(held, turn, _state_after(turn, State.FAILED), error="step_limit", detail=detail)
    elif reason := budgets.reserve(held.chat, now=held.now):
        detail = "No further model call was allowed in the middle of the turn."
        end(held, turn, _state_after(turn, State.FAILED), error=reason, detail=detail)
    else:
        turn.save(update_fields=COUNTERS)


def _state_after(turn: Turn, with_nothing_written: State) -> State:
    return State.DONE if turn.sends or turn.gestures else with_nothing_written


def end(held: Held, turn: Turn, state: State, *, error: str = "", detail: str = "") -> None:
    """End the turn, let its messages go, and give the chat free."""
    outbox.release_drafts(turn)
    turn.state = state
    turn.error = error
    turn.error_detail = detail
    turn.ended_at = held.now
    turn.save(update_fields=COUNTERS)
    finish_chat(held.chat, now=held.now)


def finish_chat(chat: Chat, *, now: datetime) -> None:
    """Give the lease back; the chat stays due only for what came in since it was judged."""
    chat.lease_until = None
    if chat.addressed_at is None:
        newer = InboundItem.objects.filter(chat=chat, pk__gt=chat.judged_item_id).exists()
        ambient = timedelta(seconds=settings.ARISE_AMBIENT_SECONDS)
        chat.turn_due_at = now + ambient if newer else None
    chat.save(update_fields=["lease_until", "turn_due_at"])
