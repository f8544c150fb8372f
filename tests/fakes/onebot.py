"""A OneBot v11 implementation that follows a script, over a real WebSocket."""

import asyncio
import contextlib
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from botgateway.simulator import platform
from botgateway.simulator.answers import Answer
from botgateway.simulator.platform import SimulatedPlatform
from botgateway.simulator.world import Frame, Id, Said, World, wire_id
from tests.fakes.implementations import Implementation

SEND_ACTIONS = {"send_group_msg", "send_private_msg", "send_msg"}

NAPCAT_TIMEOUT = (
    "Timeout: NTEvent serviceAndMethod:NodeIKernelMsgService/sendMsg "
    'ListenerName:NodeIKernelMsgListener/onMsgInfoListUpdate EventRet:\n{\n    "result": 0\n}\n'
)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one call is taken.

    `delivered`: it is done on the platform, at once or `delivered_later_seconds` after what was
    answered (a failure or nothing then); `told`: the events of what was done follow. `answered`: a
    response is sent, `after_seconds` later. `retcode` other than 0 makes it a failure with
    `message`, whatever was delivered; `pretended` makes it a success with `data`; `frame` is the
    whole response but for its echo. `hang_up` cuts the connection before or after the response.
    """

    delivered: bool = True
    delivered_later_seconds: float = 0
    told: bool = True
    answered: bool = True
    after_seconds: float = 0
    retcode: int = 0
    message: str = ""
    message_id: int | None = None
    pretended: bool = False
    data: Any = None
    frame: Frame | None = None
    hang_up: Literal["never", "before", "after"] = "never"


def late(seconds: float) -> Behaviour:
    """Done at once, answered late."""
    return Behaviour(after_seconds=seconds)


def silent(*, delivered: bool) -> Behaviour:
    """Never answered."""
    return Behaviour(delivered=delivered, answered=False)


def refused(retcode: int = 1200, message: str = "EventChecker Failed: 被禁言") -> Behaviour:
    """Not done, and said so."""
    return Behaviour(delivered=False, retcode=retcode, message=message)


def pretends(data: Any = None) -> Behaviour:
    """Not done, and answered as if it were."""
    return Behaviour(delivered=False, pretended=True, data=data)


def answers(frame: Frame) -> Behaviour:
    """Not done, and answered with this frame under the call's echo."""
    return Behaviour(delivered=False, frame=frame)


def timeout_but_sent() -> Behaviour:
    """Done, yet reported as a time-out (NapCat issues 932, 1772)."""
    return Behaviour(retcode=1200, message=NAPCAT_TIMEOUT)


def timeout_sent_later(seconds: float) -> Behaviour:
    """Reported as a time-out, and done so much later."""
    return Behaviour(retcode=1200, message=NAPCAT_TIMEOUT, delivered_later_seconds=seconds)


def timeout_not_sent() -> Behaviour:
    """Not done, reported as a time-out too."""
    return Behaviour(delivered=False, retcode=1200, message=NAPCAT_TIMEOUT)


def answers_id(message_id: int) -> Behaviour:
    """Done, and answered with this message id: 0 and -1 tell none."""
    return Behaviour(message_id=message_id)


def hangs_up(when: Literal["before", "after"], *, delivered: bool) -> Behaviour:
    """Cuts the connection before or after the response."""
    return Behaviour(delivered=delivered, hang_up=when)


@dataclass(frozen=True, slots=True)
class Received:
    """A call as it came in; `at` is the monotonic time."""

    action: str
    params: dict[str, Any]
    echo: Any
    at: float = field(compare=False)


