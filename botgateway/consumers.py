"""The WebSocket of a OneBot implementation: accept, decode, hand on. No rules live here, and no
answer is waited for: Channels runs one handler at a time, so the answer could never be read."""

import logging
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from botgateway import auth, database, frames, gateway, ingest
from botgateway.actions import Response
from botgateway.auth import Admission, Handshake
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from botgateway.events import (
    AccountEvent,
    BanEvent,
    Event,
    HeartbeatEvent,
    LifecycleEvent,
    MemberEvent,
    MessageEvent,
)
from botgateway.frames import Invalid
from core import failpoints, standing

logger = logging.getLogger(__name__)
PROCESS = f"{socket.gethostname()}:{os.getpid()}"


class OneBotConsumer(AsyncWebsocketConsumer):
    """One socket of one bot."""

    connection: LiveConnection | None = None

    async def connect(self) -> None:
        """Refuse before accepting (the client sees HTTP 403), or accept and only then go on."""
        handshake = handshake_of(self.scope)
        admission = await database.run(self.admit, handshake)
        if not isinstance(admission, Admission):
            logger.warning(
                "a connection of bot %r from %s was refused: %s",
                handshake.self_id,
                handshake.remote_address,
                admission,
            )
            await self.close()
            return
        await self.accept()
        self.connection = LiveConnection(
            number=admission.connection_number,
            bot_id=admission.bot_id,
            self_id=admission.self_id,
            role=admission.role,
            calls=Calls(self._send_text),
            close=self._close,
            user_agent=handshake.user_agent,
            dialect=admission.dialect,
            version=admission.version,
            reported_own=admission.reported_own,
        )
        self.gateway = gateway.running()
        await self.gateway.open(self.connection)

    def admit(self, handshake: Handshake) -> Admission | str:
        """Who it is, or why nobody is let in; asked in a thread."""
        return auth.admit(handshake, process=PROCESS)

    async def disconnect(self, code: int) -> None:
        """The socket is gone, by whichever side."""
        if self.connection is not None:
            await self.gateway.close(self.connection, code)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One frame. Whatever it holds, the connection stays."""
        connection = self.connection
        if connection is None:
            return
        connection.last_frame = time.monotonic()
        try:
            await self._take(connection, text_data if text_data is not None else bytes_data or b"")
        except Exception:
            logger.exception("a frame of bot %s could not be taken", connection.self_id)

    async def _take(self, connection: LiveConnection, raw: str | bytes) -> None:
        match frames.decode(raw):
            case Response() as response:
                if not connection.calls.resolve(response):
                    self.gateway.take_late(connection, response)
            case Invalid(reason=reason):
                logger.warning("bot %s: a frame was dropped: %s", connection.self_id, reason)
            case Event() as event:
                await self._event(connection, event)

    async def _event(self, connection: LiveConnection, event: Event) -> None:
        if event.self_id is not None and not connection.event_self_id:
            # onebots maps ids: its header differs from its events, which say who they are of.
            connection.event_self_id = event.self_id.value
        if event.self_id is not None and event.self_id.value != connection.event_self_id:
            logger.warning("bot %s: an event of another account was dropped", connection.self_id)
            return
        connection.clock.learn(event)
        match event:
            case HeartbeatEvent():
                connection.heartbeat_seconds = event.interval_seconds or 0
                if event.online is False or connection.dialect.heartbeat_tells_login:
                    await _learn_login(connection, event.online)
            case AccountEvent():
                await _learn_login(connection, event.online)
            case LifecycleEvent():
                self.gateway.dispatcher.wake(connection.bot_id)
            case _:
                self._learn(connection, event)
                received = ingest.received(
                    event,
                    bot_id=connection.bot_id,
                    self_id=connection.event_self_id or connection.self_id,
                    clock=connection.clock,
                )
                failpoints.reach("event_read")
                if received is not None:
                    await self.gateway.inlet.put(received)

    def _learn(self, connection: LiveConnection, event: Event) -> None:
        """What an event tells of the connection, and that the bot's place in a group is to be asked."""
        if isinstance(event, MessageEvent):
            if event.is_own:
                connection.reports_own = True
            if event.kind == "group" and event.chat_id is not None:
                self.gateway.learn_place(connection, event.chat_id)
        elif isinstance(event, MemberEvent):
            if event.joined and event.is_self(event.user_id) and event.group_id is not None:
                self.gateway.learn_again(connection, event.group_id)
        elif isinstance(event, BanEvent):
            self.gateway.learn_mute(connection, event)

    async def _send_text(self, text: str) -> None:
        await self.send(text_data=text)

    async def _close(self, code: int, reason: str) -> None:
        await self.close(code=code, reason=reason)


async def _learn_login(connection: LiveConnection, online: bool | None) -> None:
    """Keep whether the account is logged in, where that is told and is not what was told before."""
    if online is not None and online != connection.online:
        await database.run(standing.keep_login, connection.bot_id, is_logged_out=not online)
    connection.online = online


class NowhereConsumer(AsyncWebsocketConsumer):
    """Any other address: refused like a wrong token, without a traceback in the log."""

    async def connect(self) -> None:
        await self.close()


def handshake_of(scope: Mapping[str, Any]) -> Handshake:
    """What an ASGI scope says of the request."""
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }
    client = scope.get("client") or ("", 0)
    return Handshake(headers, scope.get("query_string", b"").decode("latin-1"), str(client[0]))
