"""A stored request has references; what goes out has pictures, so many bytes of them at most."""

import base64
from pathlib import Path

import pytest
from pytest_django import Settings

from core.media import references, store


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


PNG = b"\x89PNG\r\n\x1a\n and so on"


def test_a_reference_becomes_the_picture_itself() -> None:
    words = {"type": "text", "text": "[图片 1]"}
    message = {"role": "user", "content": [words, references.part(store.spool(PNG))]}
    plain = {"role": "system", "content": "media:abc"}
    answer: dict[str, object] = {"role": "assistant", "content": None, "tool_calls": []}
    filled = references.filled([plain, message, answer])
    assert filled[0] is plain
    assert filled[2] is answer
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert filled[1]["content"] == [words, {"type": "image_url", "image_url": {"url": url}}]
    assert str(message).count("base64") == 0


def test_a_picture_that_is_gone_is_words() -> None:
    (filled,) = references.filled([{"role": "user", "content": [references.part("a" * 64)]}])
    assert filled["content"] == [{"type": "text", "text": "[图片]"}]


def test_pictures_beyond_the_bound_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MOST_BYTES", 250)
    digests = [store.spool(bytes([number]) * 100) for number in range(4)]
    content = [references.part(digest) for digest in digests]
    (filled,) = references.filled([{"role": "user", "content": content}])
    assert [part["type"] for part in filled["content"]] == [
        "image_url",
        "image_url",
        "text",
        "text",
    ]


def test_other_addresses_are_left_as_they_are() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "https://pictures.test/a.png"}},
        {"type": "image_url", "image_url": "media:abc"},
        "media:abc",
    ]
    (filled,) = references.filled([{"role": "user", "content": parts}])
    assert filled["content"] == parts
