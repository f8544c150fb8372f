"""The catalogue: what operators add once and every chat may use, and what they may not add."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from core.media import store
from core.models import StoredMedia
from stickers import acts, catalogue, embeddings, sending
from stickers.catalogue import Details, NotAdded
from stickers.embeddings import Prepared
from stickers.models import Fingerprint, Picture, PictureKey, Sticker, StickerVector
from stickers.takedown import take_down
from tests.core.media.drawing import animation, picture
from tests.factories import make_chat

pytestmark = pytest.mark.django_db
PICTURE = picture(size=(128, 128), color="red")
REENCODED = picture("WEBP", size=(128, 128), color="red", lossless=True)


@pytest.fixture(autouse=True)
def _store(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"

    def prepare(text: str) -> Prepared:
        return Prepared("a-model", [1.0, 0.0], embeddings.digest(text))

    monkeypatch.setattr(embeddings, "prepare", prepare)


def test_a_picture_becomes_a_sticker_of_every_chat() -> None:
    details = Details("somebody passed", "somebody failed", ["happy", "开心"], "GG")
    sticker = catalogue.add(PICTURE, meaning=" well done ", details=details)
    assert (sticker.chat, sticker.state, sticker.meaning) == (None, "stored", "well done")
    assert (sticker.use_when, sticker.avoid_when) == ("somebody passed", "somebody failed")
    assert (sticker.moods, sticker.words) == (["happy", "开心"], "GG")
    assert store.read(sticker.picture.sha256) == PICTURE
    assert StoredMedia.objects.get(sha256=sticker.picture.sha256).media_type == "image/png"
    assert sticker.picture.verdict == "stored"
    assert Fingerprint.objects.filter(picture=sticker.picture).exists()
    keys = set(sticker.picture.keys.values_list("key", flat=True))
    assert {key.partition(":")[0] for key in keys} == {"sha256", "md5"}
    assert sticker.file_id in keys
    assert StickerVector.objects.get().scope == embeddings.CATALOGUE
    assert sending.find(make_chat(), sticker.ref) is not None


def test_an_animation_is_kept_to_the_byte() -> None:
    moving = animation()
    assert store.read(catalogue.add(moving, meaning="hello").picture.sha256) == moving


@pytest.mark.parametrize("second", [PICTURE, REENCODED])
def test_the_same_picture_again_has_one_row_and_another_meaning(second: bytes) -> None:
    first = catalogue.add(PICTURE, meaning="well done")
    again = catalogue.add(second, meaning="good night")
    assert (again.pk, again.ref, again.meaning) == (first.pk, first.ref, "good night")
    assert (Picture.objects.count(), Sticker.objects.count()) == (1, 1)
    (vector,) = StickerVector.objects.all()
    assert vector.text_digest == embeddings.digest("good night")


def test_what_a_chat_learned_is_added_beside_it() -> None:
    added = catalogue.add(PICTURE, meaning="well done")
    chat = make_chat()
    Sticker.objects.filter(pk=added.pk).update(chat=chat, meaning="their joke")
    common = catalogue.add(PICTURE, meaning="well done")
    assert common.pk != added.pk
    assert common.picture_id == added.picture_id
    assert Sticker.objects.get(chat=chat).meaning == "their joke"


@pytest.mark.django_db(transaction=True)
def test_bytes_that_a_chat_lets_go_of_in_that_moment_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    own = catalogue.add(PICTURE, meaning="their joke")
    Sticker.objects.filter(pk=own.pk).update(chat=make_chat())
    read = store.read

    def reject() -> None:
        try:
            acts.reject(own, by=None)
        finally:
            connection.close()

    rejecting = threading.Thread(target=reject)

    def meanwhile(sha256: str) -> bytes | None:
        content = read(sha256)
        rejecting.start()
        rejecting.join(0.5)  # it waits for this transaction, or has overtaken it
        return content

    monkeypatch.setattr(store, "read", meanwhile)
    added = catalogue.add(PICTURE, meaning="well done")
    rejecting.join()
    assert read(added.picture.sha256) == PICTURE


def test_what_is_just_being_learned_is_not_added() -> None:
    catalogue.add(PICTURE, meaning="well done")
    Sticker.objects.all().delete()
    Picture.objects.update(verdict="learning")
    with pytest.raises(NotAdded, match="being learned"):
        catalogue.add(PICTURE, meaning="well done", again=True)


@pytest.mark.parametrize("content", [PICTURE, REENCODED])
def test_what_was_taken_down_comes_back_only_again(content: bytes) -> None:
    take_down(catalogue.add(PICTURE, meaning="well done").picture, reason="operator")
    with pytest.raises(NotAdded, match="taken down") as refused:
        catalogue.add(content, meaning="well done")
    assert refused.value.is_blocked
    assert not Sticker.objects.exists()
    sticker = catalogue.add(content, meaning="well done", again=True)
    assert sticker.picture.verdict == "stored"
    assert store.read(sticker.picture.sha256) == content


@pytest.mark.parametrize("verdict", ["sensitive", "vetoed", "failed", "lost"])
def test_what_was_rejected_for_what_it_is_comes_only_again(verdict: str) -> None:
    catalogue.add(PICTURE, meaning="well done")
    Sticker.objects.all().delete()
    Picture.objects.update(verdict=verdict, sha256="")
    if verdict in ("sensitive", "vetoed"):
        with pytest.raises(NotAdded):
            catalogue.add(PICTURE, meaning="well done")
    assert catalogue.add(PICTURE, meaning="well done", again=True).picture.verdict == "stored"


@pytest.mark.parametrize("meaning", ["", " \n", "x" * 501])
def test_a_meaning_is_needed_and_not_too_much_of_it(meaning: str) -> None:
    with pytest.raises(NotAdded):
        catalogue.add(PICTURE, meaning=meaning)
    assert (Picture.objects.count(), StoredMedia.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "no picture"), (b"<svg/>", "no picture"), (b"\x89PNG\r\n\x1a\n" + b"x" * 90, "picture")],
)
def test_what_is_no_picture_is_not_added(content: bytes, told: str) -> None:
    with pytest.raises(NotAdded, match=told):
        catalogue.add(content, meaning="well done")
    assert not Picture.objects.exists()


def test_a_sticker_is_added_without_a_vector_where_none_can_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embeddings, "prepare", lambda text: None)
    assert catalogue.add(PICTURE, meaning="well done").state == "stored"
    assert not StickerVector.objects.exists()


def add(*arguments: str) -> str:
    out = io.StringIO()
    call_command("addsticker", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cat.png"
    path.write_bytes(PICTURE)
    return path


def test_the_command_prints_the_ref_and_nothing_else(file: Path) -> None:
    told = add(str(file), "--meaning", "well done", "--use-when", "always", "--mood", "happy")
    sticker = Sticker.objects.get()
    assert told == f"{sticker.ref}\n"
    assert (sticker.use_when, sticker.moods) == ("always", ["happy"])
    assert add(str(file), "--meaning", "well done") == told


def test_the_command_prints_the_sticker_as_json(file: Path) -> None:
    told: dict[str, Any] = json.loads(add(str(file), "--meaning", "well done", "--json"))
    assert (told["chat"], told["meaning"], told["state"]) == (None, "well done", "stored")


def test_the_command_says_in_one_line_what_is_wrong(file: Path, tmp_path: Path) -> None:
    text, large = tmp_path / "a.txt", tmp_path / "large.png"
    text.write_text("hello")
    large.write_bytes(PICTURE + b"\0" * 9 * 2**20)
    for path, told in (
        (tmp_path / "none.png", "can't be read"),
        (tmp_path, "can't be read"),
        (text, "no picture"),
        (large, "larger than 8 MiB"),
    ):
        with pytest.raises(CommandError, match=told) as error:
            add(str(path), "--meaning", "well done")
        assert "\n" not in str(error.value)
    with pytest.raises(CommandError, match="needs a meaning"):
        add(str(file), "--meaning", " ")
    assert not Picture.objects.exists()


def test_the_command_adds_what_was_taken_down_only_again(file: Path) -> None:
    add(str(file), "--meaning", "well done")
    take_down(Picture.objects.get(), by=User.objects.create(username="admin"), reason="operator")
    with pytest.raises(CommandError, match="--again"):
        add(str(file), "--meaning", "well done")
    add(str(file), "--meaning", "well done", "--again")
    kept = Picture.objects.get()
    assert (kept.verdict, kept.removed_by, kept.reason) == ("stored", None, "")


def test_a_key_that_counts_in_one_chat_alone_brings_nothing_into_the_catalogue() -> None:
    other = Picture.objects.create(claimed_at=timezone.now(), verdict="removed")
    added = catalogue.add(PICTURE, meaning="well done")
    PictureKey.objects.create(picture=other, key=added.file_id, chat=make_chat())
    assert catalogue.add(PICTURE, meaning="good night").pk == added.pk


def test_bytes_that_were_lost_are_kept_anew(settings: Settings, tmp_path: Path) -> None:
    added = catalogue.add(PICTURE, meaning="well done")
    settings.MEDIA_ROOT = tmp_path / "another disk"
    assert catalogue.add(REENCODED, meaning="well done").pk == added.pk
    assert store.read(Picture.objects.get().sha256) == REENCODED
