"""The WebSocket of the playground's page: another way in, and then what every implementation has."""

import time

from botgateway import database
from botgateway.auth import Admission, Handshake
from botgateway.consumers import PROCESS, OneBotConsumer, handshake_of
from botgateway.gateway import WITHDRAWN
from botgateway.playground import admission

ASKED_AGAIN_SECONDS = 4.0
"""A session may end, or a right be taken away, while the page is open."""


class PlaygroundConsumer(OneBotConsumer):
    """One open page."""

    asked_at = 0.0

    def admit(self, handshake: Handshake) -> Admission | str:
        self.asked_at = time.monotonic()
        return admission.admit(handshake, process=PROCESS)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if time.monotonic() - self.asked_at > ASKED_AGAIN_SECONDS:
            self.asked_at = time.monotonic()
            bot = await database.run(admission.bot_behind, handshake_of(self.scope))
            if isinstance(bot, str):
                await self.close(code=WITHDRAWN, reason=bot)
                return
        await super().receive(text_data, bytes_data)
