"""`manage.py exportskills`: write all skills out in the form that importskills reads."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from skills import exporting
from skills.errors import BadTarget


class Command(BaseCommand):
    help = str(
        gettext_lazy(
            "Write every skill as NAME/SKILL.md with its attachments; importing that changes "
            "nothing. Which chats a skill is for is not among it."
        )
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=Path, help=_("a new or empty folder, or a new .zip")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = exporting.to_path(options["path"])
        except BadTarget as error:
            raise CommandError(str(error)) from None
        self.stdout.write(_("Written: %(count)d.") % {"count": count})
