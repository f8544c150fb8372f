"""Asking a turn once more without anything of it being done: the model's calls are paid, its tools run
in transactions that are rolled back.

Each step's tools run after those of the steps before it, so that a model may edit what it has just
written. Nothing is spoken aloud, which would be paid for nobody to hear.
"""

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core import budgets, context, journal, judging
from core.database import database_now, give_back
from core.errors import ModelFailure
from core.llm import client
from core.llm.types import Answer
from core.media import references
from core.models import Chat, Turn, TurnRerun
from core.text import clean
from core.toolcalls import ToolContext
from core.tools import execution
from core.tools.registry import ToolResult

logger = logging.getLogger(__name__)
State = TurnRerun.State
_SPARE = timedelta(minutes=5)
_NOT_PREPARED = frozenset({"send_message"})  # by having its words spoken
_NO_TURN = 0


def longest() -> timedelta:
    """The longest time that one can take; what has not ended by then died with its worker."""
    attempts = settings.ARISE_MODEL_RETRIES + 1
    seconds = settings.ARISE_MAX_STEPS * attempts * settings.ARISE_MODEL_TIMEOUT_SECONDS
    return timedelta(seconds=seconds) + _SPARE


def is_lost(rerun: TurnRerun) -> bool:
    """Whether it never ends any more."""
    return rerun.ended_at is None and timezone.now() - rerun.created_at > longest()


def run(rerun_id: int) -> None:
    """Run one that waits, to its end; nothing where it ran already, or its turn was forgotten."""
    waiting = TurnRerun.objects.filter(pk=rerun_id, state=State.WAITING)
    if not waiting.update(state=State.RUNNING):
        return
    rerun = TurnRerun.objects.select_related("turn__chat__bot").get(pk=rerun_id)
    try:
        error, detail = _drive(rerun)
    except Exception as broken:
        logger.exception("turn %s could not be run again", rerun.turn_id)
        error, detail = "internal_error", type(broken).__name__
    ended = {"state": State.FAILED if error else State.DONE, "error": error}
    # Where it was forgotten meanwhile its row is gone, and nothing is written.
    TurnRerun.objects.filter(pk=rerun_id).update(
        **ended, error_detail=detail, ended_at=timezone.now()
    )


def messages_of(rerun: TurnRerun) -> list[dict[str, Any]]:
    """What it asks first: the turn's own messages, with the other persona where it has one."""
    messages = list(rerun.turn.messages)
    if not rerun.persona.strip():
        return messages
    chat = copy.copy(rerun.turn.chat)
    chat.persona_override = rerun.persona
    return [{"role": "system", "content": context.system(chat)}, *messages[1:]]


def _drive(rerun: TurnRerun) -> tuple[str, str]:
    """Step after step; the error's code and words, both empty where there is none."""
    turn, asked = rerun.turn, list[_Asked]()
    messages = messages_of(rerun)
    if turn.is_forgotten:
        return "forgotten", ""
    while len(asked) < settings.ARISE_MAX_STEPS:
        chat = Chat.objects.select_related("bot").get(pk=turn.chat_id)
        now = database_now()
        if refused := budgets.reserve(chat, now=now):
            return refused, ""
        give_back()
        try:
            request = references.filled(messages)
            answer = client.complete(model=rerun.model, messages=request, tools=turn.tools)
        except ModelFailure as failure:
            return failure.code, failure.detail
        # By the day, since the turn itself did not use them.
        tokens = answer.prompt_tokens + answer.completion_tokens
        budgets.count_tokens(chat, purpose=budgets.Purpose.CHAT, reserved_at=now, tokens=tokens)
        asked.append(_Asked(answer, _prepared(chat, turn, answer)))
        results = _pretend(turn, asked)
        if not _keep(rerun, answer, results):
            return "", ""
        if not results or any(result.ends_turn for result in results):
            return "", ""
        messages += journal.told(
            answer.message,
            [
                (call.id, result.values)
                for call, result in zip(answer.tool_calls, results, strict=True)
            ],
        )
    return "step_limit", ""


@dataclass(frozen=True, slots=True)
class _Asked:
    """An answer, and what its calls' tools made ready."""

    answer: Answer
    prepared: Sequence[Any]


def _prepared(chat: Chat, turn: Turn, answer: Answer) -> Sequence[Any]:
    played = copy.copy(turn)
    # What the real turn did is not counted.
    played.pk, played.chat, played.sends, played.gestures = _NO_TURN, chat, 0, 0
    tools = {
        name: replace(tool, prepare=None) if tool and name in _NOT_PREPARED else tool
        for name, tool in judging.allowed(chat, turn).items()
    }
    prepared = execution.prepare(tools, played, answer.tool_calls)
    give_back()
    return prepared


def _pretend(turn: Turn, asked: Sequence[_Asked]) -> Sequence[ToolResult]:
    """What the calls of the last answer are told, after those of the answers before it."""
    results: list[ToolResult] = []
    with transaction.atomic():
        locked = Chat.objects.select_for_update(of=("self",)).select_related("bot")
        chat = locked.get(pk=turn.chat_id)
        # A turn of its own, so that its entries are beside those of the real one.
        played = Turn.objects.create(
            chat=chat,
            state=Turn.State.DONE,
            trigger=turn.trigger,
            model=turn.model,
            first_item_id=turn.first_item_id,
            last_item_id=turn.last_item_id,
            tools=turn.tools,
        )
        tools, now = judging.allowed(chat, played), database_now()
        for index, one in enumerate(asked):
            results = [
                execution.execute(
                    tools,
                    ToolContext(chat, played, index, place, now, one.prepared[place]),
                    name=call.name,
                    arguments=call.arguments,
                )
                for place, call in enumerate(one.answer.tool_calls)
            ]
        transaction.set_rollback(True)
    return results


def _keep(rerun: TurnRerun, answer: Answer, results: Sequence[ToolResult]) -> bool:
    """Keep a step; whether the row is still there."""
    rerun.steps.append(
        {
            "answer": answer.message,
            "results": [clean(dict(result.values)) for result in results],
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
            "seconds": round(answer.seconds, 3),
        }
    )
    rerun.prompt_tokens += answer.prompt_tokens
    rerun.completion_tokens += answer.completion_tokens
    kept = TurnRerun.objects.filter(pk=rerun.pk).update(
        steps=rerun.steps,
        prompt_tokens=rerun.prompt_tokens,
        completion_tokens=rerun.completion_tokens,
    )
    give_back()
    return bool(kept)
