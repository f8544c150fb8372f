"""The built-in demo model: a script behind an OpenAI-compatible server, no language model.

It plays the model `arise-demo` for whoever has no key yet: it answers through the real tools, says
what it is, and how to set a real model. `python -m arise_site.demo_model --port N` serves it until
SIGTERM. It is the same to the same request.
"""

import argparse
import json
import re
import signal
import threading
from collections.abc import Mapping
from typing import Any

from arise_site import demo_words
from arise_site.openai_server import ChatCompletionsServer, Reply, completion

MODEL = "arise-demo"
Calls = list[tuple[str, dict[str, Any]]]


def answer(request: Mapping[str, Any]) -> Reply:
    """The demo model's answer to a chat-completions request."""
    messages = [message for message in request["messages"] if isinstance(message, dict)]
    acted = any(message.get("tool_calls") for message in messages)
    calls = [] if acted else _calls(messages, _offered(request))
    message = _assistant(calls, len(messages))
    body = completion(MODEL, message)
    return Reply(body | {"usage": _usage(request, message)})


def _calls(messages: list[dict[str, Any]], offered: set[str]) -> Calls:
    """What it does in a turn: all of it in its first step, so that the second one ends the turn."""
    heard = demo_words.last_addressed(messages)
    if heard is None or demo_words.wants_silence(heard):
        reason = "asked to be silent" if heard else "nothing was said to me"
        return [("stay_silent", {"reason": reason})] if "stay_silent" in offered else []
    if "send_message" not in offered:
        return []
    return [("send_message", {"content": text}) for text in demo_words.replies(heard)]


def _offered(request: Mapping[str, Any]) -> set[str]:
    tools = request.get("tools")
    functions = [
        tool.get("function")
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(tool, dict)
    ]
    return {str(function.get("name")) for function in functions if isinstance(function, dict)}


def _assistant(calls: Calls, position: int) -> dict[str, Any]:
    if not calls:
        return {"role": "assistant", "content": ""}
    tool_calls = [
        {
            "id": f"call_demo_{position}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False)},
        }
        for index, (name, given) in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls}


def _usage(request: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, int]:
    prompt = _tokens([request["messages"], request.get("tools")])
    completed = _tokens(message)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completed,
        "total_tokens": prompt + completed,
    }


def _tokens(value: Any) -> int:
    """An estimate: one for each Chinese character, one for each 3.6 bytes of the rest."""
    text = json.dumps(value, ensure_ascii=False)
    chinese = len(re.findall(r"[\u3400-\u9fff]", text))
    rest = len(text.encode("utf-8", "replace")) - 3 * chinese
    return chinese + round(rest / 3.6)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve arise's built-in demo model.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = ChatCompletionsServer(
            answer, host=options.host, port=options.port, models=(MODEL,)
        )
    except OSError as error:
        parser.exit(1, f"the demo model can't listen on port {options.port}: {error.strerror}\n")
    server.start()
    stop.wait()
    server.stop()


if __name__ == "__main__":
    main()
