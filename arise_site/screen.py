"""What `manage.py up` shows: its own steps on standard output, the programs' lines on standard error."""

import contextlib
from collections.abc import Callable

from django.conf import settings

from arise_site import addresses, database
from arise_site.first_operator import FirstOperator


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
        self.say("\narise is ready")
        self.say(f"  console    {addresses.console_url()}")
        self.say(f"  WebSocket  {addresses.websocket_url()}")
        if operator is None:
            self.say(
                "  operator   as made before (manage.py changepassword NAME sets a new password)"
            )
        elif operator.password:
            self.say(f"  operator   {operator.username}")
            self.say(f"  password   {operator.password}   (shown only this once)")
        else:
            self.say(f"  operator   {operator.username}, password as in ARISE_ADMIN_PASSWORD")
        self.say(f"  model      {model_line(demo_model_url)}")
        if not addresses.is_loopback(settings.ARISE_HOST):
            self.say(f"  answers    under {', '.join(dict.fromkeys(settings.ALLOWED_HOSTS))}")
        self.say("Ctrl-C stops it.\n")


def model_line(demo_model_url: str) -> str:
    if demo_model_url:
        return (
            "the built-in demo model: scripted answers, no language model"
            " (set OPENAI_API_KEY or OPENAI_BASE_URL for a real one)"
        )
    where = settings.ARISE_MODEL_BASE_URL or "https://api.openai.com/v1"
    return f"{settings.ARISE_CHAT_MODEL} at {database.place(where)}"
