"""Model calls against a real HTTP server that answers well, badly, late or not at all."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pytest_django import Settings

from arise_site.openai_server import ChatCompletionsServer, Reply, completion
from core.errors import ModelFailure
from core.llm import client, endpoint, reading
from tests.fakes.model import Script, ScriptedModel, assistant, embeddings, says
from tests.fakes.model_fixtures import script, scripted_model

__all__ = ["script", "scripted_model"]

KEY = "sk-very-secret-key-0123456789"
TOOL = {"type": "function", "function": {"name": "send_message", "parameters": {"type": "object"}}}
USER = {"role": "user", "content": "hi"}


@pytest.fixture(autouse=True)
def _endpoint(settings: Settings, scripted_model: ScriptedModel) -> None:
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_MODEL_API_KEY = KEY
    settings.ARISE_MODEL_TIMEOUT_SECONDS = 5.0
    settings.ARISE_MODEL_RETRIES = 2


def ask(script: Script, messages: list[dict[str, Any]] | None = None) -> client.Answer:
    return client.complete(model=script.model, messages=messages or [USER], tools=[TOOL])


def refusal(script: Script) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        ask(script)
    return caught.value


def answers(script: Script, message: Any, **more: Any) -> None:
    script.add(Reply(completion("m", {"role": "assistant"} | message) | more))


def call(**fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": "c", "type": "function"} | fields]}


def test_it_asks_with_tools_and_reads_the_answer(script: Script) -> None:
    script.reply(None, [("send_message", {"content": "hi"})])
    answer = ask(script)
    asked = script.requests[0]
    assert asked["messages"] == [USER]
    assert asked["tools"] == [TOOL]
    assert asked["tool_choice"] == "auto"
    assert not asked.get("stream")
    (request,) = answer.tool_calls
    assert (request.id, request.name, request.arguments) == (
        "call_0",
        "send_message",
        '{"content": "hi"}',
    )
    assert answer.content is None
    assert answer.finish_reason == "tool_calls"
    assert (answer.prompt_tokens, answer.completion_tokens) == (100, 10)
    assert answer.retries == 0
    assert answer.seconds > 0


def test_its_message_goes_back_as_it_is(script: Script) -> None:
    script.reply(None, [("send_message", {"content": "hi"})])
    script.reply("bye")
    answer = ask(script)
    result = {"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": "{}"}
    assert ask(script, [USER, answer.message, result]).content == "bye"
    assert script.requests[1]["messages"][1] == answer.message
    assert json.loads(json.dumps(answer.message)) == answer.message


def test_no_tools_means_no_tools_field(script: Script) -> None:
    script.reply("hi")
    client.complete(model=script.model, messages=[USER], tools=[])
    assert "tools" not in script.requests[0]
    assert "tool_choice" not in script.requests[0]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_it_asks_again_after_a_passing_failure(script: Script, status: int) -> None:
    script.reply(status=status)
    script.reply("hi")
    answer = ask(script)
    assert answer.content == "hi"
    assert answer.retries == 1


@pytest.mark.parametrize(
    ("status", "code", "asked"),
    [
        (429, "rate_limited", 3),
        (500, "server_error", 3),
        (502, "server_error", 3),
        (400, "refused", 1),
        (401, "refused", 1),
        (403, "refused", 1),
        (404, "refused", 1),
        (422, "refused", 1),
    ],
)
def test_a_lasting_failure_has_a_code_and_the_endpoints_words(
    script: Script, status: int, code: str, asked: int
) -> None:
    for _ in range(asked):
        script.reply("no such model", status=status)
    failure = refusal(script)
    assert failure.code == code
    assert failure.detail == f"HTTP {status}: no such model"


def test_the_key_is_in_no_failure(script: Script) -> None:
    script.reply(f"Incorrect API key provided: {KEY}", status=401)
    script.add(Reply(raw=f"{'x' * 480} {KEY}".encode()))
    failure = refusal(script)
    assert "Incorrect API key" in failure.detail
    for shown in (failure, refusal(script)):
        assert "secret" not in str(shown)


def test_an_endpoint_that_answers_too_late_is_a_timeout(script: Script, settings: Settings) -> None:
    settings.ARISE_MODEL_TIMEOUT_SECONDS = 1.0
    settings.ARISE_MODEL_RETRIES = 0
    script.reply("late", delay=5)
    assert refusal(script).code == "timeout"


def test_an_endpoint_that_keeps_dripping_is_a_timeout(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=_drip, args=(door,), daemon=True).start()
        settings.ARISE_MODEL_BASE_URL = f"http://127.0.0.1:{door.getsockname()[1]}/v1"
        settings.ARISE_MODEL_TIMEOUT_SECONDS = 0.5
        settings.ARISE_MODEL_RETRIES = 0
        with pytest.raises(ModelFailure) as caught:
            client.complete(model="m", messages=[USER], tools=[])
    assert caught.value.code == "timeout"


def _drip(door: socket.socket) -> None:
    connection, _ = door.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        # For ever: whoever waits for the end of this answer never returns.
        while True:
            try:
                connection.sendall(b"\n")
            except OSError:
                return
            time.sleep(0.05)


def test_nobody_there_is_unreachable(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    settings.ARISE_MODEL_BASE_URL = f"http://user:hidden@127.0.0.1:{port}/v1"
    settings.ARISE_MODEL_RETRIES = 0
    with pytest.raises(ModelFailure) as caught:
        client.complete(model="m", messages=[USER], tools=[])
    assert caught.value.code == "unreachable"
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("url", ["nonsense", "http://[", "ftp://127.0.0.1/v1"])
def test_a_wrong_address_is_a_failure_not_a_crash(settings: Settings, url: str) -> None:
    settings.ARISE_MODEL_BASE_URL = url
    settings.ARISE_MODEL_RETRIES = 0
    with pytest.raises(ModelFailure):
        client.complete(model="m", messages=[USER], tools=[])


def test_a_key_that_can_not_be_sent_is_refused(settings: Settings, script: Script) -> None:
    settings.ARISE_MODEL_API_KEY = "钥匙"
    assert refusal(script).code == "refused"


def test_an_answer_without_end_is_given_up(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_ANSWER_BYTES", 1000)
    script.reply("x" * 2000)
    assert refusal(script).code == "bad_answer"


@pytest.mark.parametrize(
    "raw",
    [
        b"<html>hello</html>",
        b"",
        b"null",
        b"[]",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [7]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"message": {"tool_calls": 7}}]}',
        b'{"choices": [{"message": {"tool_calls": [7]}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"id": "1", "function": {}}]}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"function": {"name": " "}}]}}]}',
        b'{"error": {"message": "upstream died"}}',
        b"[" * 100_000,
    ],
)
def test_nonsense_is_a_bad_answer(script: Script, raw: bytes) -> None:
    script.add(Reply(raw=raw))
    assert refusal(script).code == "bad_answer"


def test_a_failure_told_with_200_is_shown(script: Script) -> None:
    script.add(Reply({"error": {"message": "upstream died"}, "choices": []}))
    assert "upstream died" in refusal(script).detail


def test_it_tolerates_what_is_missing(script: Script) -> None:
    script.add(Reply({"choices": [{"message": {"content": None}}]}))
    answer = ask(script)
    assert answer.content is None
    assert answer.message == {"role": "assistant", "content": ""}
    assert (answer.prompt_tokens, answer.finish_reason, answer.tool_calls) == (0, "", ())


@pytest.mark.parametrize(
    "usage",
    [
        7,
        {"prompt_tokens": -1},
        {"prompt_tokens": "1"},
        {"prompt_tokens": 1e300},
        {"prompt_tokens": 2**31 - 1},  # two of them are more than a turn's column holds
    ],
)
def test_nonsense_usage_counts_as_none(script: Script, usage: Any) -> None:
    answers(script, {"content": "hi"}, usage=usage)
    assert ask(script).prompt_tokens == 0


def test_numbers_that_can_not_be_stored_are_left_out(script: Script) -> None:
    script.add(
        Reply(
            raw=b'{"choices": [{"message": {"content": "hi", "reasoning_details": [NaN, 1e999]}}]}'
        )
    )
    assert ask(script).message["reasoning_details"] == [None, None]


def test_more_calls_than_one_step_may_hold_are_a_bad_answer(script: Script) -> None:
    function = {"name": "send_message", "arguments": "{}"}
    answers(script, {"tool_calls": [{"id": str(n), "function": function} for n in range(65)]})
    failure = refusal(script)
    assert failure.code == "bad_answer"
    assert "65 tool calls" in failure.detail


def test_calls_without_an_own_id_get_one(script: Script) -> None:
    function = {"name": "send_message", "arguments": "{}"}
    calls = [
        {"function": function},
        {"id": "x", "function": function},
        {"id": "x", "function": function},
    ]
    answers(script, {"tool_calls": calls})
    answer = ask(script)
    ids = [request.id for request in answer.tool_calls]
    assert len(set(ids)) == 3
    assert ids[1] == "x"
    assert [sent["id"] for sent in answer.message["tool_calls"]] == ids


@pytest.mark.parametrize(
    ("given", "arguments"),
    [({"content": "好"}, '{"content": "好"}'), (None, "{}"), ("", "{}"), ('{"a": 1}', '{"a": 1}')],
)
def test_arguments_become_a_string(script: Script, given: Any, arguments: str) -> None:
    answers(script, call(function={"name": "send_message", "arguments": given}))
    assert ask(script).tool_calls[0].arguments == arguments


@pytest.mark.parametrize("broken", ['{"content": "hi', "7", "[" * 100_000])
def test_broken_arguments_are_told_and_not_sent_back(script: Script, broken: str) -> None:
    answers(script, call(function={"name": "functions.send_message", "arguments": broken}))
    answer = ask(script)
    assert answer.tool_calls[0].arguments == broken
    assert answer.tool_calls[0].name == "functions.send_message"
    assert answer.message["tool_calls"][0]["function"] == {
        "name": "functions_send_message",
        "arguments": "{}",
    }


def test_what_endpoints_want_back_is_kept(script: Script) -> None:
    signed = {"google": {"thought_signature": "abc"}}
    message = call(function={"name": "f", "arguments": "{}"}, extra_content=signed)
    answers(script, message | {"reasoning_content": "hm", "annotations": []})
    kept = ask(script).message
    assert kept["reasoning_content"] == "hm"
    assert "annotations" not in kept
    assert kept["tool_calls"][0]["extra_content"] == signed


def test_text_parts_are_joined(script: Script) -> None:
    answers(script, {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 7]})
    assert ask(script).content == "ab"


def test_characters_that_can_not_be_stored_are_replaced(script: Script) -> None:
    arguments = '{"content": "a\\u0000b\\ud800c 😀"}'
    message = call(function={"name": "send_message\x00", "arguments": arguments})
    answers(script, message | {"content": "\x00 \ud800 😀"})
    answer = ask(script)
    assert answer.content == "\ufffd \ufffd 😀"
    assert json.loads(answer.tool_calls[0].arguments) == {"content": "a\ufffdb\ufffdc 😀"}
    json.dumps(answer.message, ensure_ascii=False).encode()


def test_a_lone_surrogate_in_the_context_does_not_break_the_call(script: Script) -> None:
    script.reply("hi")
    ask(script, [{"role": "user", "content": "\ud800"}])
    assert script.requests[0]["messages"][0]["content"] == "\ufffd"


def test_many_calls_run_side_by_side(script: Script) -> None:
    all_ask = threading.Barrier(100, timeout=30)

    def together(_request: dict[str, Any]) -> Reply:
        all_ask.wait()
        return says(assistant("hi"))

    script.always(together)
    with ThreadPoolExecutor(100) as threads:
        answers = list(threads.map(lambda _: ask(script), range(100)))
    assert [answer.content for answer in answers] == ["hi"] * 100


@pytest.fixture
def silent_server() -> Iterator[ChatCompletionsServer]:
    server = ChatCompletionsServer(lambda request: Reply())
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Content-Length: 99999999999", b"413"),
        ("Content-Length: x", b"411"),
        ("Transfer-Encoding: chunked", b"411"),
        ("Content-Length: 0", b"400"),
    ],
)
def test_the_server_bounds_what_it_reads(
    silent_server: ChatCompletionsServer, head: str, status: bytes
) -> None:
    address = ("127.0.0.1", silent_server.server_port)
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n\r\n".encode())
        assert connection.recv(4096).split()[1] == status


SPOKEN = b"ID3 a recording"


def speak(script: Script) -> bytes:
    return client.speak(model=script.model, voice="alloy", words="hello \ud83d")


def test_it_has_words_spoken(script: Script) -> None:
    script.add(Reply(raw=SPOKEN, headers={"Content-Type": "audio/mpeg"}))
    assert speak(script) == SPOKEN
    assert script.requests == [
        {
            "model": script.model,
            "input": "hello \ufffd",
            "voice": "alloy",
            "response_format": "mp3",
        }
    ]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b'{"error": {"message": "no such voice"}}', "no such voice"),
        (b"<html>busy</html>", "busy"),
        (b"ID3" + bytes(reading.MAX_SPEECH_BYTES), "taken at most"),
    ],
)
def test_what_is_no_recording_is_a_bad_answer(script: Script, raw: bytes, told: str) -> None:
    script.add(Reply(raw=raw))
    with pytest.raises(ModelFailure) as caught:
        speak(script)
    assert caught.value.code == "bad_answer"
    assert told in caught.value.detail


@pytest.mark.parametrize(
    ("status", "code", "asked"),
    [(429, "rate_limited", 2), (500, "server_error", 2), (401, "refused", 1)],
)
def test_a_voice_that_fails_is_asked_again_but_once(
    script: Script, status: int, code: str, asked: int
) -> None:
    for _ in range(asked):
        script.reply(f"{KEY} is not good", status=status)
    with pytest.raises(ModelFailure) as caught:
        speak(script)
    assert caught.value.code == code
    assert len(script.requests) == asked
    assert KEY not in str(caught.value)


def test_a_voice_that_does_not_come_in_time_is_given_up(script: Script, settings: Settings) -> None:
    settings.ARISE_MODEL_TIMEOUT_SECONDS = 0.2
    settings.ARISE_MODEL_RETRIES = 0
    script.add(Reply(raw=SPOKEN, delay=2))
    with pytest.raises(ModelFailure) as caught:
        speak(script)
    assert caught.value.code == "timeout"


def test_the_demo_models_endpoint_speaks_nothing(settings: Settings) -> None:
    settings.ARISE_DEMO_MODEL, settings.ARISE_MODEL_BASE_URL = True, ""
    with pytest.raises(ModelFailure, match="unreachable"):
        client.speak(model="x", voice="alloy", words="hello")


def test_a_forced_tool_is_named(script: Script) -> None:
    script.reply(None, [("send_message", {"content": "hi"})])
    client.complete(model=script.model, messages=[USER], tools=[TOOL], tool_choice="send_message")
    chosen = {"type": "function", "function": {"name": "send_message"}}
    assert script.requests[0]["tool_choice"] == chosen


def test_what_may_be_paid_once_only_is_asked_once(script: Script) -> None:
    script.reply(status=500)
    with pytest.raises(ModelFailure):
        client.complete(model=script.model, messages=[USER], tools=[], retries=0)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("status", "costs_nothing"),
    [(429, True), (500, True), (503, True), (401, True), (403, True), (400, False), (408, False)],
)
def test_a_busy_or_broken_endpoint_surely_costs_nothing(
    script: Script, settings: Settings, status: int, costs_nothing: bool
) -> None:
    settings.ARISE_MODEL_RETRIES = 0
    script.reply(status=status)
    assert refusal(script).costs_nothing is costs_nothing


def _failure_at(settings: Settings, port: int) -> ModelFailure:
    settings.ARISE_MODEL_BASE_URL = f"http://127.0.0.1:{port}/v1"
    settings.ARISE_MODEL_TIMEOUT_SECONDS = 0.5
    with pytest.raises(ModelFailure) as caught:
        client.complete(model="m", messages=[USER], tools=[], retries=0)
    return caught.value


def test_a_refused_connection_surely_costs_nothing(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    failure = _failure_at(settings, port)
    assert (failure.code, failure.costs_nothing) == ("unreachable", True)


def _hang_up(door: socket.socket) -> None:
    connection, _ = door.accept()
    with connection:
        connection.recv(65536)


def test_a_connection_that_broke_after_the_request_may_cost(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=_hang_up, args=(door,), daemon=True).start()
        failure = _failure_at(settings, door.getsockname()[1])
    assert (failure.code, failure.costs_nothing) == ("unreachable", False)


def test_an_answer_that_did_not_come_in_time_may_cost(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:  # the system accepts, nobody answers
        failure = _failure_at(settings, door.getsockname()[1])
    assert (failure.code, failure.costs_nothing) == ("timeout", False)


def test_an_answer_that_can_not_be_read_may_cost(script: Script) -> None:
    script.add(Reply(raw=b"<html>hello</html>"))
    assert not refusal(script).costs_nothing


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ('{"a": 1, "a": 2, "b": "\\u0000"}', "{}"),
        ('{"b": [{"a": 1, "a": 1e999}]}', "{}"),
    ],
)
def test_arguments_that_say_two_things_are_not_made_to_say_one(
    script: Script, told: str, kept: str
) -> None:
    answers(script, call(function={"name": "f", "arguments": told}))
    assert ask(script).tool_calls[0].arguments == kept


def embed(script: Script, *texts: str, dimensions: int = 0) -> list[list[float]]:
    return client.embed(model=script.model, texts=texts or ("a", "b"), dimensions=dimensions)


def test_it_has_texts_embedded(script: Script) -> None:
    script.add(embeddings([[1, 0.5], [0.25, -1]]))
    assert embed(script, "hello \ud83d", "好") == [[1.0, 0.5], [0.25, -1.0]]
    script.add(embeddings([[1.0]]))
    embed(script, "a", dimensions=512)
    assert script.requests == [
        {"model": script.model, "input": ["hello \ufffd", "好"]},
        {"model": script.model, "input": ["a"], "dimensions": 512},
    ]


def test_embeddings_come_back_in_the_order_of_their_texts(script: Script) -> None:
    data = [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]
    script.add(Reply({"data": data}))
    assert embed(script) == [[1.0], [2.0]]
    script.add(Reply({"data": [{"embedding": [1]}, {"embedding": [2]}]}))
    assert embed(script) == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"<html>busy</html>", "busy"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no list"),
        (b'{"data": {}}', "no list"),
        (b'{"data": [{"embedding": [1]}]}', "1 embeddings for 2 texts"),
        (b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}', "differ in size"),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}', "apart"),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [1]}]}', "apart"),
        (b'{"data": [{"index": "0", "embedding": [1]}, {"embedding": [1]}]}', "apart"),
        (b'{"data": [{"index": true, "embedding": [1]}, {"embedding": [1]}]}', "apart"),
        (b'{"data": [null, {"embedding": [1]}]}', "no list of numbers"),
        (b'{"data": [{"embedding": "AACAPw=="}, {"embedding": [1]}]}', "no list of numbers"),
        (b'{"data": [{"embedding": []}, {"embedding": []}]}', "no list of numbers"),
        (b'{"data": [{"embedding": [null]}, {"embedding": [1]}]}', "no list of numbers"),
        (b'{"data": [{"embedding": [true]}, {"embedding": [1]}]}', "no list of numbers"),
        (b'{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}', "not finite"),
        (b'{"data": [{"embedding": [1e999]}, {"embedding": [1]}]}', "not finite"),
        (b'{"data": [{"embedding": [1e39]}, {"embedding": [1]}]}', "not finite"),
        (b'{"data": [{"embedding": [1' + b"0" * 400 + b']}, {"embedding": [1]}]}', "not finite"),
        (b'{"data": [{"embedding": [0, 0]}, {"embedding": [1, 0]}]}', "zeros"),
    ],
)
def test_what_are_no_embeddings_are_a_bad_answer(script: Script, raw: bytes, told: str) -> None:
    script.add(Reply(raw=raw))
    with pytest.raises(ModelFailure) as caught:
        embed(script)
    assert caught.value.code == "bad_answer"
    assert told in caught.value.detail


def test_embeddings_are_asked_for_again_but_once(script: Script) -> None:
    for _ in range(2):
        script.reply(f"{KEY} is not good", status=500)
    with pytest.raises(ModelFailure, match="server_error") as caught:
        embed(script)
    assert KEY not in str(caught.value)
