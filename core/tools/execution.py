"""From what a model asked for to what it is told: a bad call never breaks a turn."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from pydantic import ValidationError

from core.errors import ToolRefusal
from core.text import clean, one_line
from core.toolcalls import ToolContext
from core.tools.registry import Tool, ToolResult

logger = logging.getLogger(__name__)
LONGEST_FAULTS = 500


def execute(
    tools: Mapping[str, Tool | None], context: ToolContext, *, name: str, arguments: str
) -> ToolResult:
    """Run one call in a savepoint of the step's transaction and return what the model is told.
    `tools` are those that the turn was given; None stands for one that is off by now.

    The result's values always have `ok`; where it is false, also `error` (a code) and `message`
    (a sentence), and nothing of the call is written.
    """
    counted = (context.turn.sends, context.chat.next_handle)
    try:
        with transaction.atomic():
            tool = _tool(tools, name)
            result = tool.apply(context, _checked(tool, arguments))
    except ToolRefusal as refusal:
        context.turn.sends, context.chat.next_handle = counted
        return ToolResult({"ok": False, "error": refusal.code, "message": refusal.message})
    except Exception:
        logger.exception("tool %s failed in turn %s", name, context.turn.pk)
        context.turn.sends, context.chat.next_handle = counted
        message = "The tool failed inside. It did nothing; calling it again may fail again."
        return ToolResult({"ok": False, "error": "internal_error", "message": message})
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
