"""The ASGI entry: HTTP to Django, WebSocket to the gateway."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arise_site.settings")
http = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402  (Django must be set up first)

from botgateway.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter({"http": http, "websocket": URLRouter(websocket_urlpatterns)})
