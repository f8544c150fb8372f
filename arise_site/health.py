"""/healthz: the process lives. /readyz: the parts that it needs answer."""

import threading
import time

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from arise_site import probes

_SHARED_SECONDS = 1.0


class _SharedLook:
    """One look at all parts serves whoever asks within a second, so that polling costs little."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looked_at = -_SHARED_SECONDS
        self._found: dict[str, str] = {}

    def __call__(self) -> dict[str, str]:
        with self._lock:
            if time.monotonic() - self._looked_at >= _SHARED_SECONDS:
                self._found = probes.why_not()
                self._looked_at = time.monotonic()
            return self._found


look = _SharedLook()


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when everything answers, else 503 with the parts that do not and why, in a line each."""
    silent = look()
    if not silent:
        return JsonResponse({"status": "ready"})
    return JsonResponse({"status": "unavailable", "failing": silent}, status=503)
