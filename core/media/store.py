"""The media store: files under the sha256 of their bytes, each with its row.

A file that nothing refers to any more goes. Who refers to files tells it by `register_use`; a lock
per digest keeps putting and removing the same bytes apart. Bytes that nobody has looked at wait in
a spool beside the store, without a row, for a day at most.
"""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core.database import lock
from core.media.pictures import Examined, View
from core.models import ItemMedia, StoredMedia

UNUSED_KEPT = timedelta(days=1)
LEAST_FREE = 64 * 1024 * 1024  # bytes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SPOOL = "spool"
_BATCH = 500

Use = Callable[[Collection[str]], set[str]]
_uses: list[Use] = []


def register_use(use: Use) -> Use:
    """Add who says which of some digests something refers to (usable as a decorator)."""
    _uses.append(use)
    return use


@register_use
def _views(digests: Collection[str]) -> set[str]:
    return set(ItemMedia.objects.filter(view__in=digests).values_list("view", flat=True))


def put(content: bytes, examined: Examined) -> str:
    """Keep bytes that were examined; their sha256. Once they are kept, it changes nothing."""
    row = StoredMedia(
        media_type=examined.media_type,
        width=examined.width,
        height=examined.height,
        frames=examined.frames,
    )
    return _put(content, row)


def put_view(view: View) -> str:
    """Keep the picture that models are shown; its sha256."""
    row = StoredMedia(media_type=view.media_type, width=view.width, height=view.height)
    return _put(view.content, row)


def has_room() -> bool:
    """Whether the disk has room for some more; asked before something is paid for."""
    place = Path(settings.MEDIA_ROOT)
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free >= LEAST_FREE


def spool(content: bytes) -> str:
    """Keep bytes as they came in, unexamined, until somebody fetches them as `media:<sha256>`."""
    digest = _digest(content)
    if not _spooled(digest).exists():
        _write(_spooled(digest), content)
    return digest


def read(sha256: str) -> bytes | None:
    """The bytes of that digest, from the store or the spool; None where they are not there, and for
    what is no digest."""
    if not is_digest(sha256):
        return None
    for place in (_kept(sha256), _spooled(sha256)):
        try:
            return place.read_bytes()
        except FileNotFoundError:
            continue
    return None


def remove(sha256: str) -> None:
    """Remove a file, once the running transaction is committed, if nothing refers to it then."""
    transaction.on_commit(partial(_remove_unused, sha256))


def prune() -> int:
    """Remove what nothing refers to and was not put for a day; how many files went.

    A file without a row goes too: whoever put it died, or failed, before that was committed.
    """
    before = timezone.now() - UNUSED_KEPT
    gone = 0
    last = ""
    while digests := _older(before, after=last):
        last = digests[-1]
        unused = set(digests) - _used(digests)
        gone += sum(_remove_unused(digest, before) for digest in sorted(unused))
    gone += sum(_remove_unused(digest, before) for digest in _without_row())
    for path in _old_files(_SPOOL + "/*/*"):
        path.unlink(missing_ok=True)
        gone += 1
    return gone


def _older(before: datetime, *, after: str) -> list[str]:
    rows = StoredMedia.objects.filter(created_at__lt=before, sha256__gt=after).order_by("sha256")
    return list(rows.values_list("sha256", flat=True)[:_BATCH])


def _without_row() -> Iterator[str]:
    for folder in sorted(Path(settings.MEDIA_ROOT).glob("[0-9a-f][0-9a-f]")):
        names = {path.name for path in _old_files(f"{folder.name}/*") if is_digest(path.name)}
        rows = StoredMedia.objects.filter(sha256__in=names)
        yield from sorted(names.difference(rows.values_list("sha256", flat=True)))


def _put(content: bytes, row: StoredMedia) -> str:
    row.sha256, row.size = _digest(content), len(content)
    with transaction.atomic():
        lock(f"media:{row.sha256}")
        # A row that was there already counts as put just now: it is about to be referred to.
        StoredMedia.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["sha256"], update_fields=["created_at"]
        )
        if not _kept(row.sha256).exists():
            _write(_kept(row.sha256), content)
    return row.sha256


def _remove_unused(sha256: str, before: datetime | None = None) -> bool:
    """Whether it went; not what was put since `before` and is about to be referred to."""
    with transaction.atomic():
        lock(f"media:{sha256}")
        row = StoredMedia.objects.filter(sha256=sha256)
        is_new = before is not None and row.filter(created_at__gte=before).exists()
        if is_new or sha256 in _used([sha256]):
            return False
        _kept(sha256).unlink(missing_ok=True)
        _spooled(sha256).unlink(missing_ok=True)
        row.delete()
    return True


def _used(digests: Collection[str]) -> set[str]:
    return set().union(*(use(digests) for use in _uses))


def is_digest(text: str) -> bool:
    """Whether a text is the name of a file here, and nothing that leads elsewhere."""
    return _DIGEST.fullmatch(text) is not None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _kept(sha256: str) -> Path:
    return Path(settings.MEDIA_ROOT) / sha256[:2] / sha256


def _spooled(sha256: str) -> Path:
    return Path(settings.MEDIA_ROOT) / _SPOOL / sha256[:2] / sha256


def _old_files(pattern: str) -> Iterator[Path]:
    before = time.time() - UNUSED_KEPT.total_seconds()
    for path in Path(settings.MEDIA_ROOT).glob(pattern):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                yield path


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, whatever dies meanwhile."""
    beginning = Path(settings.MEDIA_ROOT) / _SPOOL / "new"
    for folder in (beginning, path.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=beginning, delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).rename(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    entries = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(entries)
    finally:
        os.close(entries)
