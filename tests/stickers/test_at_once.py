"""Many at once: one claim for all that look the same, and never more stickers than a chat may have."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from django.db import connection
from pytest_django import Settings

from core.media import pictures
from core.models import Chat, ModelCallCount
from stickers import acts, claims, library
from stickers.library import Kept
from stickers.models import Picture, PictureKey, Sticker
from stickers.recognition import Learned
from tests.stickers import drawing, scene
from tests.stickers.drawing import Encoding
from tests.stickers.making import make_sticker

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")
AT_ONCE = 8


def at_once(doing: list[Callable[[], T]]) -> list[T]:
    """What each gives, all begun in the same moment in threads of their own."""
    start = threading.Barrier(len(doing))

    def run(one: Callable[[], T]) -> T:
        try:
            start.wait()
            return one()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(doing)) as threads:
        return list(threads.map(run, doing))


def identity(content: bytes) -> claims.Identity:
    return claims.identity(content, drawing.md5_of(content), pictures.examine(content).samples)


def test_near_equal_newcomers_at_once_are_claimed_once() -> None:
    """Each in other bytes under another name, so that no key of the one is a key of the other."""
    chats = [scene.learning_chat() for _ in range(AT_ONCE)]
    seen = [identity(drawing.sticker(1, Encoding("JPEG", 60 + 4 * way))) for way in range(AT_ONCE)]

    def claim(who: claims.Identity, chat: Chat) -> claims.Claim:
        return claims.claim(who, chat, calls=1, model="m", shareable=True)

    made = at_once(
        [lambda who=who, chat=chat: claim(who, chat) for who, chat in zip(seen, chats, strict=True)]  # type: ignore[misc]
    )
    assert [one.is_new for one in made].count(True) == 1
    assert len({one.picture for one in made}) == Picture.objects.count() == 1
    assert Sticker.objects.count() == 1
    assert sum(ModelCallCount.objects.values_list("calls", flat=True)) == 1
    keys = set(PictureKey.objects.values_list("key", flat=True))
    assert keys == {key for who in seen for key in who.proved}  # none is fetched again


def test_stickers_stored_at_once_never_pass_the_cap(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    chat = scene.learning_chat(sticker_cap=3)
    contents = [drawing.sticker(seed) for seed in range(AT_ONCE)]
    claimed = [
        claims.claim(identity(content), chat, calls=1, model="m", shareable=True).picture
        for content in contents
    ]

    def keep(number: int) -> str:
        picture = claimed[number]
        assert picture is not None
        kept = Kept(Learned(f"meaning {number}"), None, lambda: f"{number:064x}", {})
        return library.keep(picture, chat, kept, tokens=1)

    outcomes = at_once([lambda number=number: keep(number) for number in range(AT_ONCE)])  # type: ignore[misc]
    assert outcomes == ["stored"] * AT_ONCE
    assert Sticker.objects.filter(chat=chat).count() == 3
    assert Picture.objects.filter(verdict="stored").count() == AT_ONCE
    assert Picture.objects.exclude(sha256="").count() == 3


@pytest.mark.parametrize("act", [partial(acts.pin, pinned=True), acts.promote, acts.reject])
def test_what_an_operator_decides_while_room_is_made_is_done_or_refused(
    act: Callable[..., bool], settings: Settings, tmp_path: Path
) -> None:
    """Never done and undone: a pinned or promoted sticker that goes, a rejected one that is unknown."""
    settings.MEDIA_ROOT = tmp_path
    chat = scene.learning_chat(sticker_cap=1)
    old = make_sticker(chat)
    new = claims.claim(identity(drawing.sticker()), chat, calls=1, model="m", shareable=True)
    assert new.picture is not None
    done: list[bool] = []

    def decide() -> None:
        try:
            done.append(act(old, by=None))
        finally:
            connection.close()

    deciding = threading.Thread(target=decide)

    def put() -> str:
        deciding.start()
        deciding.join(0.5)  # it waits for this transaction, or has overtaken it
        return f"{1:064x}"

    kept = Kept(Learned("so it is"), None, put, {})
    assert library.keep(new.picture, chat, kept, tokens=1) == "stored"
    deciding.join()
    assert done == [Sticker.objects.filter(pk=old.pk).exists()]
