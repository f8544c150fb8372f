"""From what a model asked for to what it is told: a bad call never breaks a turn."""

import copy
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError

from core.errors import ToolRefusal
from core.llm.types import ToolCallRequest
from core.models import Turn
from core.text import clean, one_line
from core.toolcalls import ToolContext
from core.tools.registry import Tool, ToolResult

logger = logging.getLogger(__name__)
LONGEST_FAULTS = 500
BROKEN = "The tool failed inside. It did nothing; calling it again may fail again."


def prepare(
    tools: Mapping[str, Tool | None], turn: Turn, calls: Sequence[ToolCallRequest]
) -> list[Any]:
    """What the calls' tools make ready before the step's transaction, in the order of the calls:
    each what its `prepare` returned, None where it has none, or why it is refused. The turn stays
    as it is: what the calls would take is counted on a copy."""
    counted = copy.copy(turn)
    ready = []
    for index, call in enumerate(calls):
        earlier = tuple(before.name for before in calls[:index])
        context = ToolContext(
            turn.chat, counted, turn.steps, index, timezone.now(), earlier=earlier
        )
        ready.append(_prepared(tools.get(call.name), context, call.arguments))
    return ready


def _prepared(tool: Tool | None, context: ToolContext, arguments: str) -> Any:
    if tool is None or tool.prepare is None:
        return None
    try:
        return tool.prepare(context, _checked(tool, arguments))
    except ToolRefusal as refusal:
        return refusal
    except Exception:
        logger.exception("tool %s could not be made ready in turn %s", tool.name, context.turn.pk)
        return ToolRefusal("internal_error", BROKEN)


def execute(
    tools: Mapping[str, Tool | None], context: ToolContext, *, name: str, arguments: str
) -> ToolResult:
    """Run one call in a savepoint of the step's transaction and return what the model is told.
    `tools` are those that the turn was given; None stands for one that is off by now.

    The result's values always have `ok`; where it is false, also `error` (a code) and `message`
    (a sentence), and nothing of the call is written.
    """
    turn, chat = context.turn, context.chat
    counted = (turn.sends, turn.gestures, chat.next_handle)
    try:
        with transaction.atomic():
            if isinstance(context.prepared, ToolRefusal):
                raise context.prepared
            tool = _tool(tools, name)
            result = tool.apply(context, _checked(tool, arguments))
    except ToolRefusal as refusal:
        turn.sends, turn.gestures, chat.next_handle = counted
        return ToolResult({"ok": False, "error": refusal.code, "message": refusal.message})
    except Exception:
        logger.exception("tool %s failed in turn %s", name, turn.pk)
        turn.sends, turn.gestures, chat.next_handle = counted
        return ToolResult({"ok": False, "error": "internal_error", "message": BROKEN})
    return ToolResult({"ok": True, **result.values}, ends_turn=result.ends_turn)


def _tool(tools: Mapping[str, Tool | None], name: str) -> Tool:
    tool = tools.get(name)
    if tool is not None:
        return tool
    if name in tools:
        raise ToolRefusal("capability_off", f"{name} is not allowed in this chat any more.")
    raise ToolRefusal(
        "unknown_tool", f"There is no tool {name[:60]!r}; there are: {', '.join(tools)}."
    )


def _checked(tool: Tool, arguments: str) -> Any:
    try:
        values = clean(json.loads(arguments or "{}"))
    except (ValueError, RecursionError) as error:
        raise ToolRefusal("bad_json", f"The arguments are not valid JSON: {error}.") from None
    try:
        if isinstance(values, dict) and (given := tool.without & values.keys()):
            names = ", ".join(sorted(given))
            raise ToolRefusal(
                "bad_arguments", f"The arguments do not fit: there is no {names} here."
            )
        return tool.arguments.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
            for fault in error.errors()[:5]
        )
        # Names of arguments are the model's own, and may be as long as it likes.
        told = one_line(faults, LONGEST_FAULTS)
        raise ToolRefusal("bad_arguments", f"The arguments do not fit: {told}.") from None


def as_content(result: Mapping[str, Any]) -> str:
    """A result as the model reads it: one JSON object."""
    return json.dumps(result, ensure_ascii=False)
