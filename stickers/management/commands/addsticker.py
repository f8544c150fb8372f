"""`manage.py addsticker`: a picture into the operators' catalogue."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.management.listing import json_line
from core.management.tables import printable
from core.media.pictures import MOST_BYTES
from stickers import catalogue, records
from stickers.catalogue import Details, NotAdded


class Command(BaseCommand):
    help = str(
        gettext_lazy(
            "Put a picture into the catalogue, whose stickers are usable in every chat. Of a "
            "picture that is there already it changes the meaning."
        )
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help=_("PNG, JPEG, GIF or WebP"))
        parser.add_argument(
            "--meaning", metavar="TEXT", required=True, help=_("what one says with it")
        )
        parser.add_argument(
            "--use-when", metavar="TEXT", default="", help=_("in which situations it fits")
        )
        parser.add_argument(
            "--avoid-when", metavar="TEXT", default="", help=_("in which it does not")
        )
        parser.add_argument(
            "--mood",
            metavar="WORD",
            action="append",
            default=[],
            help=_("a word for its mood; may be given several times"),
        )
        parser.add_argument(
            "--again",
            action="store_true",
            help=_("add it although it was taken down or rejected before"),
        )
        parser.add_argument(
            "--json", action="store_true", help=_("the sticker as one JSON line, nothing else")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        details = Details(options["use_when"], options["avoid_when"], options["mood"])
        try:
            sticker = catalogue.add(
                _content(options["file"]),
                meaning=options["meaning"],
                details=details,
                again=options["again"],
            )
        except NotAdded as error:
            hint = " " + _("With --again it is added all the same.") if error.is_blocked else ""
            raise CommandError(f"{error}{hint}") from None
        if options["json"]:
            self.stdout.write(json_line(records.sticker_record(sticker)))
        else:
            self.stdout.write(sticker.ref)


def _content(path: Path) -> bytes:
    """The file's bytes, as far as a picture may have them; one more tells that it is too large."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NotAdded(
            _("%(file)s can't be read: %(reason)s.")
            % {"file": printable(str(path)), "reason": reason}
        ) from None
