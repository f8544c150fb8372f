"""What the scripted model of the benches answers: one message, then an empty end."""

from typing import Any

from arise_site.openai_server import Reply
from bench.house import MODEL
from tests.fakes.model import Script, ScriptedModel, assistant, says

ANSWER = "a short one"


def one_message_a_turn(model: ScriptedModel, *, delay: float = 0) -> Script:
    """Each turn is two calls of `delay` seconds: `send_message`, then nothing more to say."""
    speaks = says(assistant(tool_calls=[("send_message", {"content": ANSWER})]), delay=delay)
    ends = says(assistant(), delay=delay)

    def answer(request: dict[str, Any]) -> Reply:
        return ends if request["messages"][-1]["role"] == "tool" else speaks

    script = model.script(MODEL)
    script.always(answer)
    return script
