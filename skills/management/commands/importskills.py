"""`manage.py importskills`: bring skills in from a folder or a zip."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.management.tables import padded, printable
from skills import importing
from skills.errors import BadImport
from skills.importing import Kind, Report


class Command(BaseCommand):
    help = str(
        gettext_lazy(
            "Import skills: a folder or a zip of NAME/SKILL.md with YAML front matter (name, "
            "description); other files of a skill's folder become its attachments. All of them "
            "or none; what is stored and not among them stays."
        )
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path, help=_("a folder or a zip"))
        parser.add_argument("--dry-run", action="store_true", help=_("only say what would change"))

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run: bool = options["dry_run"]
        try:
            report = importing.from_path(options["path"], dry_run=dry_run)
        except BadImport as error:
            why = printable(str(error))
            raise CommandError(_("%(why)s Nothing was changed.") % {"why": why}) from None
        for change in report.changes:
            parts = f": {', '.join(change.parts)}" if change.parts else ""
            self.stdout.write(printable(f"{padded(change.kind.label, 9)}  {change.name}{parts}"))
        self.stdout.write(told(report, dry_run=dry_run))


def told(report: Report, *, dry_run: bool) -> str:
    """The sums of a report in one sentence."""
    form = (
        _("Would be new: %(new)d, changed: %(changed)d, unchanged: %(unchanged)d.")
        if dry_run
        else _("New: %(new)d, changed: %(changed)d, unchanged: %(unchanged)d.")
    )
    line = form % {kind.value: report.count(kind) for kind in Kind}
    if report.left_out:
        line += " " + _("Left out, since in no skill's folder: %(count)d.") % {
            "count": len(report.left_out)
        }
    return line
