"""Who asks to be let in: what the throttle of log-ins (django-axes) counts by."""

import ipaddress
from collections.abc import Mapping

from django.conf import settings
from django.http import HttpRequest

_LONGEST_NAME = 255
"""What its table takes; a person's name has 150 at most."""


def address(request: HttpRequest) -> str:
    """Where a request comes from. Behind a proxy that is the last address that the proxy adds: the
    ones before it are what the browser says. What is none there (a proxy may leave a browser's own
    header as it is) counts as the proxy's."""
    told = request.headers.get("X-Forwarded-For", "") if settings.ARISE_HTTPS else ""
    last = told.rpartition(",")[2].strip()
    return last if _is_address(last) else request.META.get("REMOTE_ADDR", "")


def name(request: HttpRequest, credentials: Mapping[str, str] | None) -> str:
    """Under which name: as the form read it, cut to what the throttle can keep."""
    asked = credentials if credentials else request.POST
    return (asked.get("username") or "")[:_LONGEST_NAME]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone means something on one machine alone
