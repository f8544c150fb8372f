"""What `manage.py doctor` says of the search for stickers."""

from collections.abc import Iterable

from django.db import DatabaseError
from django.utils.translation import gettext as _

from core import doctor
from core.doctor import Finding
from stickers import embeddings, upkeep


def search() -> Iterable[Finding]:
    """Which embedding serves, and whether stickers wait for their vector; asks no endpoint."""
    served = embeddings.described()
    try:
        waiting = upkeep.waiting()
    except DatabaseError:
        waiting = 0  # the line on the database says what is wrong
    if waiting:
        message = _("%(served)s; %(waiting)s stickers wait for their vector") % {
            "served": served,
            "waiting": waiting,
        }
        yield Finding(
            _("sticker search"), "warning", message, _("the worker makes them within minutes")
        )
    else:
        yield Finding(_("sticker search"), "ok", served)


def load() -> None:
    """Register the check; called once, when the app is ready."""
    doctor.register(search)
