"""`manage.py doctor`: what works, what does not, and what to do about it."""

import json
from argparse import ArgumentParser
from dataclasses import asdict, replace
from typing import Any

from django.core.management.base import BaseCommand

from arise_site import probes
from core import doctor, text
from core.doctor import Finding

_MARKS = {"ok": "ok     ", "warning": "warning", "broken": "BROKEN "}


class Command(BaseCommand):
    help = "Checks everything that arise needs, a line each with what to do; exit 1 when broken."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON lines and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        is_broken = False
        for finding in doctor.findings():
            shown = _without_secrets(finding)
            is_broken = is_broken or shown.state == "broken"
            self._print(shown, as_json=options["json"])
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
        mark = styles[finding.state](_MARKS[finding.state])
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
