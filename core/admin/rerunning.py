"""The page on which a turn is run again without sending: what is asked for, and what came of it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core import audit, reruns, tasks, text
from core.admin import reasons, turn_story
from core.admin.moderating import person
from core.models import ToolCall, Turn, TurnRerun, TurnStep

logger = logging.getLogger(__name__)
_SHOWN = 20
_LONGEST_MODEL = 200
_LONGEST_PERSONA = 20_000
State = TurnRerun.State
_UNFINISHED = (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One model call as either side shows it; `unsent` is text outside the tools."""

    unsent: str
    calls: Sequence[turn_story.Call]
    prompt_tokens: int
    completion_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """A rerun as its page shows it."""

    row: TurnRerun
    state: str
    state_text: str | Promise
    reason: str | Promise
    is_unfinished: bool
    seconds: float


def ask(request: HttpRequest, turn: Turn) -> None:
    """Have a turn run again as the form says; why it is not is told."""
    if turn.is_forgotten:
        messages.warning(request, _("What it read and wrote was forgotten."))
        return
    model = text.one_line(request.POST.get("model", ""), _LONGEST_MODEL) or turn.model
    persona = text.clean_text(request.POST.get("persona", ""))[:_LONGEST_PERSONA]
    persona = persona.replace("\r\n", "\n").strip()
    by = person(request)
    with transaction.atomic():
        # Of two clicks at once the second waits here, and sees what the first has asked for.
        list(Turn.objects.select_for_update().filter(pk=turn.pk).values_list("pk"))
        unfinished = turn.reruns.filter(state__in=_UNFINISHED)
        if any(not reruns.is_lost(rerun) for rerun in unfinished):
            wait = _("It is being run again already; wait until that has ended.")
            messages.warning(request, wait)
            return
        rerun = TurnRerun.objects.create(
            turn=turn,
            by_id=by.pk if by else None,
            model=model,
            persona="" if persona == turn.chat.persona else persona,
        )
        audit.keep(turn, {"rerun": (None, model)}, by=by)
    try:
        tasks.run_again.delay(rerun.pk)
    except Exception as error:  # noqa: BLE001 - whatever the broker's client raises
        logger.warning("turn %s is not run again: %s", turn.pk, error)
        told = _("No worker could be told of it.")
        TurnRerun.objects.filter(pk=rerun.pk).update(
            state=State.FAILED, error="no_broker", error_detail=told, ended_at=timezone.now()
        )


def shown(turn: Turn, chosen: str) -> Mapping[str, Any]:
    """What the page needs: the rerun that is chosen, or the latest, beside the original."""
    latest = list(turn.reruns.select_related("by")[:_SHOWN])
    rerun = next((one for one in latest if str(one.pk) == chosen), latest[0] if latest else None)
    original = [_original(step) for step in turn.step_set.prefetch_related("tool_calls")]
    return {
        "reruns": latest,
        "result": _result(rerun) if rerun else None,
        "original_seconds": sum(attempt.seconds for attempt in original),
        "pairs": list(zip_longest(original, [_again(step) for step in rerun.steps]))
        if rerun
        else [],
        "persona": turn.chat.persona,
    }


def _result(rerun: TurnRerun) -> Result:
    is_lost = reruns.is_lost(rerun)
    return Result(
        row=rerun,
        state="failed" if is_lost else _COLOURS[rerun.state],
        state_text=_("lost") if is_lost else rerun.get_state_display(),
        reason=_("Its worker died in it; ask again.") if is_lost else _reason(rerun),
        is_unfinished=rerun.state in _UNFINISHED and not is_lost,
        seconds=sum(float(step["seconds"]) for step in rerun.steps),
    )


_COLOURS = {
    State.WAITING.value: "pending",
    State.RUNNING.value: "running",
    State.DONE.value: "done",
    State.FAILED.value: "failed",
}


def _reason(rerun: TurnRerun) -> str | Promise:
    return reasons.told(rerun.error).said if rerun.error else ""


def _original(row: TurnStep) -> Attempt:
    return Attempt(
        unsent=_unsent(row.answer),
        calls=list(turn_story.calls_of(row.tool_calls.all(), {})),
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        seconds=row.model_seconds,
    )


def _again(step: Mapping[str, Any]) -> Attempt:
    asked = step["answer"].get("tool_calls") or []
    functions = [call.get("function") or {} for call in asked]
    calls = [
        ToolCall(
            index=index,
            name=str(function.get("name", "?")),
            arguments=str(function.get("arguments", "")),
            result=result,
        )
        for index, (function, result) in enumerate(zip(functions, step["results"], strict=False))
    ]
    return Attempt(
        unsent=_unsent(step["answer"]),
        calls=list(turn_story.calls_of(calls, {})),
        prompt_tokens=step["prompt_tokens"],
        completion_tokens=step["completion_tokens"],
        seconds=step["seconds"],
    )


def _unsent(answer: Any) -> str:
    return turn_story.text_of(answer.get("content")).strip() if isinstance(answer, dict) else ""
