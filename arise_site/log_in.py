"""Who asks to be let in: what the throttle of log-ins (django-axes) counts by."""

from django.conf import settings
from django.http import HttpRequest


def address(request: HttpRequest) -> str:
    """Where a request comes from. Behind a proxy that is the last address that the proxy adds: the
    ones before it are what the browser says."""
    told = request.headers.get("X-Forwarded-For", "") if settings.ARISE_HTTPS else ""
    return told.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")
