"""A small HTTP server that speaks the OpenAI API: chat completions and, where it is given what
answers them, speech and embeddings.

The built-in demo model stands on it, and so does the scripted model of the tests. It streams
nothing, prints nothing and needs nothing but the standard library.
"""

import json
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

MAX_REQUEST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: JSON (or `raw` bytes, where JSON would be too well-formed), after a delay."""

    body: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    delay: float = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None

    def payload(self) -> bytes:
        return json.dumps(self.body).encode() if self.raw is None else self.raw


Answer = Callable[[dict[str, Any]], Reply]


def completion(model: str, message: Mapping[str, Any], finish_reason: str = "") -> dict[str, Any]:
    """The body of a chat completion with one choice; usage is for the caller to add."""
    ended = finish_reason or ("tool_calls" if message.get("tool_calls") else "stop")
    return {
        "id": "chatcmpl-arise",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": dict(message), "finish_reason": ended}],
    }


def failure(status: int, message: str, kind: str = "invalid_request_error") -> Reply:
    """An error in the shape in which this API tells it."""
    return Reply({"error": {"message": message, "type": kind}}, status)


class ChatCompletionsServer(ThreadingHTTPServer):
    """Serves `answer` at /v1/chat/completions and, where they are given, `speech` at /v1/audio/speech
    and `embeddings` at /v1/embeddings; `start()` runs it in a thread until `stop()`."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512  # many chats may ask in the same moment

    def __init__(
        self,
        answer: Answer,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        models: tuple[str, ...] = (),
        speech: Answer | None = None,
        embeddings: Answer | None = None,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self.answers: dict[str, tuple[Answer, str, type]] = {
            "/v1/chat/completions": (answer, "messages", list)
        }
        if speech is not None:
            self.answers["/v1/audio/speech"] = (speech, "input", str)
        if embeddings is not None:
            self.answers["/v1/embeddings"] = (embeddings, "input", list)
        self.models = models
        self.stopping = threading.Event()

    def server_bind(self) -> None:
        # HTTPServer's own looks the host's name up, which takes seconds where there is no DNS.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[0], self.server_address[1]  # type: ignore[assignment]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's failure; nothing is printed."""

    @property
    def url(self) -> str:
        """The base URL that a client is given."""
        host, port = self.server_address[:2]
        name = f"[{host!s}]" if self.address_family == socket.AF_INET6 else str(host)
        return f"http://{name}:{port}/v1"

    def start(self) -> None:
        """Serve from a thread of its own."""
        serve = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        serve.start()

    def stop(self) -> None:
        """Stop serving; delayed replies are given up."""
        self.stopping.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120  # an idle connection is closed after this

    @property
    def _home(self) -> ChatCompletionsServer:
        return cast("ChatCompletionsServer", self.server)

    def do_GET(self) -> None:
        if self.path.partition("?")[0].rstrip("/") != "/v1/models":
            self._send(failure(404, "no such page"))
            return
        models = [
            {"id": name, "object": "model", "owned_by": "arise"} for name in self._home.models
        ]
        self._send(Reply({"object": "list", "data": models}))

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        found = self._home.answers.get(self.path.partition("?")[0].rstrip("/"))
        self._send(self._reply(body, *found) if found else failure(404, "no such page"))

    def _body(self) -> bytes | None:
        """The request's body; None once it was refused (and the connection is to be closed)."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            refusal = failure(411, "a Content-Length is needed")
        elif int(length) > MAX_REQUEST_BYTES:
            refusal = failure(413, "the request is too large")
        else:
            return self.rfile.read(int(length))
        self.close_connection = True
        self._send(refusal)
        return None

    def _reply(self, body: bytes, answer: Answer, needed: str, kind: type) -> Reply:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return failure(400, "the body is not JSON")
        if not isinstance(request, dict) or not isinstance(request.get(needed), kind):
            return failure(400, f"`{needed}` is missing")
        if request.get("stream"):
            return failure(400, "this server does not stream")
        try:
            return answer(request)
        except Exception as error:  # noqa: BLE001  (the client is told; the server goes on)
            return failure(500, f"{type(error).__name__}: {error}", "server_error")

    def _send(self, reply: Reply) -> None:
        if reply.delay:
            self._home.stopping.wait(reply.delay)
        payload = reply.payload()
        self.send_response(reply.status, _phrase(reply.status))
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed: whoever wants to see the requests records them in `answer`."""


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "Unknown"
