"""What `manage.py up` shows: its own steps on standard output, the programs' lines on standard error."""

import contextlib
from collections.abc import Callable

from django.conf import settings
from django.utils.translation import gettext as _

from arise_site import addresses, database
from arise_site.first_operator import FirstOperator
from core.management.tables import padded

_NAME_COLUMNS = 11


class Screen:
    """Lines for a person. A terminal that has gone away must not stop what runs."""

    def __init__(self, out: Callable[[str], object], err: Callable[[str], object]) -> None:
        self._out = out
        self._err = err

    def say(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._out(text)

    def line_of(self, name: str, line: str) -> None:
        if not line.strip():
            return
        with contextlib.suppress(OSError, ValueError):
            self._err(f"{name}| {line}")

    def ready(self, operator: FirstOperator | None, demo_model_url: str) -> None:
        self.say("\n" + _("arise is ready"))
        lines = [
            (_("console"), addresses.console_url()),
            (_("WebSocket"), addresses.websocket_url()),
            *_operator_lines(operator),
            (_("model"), model_line(demo_model_url)),
        ]
        if not addresses.is_loopback(settings.ARISE_HOST):
            names = ", ".join(dict.fromkeys(settings.ALLOWED_HOSTS))
            lines.append((_("answers"), _("under %(names)s") % {"names": names}))
        for name, told in lines:
            self.say(f"  {padded(name, _NAME_COLUMNS)}{told}")
        self.say(_("Ctrl-C stops it.") + "\n")


def _operator_lines(operator: FirstOperator | None) -> list[tuple[str, str]]:
    if operator is None:
        before = _("as made before (manage.py changepassword NAME sets a new password)")
        return [(_("operator"), before)]
    if not operator.password:
        told = _("%(name)s, password as in ARISE_ADMIN_PASSWORD") % {"name": operator.username}
        return [(_("operator"), told)]
    once = _("%(password)s   (shown only this once)") % {"password": operator.password}
    return [(_("operator"), operator.username), (_("password"), once)]


def model_line(demo_model_url: str) -> str:
    if demo_model_url:
        return _(
            "the built-in demo model: scripted answers, no language model"
            " (set OPENAI_API_KEY or OPENAI_BASE_URL for a real one)"
        )
    where = settings.ARISE_MODEL_BASE_URL or "https://api.openai.com/v1"
    return _("%(model)s at %(where)s") % {
        "model": settings.ARISE_CHAT_MODEL,
        "where": database.place(where),
    }
