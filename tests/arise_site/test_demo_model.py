"""The built-in demo model, in this process and as the program that `up` starts."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from typing import Any

import pytest
from pytest_django import Settings

from arise_site import demo_model
from core.llm import client

SEND = {"type": "function", "function": {"name": "send_message", "parameters": {}}}
SILENT = {"type": "function", "function": {"name": "stay_silent", "parameters": {}}}
SYSTEM = {"role": "system", "content": "You are the account 10000."}


def line(text: str, name: str = "Ann", more: str = "") -> str:
    at = "2026-11-30T08:00:00Z"
    return f'<message id="123" sender="10001" name="{name}" time="{at}"{more}>{text}</message>'


def turn(*lines: str, tools: Any = (SEND, SILENT)) -> dict[str, Any]:
    context = {"role": "user", "content": "\n".join(lines)}
    return {"model": "arise-demo", "messages": [SYSTEM, context], "tools": list(tools)}


def calls(request: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    message = demo_model.answer(request).body["choices"][0]["message"]
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls", [])
    ]


def said(*lines: str) -> str:
    """Its messages in one turn, a line each."""
    made = calls(turn(*lines))
    assert {name for name, _ in made} == {"send_message"}
    return "\n".join(str(arguments["content"]) for _, arguments in made)


def test_it_says_what_it_is_and_how_to_set_a_real_model() -> None:
    words = said(line("hello there @user:10000"))
    assert "Ann" in words
    assert "hello there" in words
    for part in (
        "demo model",
        "scripted",
        "no language model",
        "OPENAI_API_KEY",
        "ARISE_CHAT_MODEL",
    ):
        assert part in words


def test_it_answers_chinese_in_chinese() -> None:
    words = said(line("@user:10000你好呀", name="小安"))
    assert words.startswith("你好，小安！我读到了：“你好呀”")
    assert "演示模型" in words
    assert "OPENAI_BASE_URL" in words


def test_it_answers_the_last_message_meant_for_it() -> None:
    words = said(
        line("an old question @user:10000"),
        '<message handle="m7" state="sent" time="2026-11-30T08:00:00Z">@user:10001 old</message>',
        line("the question @user:10000", name="Bob"),
        line("something else @user:30000"),
        line("and more"),
    )
    assert "the question" in words
    assert "Bob" in words


def test_only_what_is_new_is_answered() -> None:
    words = said(
        "<earlier>",
        line("old @user:10000"),
        "</earlier>",
        "<new>",
        line("plain", more=' reply_to="7"'),
    )
    assert "“plain”" in words


def test_it_answers_a_private_message_without_a_mention() -> None:
    assert "just words" in said(line("just words"))


def test_it_answers_a_poke() -> None:
    assert "poked me, Ann" in said('<poke sender="10001" name="Ann" target="10000" time="x"/>')


def test_what_people_write_stays_data() -> None:
    words = said(line("@user:10000 @all {name} &lt;b&gt; @face:1" + "x" * 100))
    assert "＠all {name} <b> ＠face:1xxx" in words
    assert "@" not in words
    assert "x" * 50 not in words


def test_it_ends_the_turn_after_its_tool_result() -> None:
    request = turn(line("hi @user:10000"))
    first = demo_model.answer(request).body["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": "{}"}
    request["messages"] += [first, result]
    choice = demo_model.answer(request).body["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert choice["message"] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("words", ["please be silent", "安静一下"])
def test_it_stays_silent_when_asked_to(words: str) -> None:
    ((name, arguments),) = calls(turn(line(f"@user:10000 {words}")))
    assert name == "stay_silent"
    assert arguments["reason"]


def test_it_shows_two_messages_in_order() -> None:
    contents = [given["content"] for _, given in calls(turn(line("two messages @user:10000")))]
    assert [content[:10] for content in contents] == ["The first ", "And the se"]


@pytest.mark.parametrize(("words", "shown"), [("help", "“be silent”"), ("帮助", "“安静”")])
def test_it_lists_what_it_can_be_asked(words: str, shown: str) -> None:
    assert shown in said(line(f"{words} @user:10000"))


@pytest.mark.parametrize("tools", [(), (SILENT,), ("nonsense",), ({"function": None},)])
def test_it_calls_no_tool_that_was_not_offered(tools: Any) -> None:
    assert calls(turn(line("hi @user:10000"), tools=tools)) == []


def test_it_is_the_same_each_time() -> None:
    request = turn(line("hi @user:10000"))
    first, second = demo_model.answer(request).body, demo_model.answer(request).body
    assert first["choices"] == second["choices"]
    assert first["usage"] == second["usage"]
    assert first["usage"]["prompt_tokens"] > 0


@pytest.mark.parametrize(
    "content", [None, 7, [{"type": "text", "text": line("parts")}], "<message", ""]
)
def test_it_takes_any_content(content: Any) -> None:
    request = turn() | {"messages": [7, {"role": "user", "content": content}]}
    assert demo_model.answer(request).status == 200


def test_it_runs_as_a_program(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    command = [sys.executable, "-m", "arise_site.demo_model", "--port", str(port)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _wait_for(port)
        settings.ARISE_MODEL_BASE_URL = f"http://127.0.0.1:{port}/v1"
        settings.ARISE_MODEL_API_KEY = "none"
        asked = turn(line("hi @user:10000"))
        answer = client.complete(model="arise-demo", messages=asked["messages"], tools=[SEND])
        assert answer.tool_calls[0].name == "send_message"
        assert client.list_models(seconds=5) == ["arise-demo"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models") as page:
            assert page.status == 200
        second = subprocess.run(command, capture_output=True, timeout=20, check=False)
        assert second.returncode == 1
        assert str(port).encode() in second.stderr
    finally:
        program.send_signal(signal.SIGTERM)
        printed = program.communicate(timeout=10)
    assert printed == (b"", b"")
    assert program.returncode == 0


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the demo model does not listen")
