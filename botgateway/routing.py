"""WebSocket addresses of the gateway."""

from typing import Any

websocket_urlpatterns: list[Any] = []
