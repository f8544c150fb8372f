"""WebSocket addresses of the gateway, with and without a trailing slash."""

from typing import Any

from django.urls import re_path

from botgateway.consumers import NowhereConsumer, OneBotConsumer
from botgateway.playground.consumer import PlaygroundConsumer

# Channels routes ASGI applications through Django's patterns, whose types know views only.
_onebot: Any = OneBotConsumer.as_asgi()
_playground: Any = PlaygroundConsumer.as_asgi()
_nowhere: Any = NowhereConsumer.as_asgi()
websocket_urlpatterns: list[Any] = [
    re_path(r"^onebot/v11/ws/?$", _onebot),
    re_path(r"^admin/playground/ws/?$", _playground),
    re_path(r"", _nowhere),
]
