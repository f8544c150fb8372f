"""`manage.py up`: start everything that is missing and keep it running."""

import ctypes
import signal
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arise_site.database import SetUpError
from arise_site.embedded.accounts import EmbeddedError
from arise_site.processes import PR_SET_PDEATHSIG
from arise_site.screen import Screen
from arise_site.supervisor import StartError, Supervisor


class Command(BaseCommand):
    help = str(
        gettext_lazy(
            "Starts what is missing (the embedded Postgres and broker, unless DATABASE_URL and REDIS_URL"
            " name others), migrates, makes the first operator, then runs web, worker and scheduler until"
            " Ctrl-C or SIGTERM. PORT, HOST and the rest come from the environment or .env."
        )
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--with-parent",
            action="store_true",
            help=_(
                "Stop as well when the process that started this one ends (used by `make run`)."
            ),
        )

    def handle(self, *args: Any, with_parent: bool = False, **options: Any) -> None:
        if with_parent and sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        try:
            Supervisor(Screen(self._out, self._err)).run()
        except (StartError, SetUpError, EmbeddedError) as error:
            self.stderr.write(f"arise: {error}")
            sys.exit(1)

    def _out(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def _err(self, text: str) -> None:
        self.stderr.write(text, style_func=str)
        self.stderr.flush()
