"""The media store: put once, read by digest, removed only where nothing refers to it."""

import hashlib
import os
import time
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from core.media import store
from core.media.pictures import Examined, View
from core.models import ItemMedia, StoredMedia
from tests.factories import make_item

pytestmark = pytest.mark.django_db
CONTENT = b"some picture"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
EXAMINED = Examined("image/png", 3, 2, 1, (), View("image/png", b"view", 3, 2))


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


def age(digest: str) -> None:
    StoredMedia.objects.filter(pk=digest).update(created_at=timezone.now() - timedelta(days=2))


def test_what_was_put_is_read_by_its_digest(folder: Path) -> None:
    assert store.put(CONTENT, EXAMINED) == DIGEST
    assert store.read(DIGEST) == CONTENT
    assert (folder / DIGEST[:2] / DIGEST).read_bytes() == CONTENT
    row = StoredMedia.objects.get()
    assert (row.sha256, row.media_type, row.size) == (DIGEST, "image/png", len(CONTENT))
    assert (row.width, row.height, row.frames) == (3, 2, 1)


def test_putting_the_same_bytes_again_keeps_one_row_and_one_file(folder: Path) -> None:
    store.put(CONTENT, EXAMINED)
    store.put(CONTENT, EXAMINED)
    assert StoredMedia.objects.count() == 1
    assert [path.name for path in folder.rglob("*") if path.is_file()] == [DIGEST]


def test_a_file_that_was_lost_is_written_again(folder: Path) -> None:
    store.put(CONTENT, EXAMINED)
    (folder / DIGEST[:2] / DIGEST).unlink()
    assert store.read(DIGEST) is None
    store.put(CONTENT, EXAMINED)
    assert store.read(DIGEST) == CONTENT


def test_a_view_is_kept_with_its_own_row() -> None:
    digest = store.put_view(View("image/jpeg", b"seen", 30, 20))
    assert store.read(digest) == b"seen"
    assert StoredMedia.objects.get(pk=digest).width == 30


def test_a_file_goes_where_nothing_refers_to_it(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    store.put(CONTENT, EXAMINED)
    with django_capture_on_commit_callbacks(execute=True):
        store.remove(DIGEST)
        assert store.read(DIGEST) == CONTENT  # until what refers to it is surely gone
    assert store.read(DIGEST) is None
    assert not StoredMedia.objects.exists()


def test_a_file_that_is_shown_for_an_item_stays(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    store.put(CONTENT, EXAMINED)
    ItemMedia.objects.create(item=make_item(), index=0, sha256="f" * 64, view=DIGEST)
    with django_capture_on_commit_callbacks(execute=True):
        store.remove(DIGEST)
    assert store.read(DIGEST) == CONTENT


def test_pruning_takes_old_files_that_nothing_refers_to() -> None:
    used = store.put(b"used", EXAMINED)
    ItemMedia.objects.create(item=make_item(), index=0, view=used)
    unused, fresh = store.put(b"unused", EXAMINED), store.put(b"fresh", EXAMINED)
    age(used)
    age(unused)
    assert store.prune() == 1
    assert store.read(unused) is None
    assert store.read(used) == b"used"
    assert store.read(fresh) == b"fresh"
    store.put(b"unused", EXAMINED)
    assert store.prune() == 0


def test_what_is_put_again_counts_as_put_just_now() -> None:
    """Who put it is about to refer to it."""
    digest = store.put(CONTENT, EXAMINED)
    age(digest)
    store.put(CONTENT, EXAMINED)
    assert store.prune() == 0


def test_spooled_bytes_have_no_row_and_go_after_a_day(folder: Path) -> None:
    digest = store.spool(CONTENT)
    assert store.read(digest) == CONTENT
    assert not StoredMedia.objects.exists()
    assert store.prune() == 0
    path = folder / "spool" / digest[:2] / digest
    os.utime(path, (time.time() - 90_000,) * 2)
    assert store.prune() == 1
    assert store.read(digest) is None


def test_a_file_whose_row_was_never_committed_goes_after_a_day(folder: Path) -> None:
    """Who put it died before, or what he put it for failed."""
    used = store.put(b"used", EXAMINED)
    ItemMedia.objects.create(item=make_item(), index=0, view=used)
    with transaction.atomic():
        store.put(CONTENT, EXAMINED)
        transaction.set_rollback(True)
    path = folder / DIGEST[:2] / DIGEST
    assert path.exists()
    assert store.prune() == 0
    for kept in (path, folder / used[:2] / used):
        os.utime(kept, (time.time() - 90_000,) * 2)
    assert store.prune() == 1
    assert (store.read(DIGEST), store.read(used)) == (None, b"used")


def test_what_is_put_while_it_is_pruned_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(CONTENT, EXAMINED)
    age(DIGEST)
    used = store._used

    def put_meanwhile(digests: Collection[str]) -> set[str]:
        monkeypatch.setattr(store, "_used", used)
        store.put(CONTENT, EXAMINED)
        return used(digests)

    monkeypatch.setattr(store, "_used", put_meanwhile)
    assert store.prune() == 0
    assert store.read(DIGEST) == CONTENT


def test_only_a_digest_names_a_file(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "home" / "var" / "media"
    settings.MEDIA_ROOT.mkdir(parents=True)
    (tmp_path / "home" / "secret_key").write_bytes(b"secret")
    for name in ("../secret_key", "/etc/hostname", "", DIGEST.upper(), DIGEST + "\n"):
        assert store.read(name) is None


def test_whoever_refers_to_files_is_asked() -> None:
    @store.register_use
    def of_an_app(digests: object) -> set[str]:
        return {DIGEST}

    try:
        store.put(CONTENT, EXAMINED)
        age(DIGEST)
        assert store.prune() == 0
    finally:
        store._uses.remove(of_an_app)
