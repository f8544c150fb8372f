"""Which model is shown what: the order of declaration is the priority, and image covers sticker."""

import pytest
from pytest_django import Settings

from core.llm import routing


@pytest.fixture(autouse=True)
def models(settings: Settings) -> None:
    settings.ARISE_VISION_MODEL = ""
    settings.ARISE_CHAT_MODEL = "chat"
    settings.ARISE_CHAT_MODEL_KINDS = []


def test_a_model_that_declares_image_takes_sticker_too(settings: Settings) -> None:
    """The regression of old: stickers got a kind of their own, and whoever had declared `image`
    alone was shown placeholders for them."""
    settings.ARISE_CHAT_MODEL_KINDS = ["image"]
    assert routing.takes("chat", "sticker")
    assert routing.first_that_takes("sticker") == "chat"


def test_a_model_that_declares_sticker_alone_takes_no_image(settings: Settings) -> None:
    settings.ARISE_CHAT_MODEL_KINDS = ["sticker"]
    assert routing.takes("chat", "sticker")
    assert not routing.takes("chat", "image")
    assert routing.first_that_takes("image") == ""


def test_no_declared_model_takes_anything() -> None:
    assert routing.first_that_takes("image") == ""
    assert not routing.takes("chat", "sticker")


def test_the_model_declared_first_comes_first(settings: Settings) -> None:
    settings.ARISE_VISION_MODEL = "eyes"
    settings.ARISE_CHAT_MODEL_KINDS = ["image", "sticker"]
    assert routing.first_that_takes("image") == "eyes"
    assert routing.first_that_takes("sticker") == "eyes"
    settings.ARISE_VISION_MODEL = ""
    assert routing.first_that_takes("sticker") == "chat"


def test_a_vision_model_does_not_make_the_chat_model_see(settings: Settings) -> None:
    settings.ARISE_VISION_MODEL = "eyes"
    assert routing.takes("eyes", "sticker")
    assert not routing.takes("chat", "image")


def test_what_the_chat_model_takes_holds_for_a_bots_own_one(settings: Settings) -> None:
    settings.ARISE_CHAT_MODEL_KINDS = ["image"]
    assert routing.takes("a bot's own", "image")
