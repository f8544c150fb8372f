"""/healthz: the process lives. /readyz: the parts that it needs answer."""

import logging
import threading
import time

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from arise_site import probes

logger = logging.getLogger(__name__)
SHARED_SECONDS = 1.0


class SharedLook:
    """One look at all parts serves whoever asks within a second, so that polling costs little."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, str] = {}
        self._was_ready = False
        self.forget()

    def __call__(self) -> dict[str, str]:
        with self._lock:
            if time.monotonic() - self._looked_at >= SHARED_SECONDS:
                self._take(probes.why_not())
            return self._found

    def forget(self) -> None:
        """Have the next one look anew."""
        self._looked_at = -SHARED_SECONDS

    def _take(self, found: dict[str, str]) -> None:
        if found and found != self._found:
            reasons = "; ".join(f"{part}: {reason}" for part, reason in found.items())
            # At the start it only tells what is still coming up.
            level = logging.WARNING if self._was_ready else logging.INFO
            logger.log(level, "not ready: %s", reasons)
        elif self._found and not found:
            logger.info("ready")
        self._was_ready = self._was_ready or not found
        self._found = found
        self._looked_at = time.monotonic()


look = SharedLook()


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
    response = JsonResponse({"status": "unavailable", "failing": silent}, status=503)
    # Django would log each 503 as an error; whoever polls through a start asks many times, and
    # the look has logged the change.
    setattr(response, "_has_been_logged", True)  # noqa: B010  (Django's own mark, not typed)
    return response
