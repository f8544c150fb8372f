"""What `manage.py doctor` says of the search for stickers."""

from collections.abc import Iterable

from django.db import DatabaseError

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
        message = f"{served}; {waiting} stickers wait for their vector"
        yield Finding("sticker search", "warning", message, "the worker makes them within minutes")
    else:
        yield Finding("sticker search", "ok", served)


def load() -> None:
    """Register the check; called once, when the app is ready."""
    doctor.register(search)
