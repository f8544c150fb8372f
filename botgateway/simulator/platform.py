"""The simulated platform's connection: dials the gateway, tells it events, answers its calls."""

import asyncio
import base64
import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import websockets
from django.utils.translation import gettext as _
from websockets.asyncio.client import ClientConnection, connect

from botgateway.simulator.answers import Answer, Refused, answer
from botgateway.simulator.drawing import drawn
from botgateway.simulator.world import Frame, Id, Said, World, wire_id

MAX_FRAME_BYTES = 50 * 2**20
"""What NapCat takes of us."""


class NoConnection(Exception):
    """The gateway can't be reached; the text is one line that says so."""


class HandshakeRefused(NoConnection):
    """The gateway answered the handshake with an HTTP error: trying again changes nothing."""


Report = Callable[[str, Answer], None]
"""Told what the bot did: the action's name, and what became of it."""


class SimulatedPlatform:
    """One simulated account, connected to a gateway as a OneBot v11 implementation would be.

    Chats are named as everywhere: `group:20001`, `private:10002`. Methods that make something
    happen return once the event's frame is written.
    """

    def __init__(
        self,
        url: str,
        *,
        self_id: Id,
        token: str = "",
        world: World | None = None,
        on_action: Report | None = None,
        heartbeat_seconds: float = 30,
    ) -> None:
        self.url = url
        self.token = token
        self.world = world or World(wire_id(self_id))
        self.heartbeat_seconds = heartbeat_seconds
        self.report_own_messages = False
        self.on_action = on_action
        self.socket: ClientConnection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def headers(self) -> dict[str, str]:
        """The handshake's headers."""
        headers = {"X-Self-ID": str(self.world.self_id), "X-Client-Role": "Universal"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    async def connect(self) -> None:
        """Connects and says so, as every implementation does first; raises NoConnection."""
        try:
            # As NapCat does it: no compression, no pings of its own; and never over a proxy.
            self.socket = await connect(
                self.url,
                additional_headers=self.headers(),
                user_agent_header="arise-simulator",
                compression=None,
                ping_interval=None,
                close_timeout=2,
                max_size=MAX_FRAME_BYTES,
                proxy=None,
            )
        except websockets.InvalidStatus as error:
            code = error.response.status_code
            raise HandshakeRefused(
                _("%(address)s refused (HTTP %(code)s)")
                % {"address": _shown(self.url), "code": code}
            ) from None
        except (OSError, TimeoutError, websockets.WebSocketException, ValueError) as error:
            raise NoConnection(
                _("nothing to talk to at %(address)s: %(error)s")
                % {"address": _shown(self.url), "error": error}
            ) from None
        self._start(self._read(self.socket))
        await self.send_event(
            self.world.event("meta_event", meta_event_type="lifecycle", sub_type="connect")
        )
        if self.heartbeat_seconds:
            self._start(self._beat())

    async def close(self) -> None:
        """Hangs up and ends what still runs."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.socket is not None:
            await self.socket.close()

    async def wait_closed(self) -> tuple[int | None, str]:
        """Waits until the connection is closed; the close code and reason."""
        if self.socket is None:
            raise NoConnection(_("never connected"))
        await self.socket.wait_closed()
        return self.socket.close_code, self.socket.close_reason or ""

    async def send_frame(self, frame: Mapping[str, Any] | str | bytes) -> None:
        """Writes one frame, whatever it holds; raises NoConnection when there is none any more."""
        if self.socket is None:
            raise NoConnection(_("not connected"))
        raw = frame if isinstance(frame, str | bytes) else json.dumps(frame, ensure_ascii=False)
        try:
            await self.socket.send(raw)
        except websockets.ConnectionClosed as error:
            raise NoConnection(
                _("the connection is closed: %(error)s") % {"error": error}
            ) from None

    async def send_event(self, event: Frame) -> None:
        """Tells the gateway an event."""
        await self.send_frame(event)

    async def say(
        self,
        chat: str,
        user: Id,
        text: str = "",
        *,
        mention_bot: bool = False,
        reply_to: int | None = None,
        sticker: str | None = None,
    ) -> Said:
        """Somebody says something; `sticker` names a collected sticker that is drawn for the name."""
        segments: list[dict[str, Any]] = []
        if reply_to is not None:
            segments.append({"type": "reply", "data": {"id": str(reply_to)}})
        if mention_bot:
            segments.append({"type": "at", "data": {"qq": str(self.world.self_id)}})
            text = f" {text}" if text else text
        if text:
            segments.append({"type": "text", "data": {"text": text}})
        if sticker is not None:
            segments.append(sticker_segment(drawn(sticker)))
        return await self.say_segments(chat, user, segments)

    async def say_segments(self, chat: str, user: Id, segments: list[dict[str, Any]]) -> Said:
        """Somebody says any segments."""
        said = self.world.keep(chat, wire_id(user), segments)
        await self.send_event(self.world.message_event(said))
        return said

    async def poke(self, chat: str, user: Id, target: Id | None = None) -> None:
        """Somebody pokes somebody, the bot unless told otherwise."""
        whom = self.world.self_id if target is None else wire_id(target)
        await self.send_event(self.world.poke_event(chat, wire_id(user), whom))

    async def react(self, said: Said, user: Id, emoji: str, *, is_add: bool = True) -> None:
        """Somebody reacts to a message; `emoji` is a face id or a decimal code point."""
        event = self.world.reaction_event(said, wire_id(user), emoji, is_add=is_add)
        await self.send_event(event)

    async def recall(self, said: Said, user: Id | None = None) -> None:
        """Somebody, its sender unless told otherwise, recalls a message."""
        said.recalled = True
        operator = said.sender_id if user is None else wire_id(user)
        await self.send_event(self.world.recall_event(said, operator))

    async def handle_call(self, call: Frame) -> None:
        """Answers one call of the gateway; scripted platforms override this."""
        response, done = self.perform(call)
        await self.send_frame(response)
        await self.tell(done)

    def perform(self, call: Frame) -> tuple[Frame, Answer]:
        """Does what is asked: the response frame, and what happened."""
        action = str(call.get("action"))
        params = call.get("params")
        try:
            done = answer(self.world, action, params if isinstance(params, dict) else {})
        except Refused as refused:
            return failure(call, refused.retcode, refused.message), Answer()
        if self.report_own_messages and done.said and action.startswith("send_"):
            done.events.append(self.world.message_event(done.said))
        if self.on_action and (done.said or done.line) and not action.startswith("get_"):
            self.on_action(action, done)
        return success(call, done.data), done

    async def tell(self, done: Answer) -> None:
        """Sends the events that follow an answer."""
        for event in done.events:
            await self.send_event(event)

    def _start(self, coroutine: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, socket: ClientConnection) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            async for raw in socket:
                call = json.loads(raw)
                if isinstance(call, dict) and "action" in call:
                    self._start(self._handle(call))

    async def _handle(self, call: Frame) -> None:
        with contextlib.suppress(NoConnection):
            await self.handle_call(call)

    async def _beat(self) -> None:
        with contextlib.suppress(NoConnection):
            while True:
                await asyncio.sleep(self.heartbeat_seconds)
                await self.send_event(
                    self.world.event(
                        "meta_event",
                        meta_event_type="heartbeat",
                        status={"online": True, "good": True},
                        interval=int(self.heartbeat_seconds * 1000),
                    )
                )


def success(call: Frame, data: Any) -> Frame:
    """A response that says that it was done."""
    common = {"status": "ok", "retcode": 0, "data": data, "message": "", "wording": ""}
    return {**common, "echo": call.get("echo"), "stream": "normal-action"}


def failure(call: Frame, retcode: int, message: str) -> Frame:
    """A response that says that it was not done."""
    common = {"status": "failed", "retcode": retcode, "data": None}
    return {**common, "message": message, "wording": message, "echo": call.get("echo")}


def sticker_segment(content: bytes) -> dict[str, Any]:
    """A collected sticker as NapCat tells it, but for its address: the picture itself, since the
    simulated platform has no server."""
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest().upper()
    suffix = "gif" if content.startswith(b"GIF8") else "png"
    data = {"summary": "[动画表情]", "file": f"{digest}.{suffix}", "sub_type": 1}
    return {"type": "image", "data": {**data, **_address(content)}}


def face_segment(name: str) -> dict[str, Any]:
    """One of the platform's own faces as NapCat tells it; the same name is the same face."""
    digest = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
    data = {
        "summary": f"[{name}]",
        "file": f"{digest[:2]}-{digest}.gif",
        "key": digest[:16],
        "emoji_id": digest,
        "emoji_package_id": 231764,
    }
    return {"type": "image", "data": {**data, **_address(drawn(name))}}


def _address(content: bytes) -> dict[str, str]:
    url = f"base64://{base64.b64encode(content).decode()}"
    return {"url": url, "file_size": str(len(content))}


def _shown(url: str) -> str:
    """The address without its query, which may carry a token."""
    return urlunsplit(urlsplit(url)._replace(query="", fragment=""))
