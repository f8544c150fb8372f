"""The files of a folder or a zip, read inside bounds: nothing is believed before it is read.

A zip's own words on sizes are not asked; names that leave the folder, links and devices are refused
whole, since whoever packs such a thing means no good or does not know what it holds.
"""

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.utils.translation import gettext as _

from skills import texts
from skills.errors import BadImport

MOST_FILES = 5000
LARGEST_FILE = 1024 * 1024
LARGEST_IMPORT = 64 * 1024 * 1024
LARGEST_ZIP = 32 * 1024 * 1024
_LONGEST_PATH = texts.LONGEST_NAME + 1 + texts.LONGEST_PATH
_DEEPEST = 16
# Deflate and no compression are what everybody writes; LZMA lets a header ask for 4 GiB of memory.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_ENTRY = b"PK\x01\x02"

Files = dict[str, bytes]


def read(path: Path) -> Files:
    """The files of a folder or a zip by their paths inside it, with slashes; BadImport tells why not."""
    with _told(path.name):
        if path.is_dir():
            return read_folder(path)
        if path.is_file():
            with path.open("rb") as file:
                return read_zip(file)
    if path.exists():
        raise BadImport(_("%(path)s is neither a folder nor a zip.") % {"path": path})
    raise BadImport(_("There is nothing at %(path)s.") % {"path": path})


def read_folder(folder: Path) -> Files:
    """The files of a folder; what is hidden (`.git`) is left out."""
    basket = _Basket()
    _walk(folder, "", basket)
    return basket.files


def _walk(folder: Path, prefix: str, basket: "_Basket") -> None:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if is_hidden(entry.name):
                continue
            path = safe_path(prefix + entry.name)
            if entry.is_dir(follow_symlinks=False):
                basket.count()
                _walk(Path(entry.path), f"{path}/", basket)
            elif entry.is_file(follow_symlinks=False):
                with Path(entry.path).open("rb") as file:
                    basket.put(path, file)
            else:
                raise BadImport(_("%(path)r is a link or no file.") % {"path": path})


def read_zip(file: IO[bytes]) -> Files:
    """The files of a zip; the same is left out as of a folder."""
    packed = file.read(LARGEST_ZIP + 1)
    if len(packed) > LARGEST_ZIP:
        raise BadImport(_("The zip is larger than %(limit)d MiB.") % {"limit": LARGEST_ZIP >> 20})
    basket = _Basket()
    # Every entry of the list begins so: a list of a million is refused before it is unfolded.
    basket.check(packed.count(_ENTRY))
    with _told(_("the zip")), zipfile.ZipFile(io.BytesIO(packed)) as archive:
        for entry in archive.infolist():
            path = safe_path(entry.orig_filename.removesuffix("/"))
            _check_entry(entry, path)
            if entry.is_dir() or any(map(is_hidden, path.split("/"))):
                basket.count()
                continue
            with archive.open(entry) as content:
                basket.put(path, content)
    return basket.files


def _check_entry(entry: zipfile.ZipInfo, path: str) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind and not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise BadImport(_("%(path)r is a link or no file.") % {"path": path})
    if entry.flag_bits & _ENCRYPTED:
        raise BadImport(_("%(path)r is encrypted.") % {"path": path})
    if entry.compress_type not in _METHODS:
        raise BadImport(_("%(path)r is packed by a method other than deflate.") % {"path": path})


class _Basket:
    """Files taken in until a bound is reached."""

    def __init__(self) -> None:
        self.files: Files = {}
        self._seen: set[str] = set()
        self._count = 0
        self._left = LARGEST_IMPORT

    def count(self) -> None:
        """Count what is there, though it is not kept."""
        self._count += 1
        self.check(self._count)

    def check(self, count: int) -> None:
        """Refuse more than MOST_FILES."""
        if count > MOST_FILES:
            raise BadImport(_("There are more than %(limit)d files.") % {"limit": MOST_FILES})

    def put(self, path: str, file: IO[bytes]) -> None:
        """Read one file, no further than the bounds."""
        self.count()
        if texts.folded(path) in self._seen:
            raise BadImport(_("%(path)r is there twice.") % {"path": path})
        self._seen.add(texts.folded(path))
        content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise BadImport(
                _("%(path)r is larger than %(limit)d MiB.")
                % {"path": path, "limit": LARGEST_FILE >> 20}
            )
        self._left -= len(content)
        if self._left < 0:
            raise BadImport(
                _("The files are larger than %(limit)d MiB together.")
                % {"limit": LARGEST_IMPORT >> 20}
            )
        self.files[path] = content


def safe_path(path: str) -> str:
    """The path, where it can only lie inside the folder; BadImport otherwise."""
    parts = path.split("/")
    # The shown path is a repr: nothing in it moves a cursor.
    if not path.isprintable() or len(path) > _LONGEST_PATH or len(parts) > _DEEPEST:
        raise BadImport(_("%(path)r is no path for a file of a skill.") % {"path": path[:80]})
    if "\\" in path or ":" in path or {"", ".", ".."} & set(parts):
        raise BadImport(_("%(path)r leads out of the folder.") % {"path": path})
    return path


def is_hidden(name: str) -> bool:
    """Whether a file or folder is somebody's bookkeeping: `.git`, `.DS_Store`, `__MACOSX`."""
    return (name.startswith(".") and name not in {".", ".."}) or name == "__MACOSX"


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what a reader stumbled over as a BadImport."""
    try:
        yield
    except OSError as error:
        name = Path(str(error.filename or what)).name
        raise BadImport(
            _("%(path)r can't be read: %(why)s.") % {"path": name, "why": error.strerror or error}
        ) from None
    except (
        zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError, ValueError,
    ) as error:  # fmt: skip
        if isinstance(error, BadImport):
            raise
        raise BadImport(
            _("%(what)s is no sound zip: %(why)s") % {"what": what, "why": error}
        ) from None