class FakeOneBot(SimulatedPlatform):
    """A simulated platform whose answers a test scripts, and which remembers what it was asked."""

    def __init__(
        self,
        url: str,
        *,
        self_id: Id = "10001",
        token: str = "",
        auth: Literal["bearer", "token", "query"] = "bearer",
        role: str | None = "Universal",
        extra_headers: dict[str, str | None] | None = None,
        heartbeat_seconds: float = 0,
        report_own_messages: bool = False,
        app_name: str = "",
        app_version: str = "",
        implementation: Implementation | None = None,
    ) -> None:
        """`extra_headers` overrides headers; None leaves one out. `app_name` and `app_version` are
        those of an implementation that it passes itself off as; as an `implementation` it also has
        its actions alone, and answers as that does."""
        if auth == "query" and token:
            url = f"{url}{'&' if '?' in url else '?'}{urlencode({'access_token': token})}"
        world = World(
            wire_id(self_id), "Robot", {20001: "Test group"}, {10002: "Ann", 10003: "Bob"}
        )
        if implementation:
            app_name, app_version = implementation.app_name, implementation.app_version
        if app_name:
            world.app_name, world.app_version = app_name, app_version
        super().__init__(
            url, self_id=self_id, token=token, world=world, heartbeat_seconds=heartbeat_seconds
        )
        self.report_own_messages = report_own_messages
        self.calls: list[Received] = []
        self.responses: list[Frame] = []
        self.implementation = implementation
        self._auth = auth
        self._role = role
        self._extra_headers = extra_headers or {}
        self._once: dict[tuple[str, Any], deque[Behaviour]] = defaultdict(deque)
        self._always: dict[str, Behaviour] = {}
        self._changed = asyncio.Event()

    def script(self, action: str, *behaviours: Behaviour, about: int | None = None) -> None:
        """The next calls of an action are taken like this, one after the other; with `about`, those
        that name this message."""
        self._once[action, about].extend(behaviours)

    def always(self, action: str, behaviour: Behaviour) -> None:
        """Every call of an action is taken like this, unless it is scripted."""
        self._always[action] = behaviour

    @property
    def sent(self) -> list[Said]:
        """What the bot said and was delivered, in order."""
        return self.world.sent

    @property
    def texts(self) -> list[str]:
        """The text of what was delivered, in order."""
        return [said.text for said in self.sent]

    def called(self, action: str) -> list[Received]:
        """The calls of one action so far."""
        return [call for call in self.calls if call.action == action]

    async def wait_for_sends(self, count: int, timeout: float = 10) -> list[Said]:  # noqa: ASYNC109
        """Waits until so many messages were delivered, and gives them."""
        await self.wait_until(lambda: len(self.sent) >= count, timeout, lambda: self.texts)
        return self.sent

    async def wait_for_calls(
        self,
        action: str,
        count: int = 1,
        timeout: float = 10,  # noqa: ASYNC109
    ) -> list[Received]:
        """Waits until an action was called so often, delivered or not, and gives the calls."""
        await self.wait_until(
            lambda: len(self.called(action)) >= count, timeout, lambda: self.calls
        )
        return self.called(action)

    async def wait_until(
        self,
        holds: Callable[[], bool],
        timeout: float,  # noqa: ASYNC109
        seen: Callable[[], object] = lambda: "",
    ) -> None:
        """Waits until something holds of what was received; AssertionError tells what was seen."""
        try:
            async with asyncio.timeout(timeout):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {timeout} s; seen: {seen()}") from None

    def headers(self) -> dict[str, str]:
        """The handshake's headers, as this fake was told to make them."""
        headers = super().headers()
        if self._auth == "query":
            headers.pop("Authorization", None)
        elif self.token and self._auth == "token":
            headers["Authorization"] = f"Token {self.token}"
        changed: dict[str, str | None] = {"X-Client-Role": self._role, **self._extra_headers}
        merged = {**headers, **changed}
        return {name: value for name, value in merged.items() if value is not None}

    def hang_up(self) -> None:
        """Cuts the connection without a close frame, as a broken network does."""
        assert self.socket is not None
        self.socket.transport.abort()

    def freeze(self) -> None:
        """Reads and writes nothing any more; the connection stays open, half dead."""
        assert self.socket is not None
        for task in self._tasks:
            task.cancel()
        self.socket.transport.pause_reading()

    async def tell_own(self, said: Said) -> None:
        """The platform's echo of a message of the bot's own: evidence that it was sent."""
        await self.send_event(self.world.message_event(said))

    async def handle_call(self, call: Frame) -> None:
        """Takes a call as scripted."""
        action = str(call["action"])
        self.calls.append(
            Received(action, call.get("params") or {}, call.get("echo"), time.monotonic())
        )
        about = (call.get("params") or {}).get("message_id")
        queue = self._once[action, about] or self._once[action, None]
        behaviour = queue.popleft() if queue else self._always.get(action, Behaviour())
        later = behaviour.delivered_later_seconds
        response: Frame = {}
        done = Answer()
        if behaviour.delivered and not later:
            response, done = self.perform(call)
        if behaviour.frame is not None:
            response = {**behaviour.frame, "echo": call.get("echo")}
        elif behaviour.retcode:
            response = platform.failure(call, behaviour.retcode, behaviour.message)
        elif behaviour.pretended:
            response = platform.success(call, behaviour.data)
        elif behaviour.message_id is not None:
            response["data"] = {"message_id": behaviour.message_id}
        self._changed.set()
        await self._respond(behaviour, response)
        if behaviour.delivered and later:
            await asyncio.sleep(later)
            _, done = self.perform(call)
        if behaviour.told:
            with contextlib.suppress(platform.NoConnection):
                await self.tell(done)
        self._changed.set()

    def perform(self, call: Frame) -> tuple[Frame, Answer]:
        """Does what is asked as the implementation does it, where it is told to be one."""
        made = self.implementation
        if made is None:
            return super().perform(call)
        action, params = str(call["action"]), call.get("params") or {}
        if action in made.lacks:
            return made.unknown(call, action), Answer()
        if action == "get_supported_actions":
            return made.success(platform.success(call, list(made.lists))), Answer()
        if poked := _poked(params):
            return self._poke_by_segment(call, made, poked)
        response, done = super().perform(_as_napcat_has_it(call))
        if response["retcode"]:
            return made.failure(call, response["message"]), done
        return made.success(response), done

    def _poke_by_segment(self, call: Frame, made: Implementation, user: Id) -> tuple[Frame, Answer]:
        if not made.pokes_by_segment:
            return made.failure(call, "未知的消息类型：poke"), Answer()
        params = {"user_id": user, "group_id": call["params"].get("group_id")}
        _, done = super().perform({**call, "action": "send_poke", "params": params})
        return made.success(platform.success(call, {"message_id": 0})), done

    async def _respond(self, behaviour: Behaviour, response: Frame) -> None:
        await asyncio.sleep(behaviour.after_seconds)
        if behaviour.hang_up == "before":
            self.hang_up()
        elif behaviour.answered and response:
            await self.send_frame(response)
            self.responses.append(response)
        if behaviour.hang_up == "after":
            # Closed with a close frame, since an abort could overtake the response.
            assert self.socket is not None
            await self.socket.close()


def _poked(params: Frame) -> Id:
    """Whom a message pokes that is nothing but a poke segment; empty for any other."""
    message = params.get("message")
    if not isinstance(message, list) or [one.get("type") for one in message] != ["poke"]:
        return ""
    return wire_id(message[0]["data"]["qq"])


def _as_napcat_has_it(call: Frame) -> Frame:
    """The same deed as the simulated platform knows it, which is NapCat's way."""
    params = call.get("params") or {}
    if call["action"] != "set_group_reaction":
        return call
    emoji = params.get("code", params.get("emoji_id"))
    told = {"message_id": params.get("message_id"), "emoji_id": emoji, "set": params.get("is_add")}
    return {**call, "action": "set_msg_emoji_like", "params": told}
