"""`manage.py doctor`: what works, what does not, and what to do about it."""

import contextlib
import json
from argparse import ArgumentParser
from dataclasses import asdict, replace
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arise_site import probes
from core import doctor, text
from core.doctor import Finding
from core.management.tables import padded

_MARKS = {
    "ok": gettext_lazy("ok"),
    "warning": gettext_lazy("warning"),
    "broken": gettext_lazy("BROKEN"),
}
_MARK_COLUMNS = 7


class Command(BaseCommand):
    help = str(
        gettext_lazy(
            "Checks everything that arise needs, a line each with what to do; exit 1 when broken."
        )
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help=_("print JSON lines and nothing else")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        as_json: bool = options["json"]
        is_broken = False
        # What programs read is the same under every locale.
        with translation.override("en") if as_json else contextlib.nullcontext():
            for finding in doctor.findings():
                shown = _without_secrets(finding)
                is_broken = is_broken or shown.state == "broken"
                self._print(shown, as_json=as_json)
        if is_broken:
            raise SystemExit(1)

    def _print(self, finding: Finding, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(asdict(finding), ensure_ascii=False))
            return
        styles = {
            "ok": self.style.SUCCESS,
            "warning": self.style.WARNING,
            "broken": self.style.ERROR,
        }
        mark = styles[finding.state](padded(str(_MARKS[finding.state]), _MARK_COLUMNS))
        self.stdout.write(f"{mark} {finding.name}: {finding.message}")
        if finding.advice:
            self.stdout.write(f"        -> {finding.advice}")


def _without_secrets(finding: Finding) -> Finding:
    """Whatever a check says goes through here, a crash of its own included."""
    hidden = probes.secrets()
    return replace(
        finding,
        message=text.one_line(text.redact(finding.message, hidden), 500),
        advice=text.one_line(text.redact(finding.advice, hidden), 500),
    )
