"""An operator lets a chat learn stickers, looks at what was learned, and decides."""

import pytest
from django.urls import reverse
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from core.models import Chat
from stickers.models import Sticker
from tests import factories
from tests.browser.conftest import PHONE, WAIT_SECONDS, Browser
from tests.stickers.showing import shown

pytestmark = pytest.mark.browser

GALLERY = "admin:stickers_sticker_changelist"


def shows(browser: Browser, css: str) -> bool:
    """Whether this picture, once it has come, can be seen; waited for."""
    picture = browser.find(css)
    script = "return arguments[0].complete && arguments[0].naturalWidth > 0"
    wait = WebDriverWait(browser.chrome, WAIT_SECONDS)
    return bool(
        wait.until(lambda chrome: chrome.execute_script(script, picture) and picture.is_displayed())
    )


def test_a_chat_is_let_learn_and_its_page_says_who_did(operator: Browser) -> None:
    chat = factories.make_chat()
    page = reverse("admin:core_chat_change", args=[chat.pk])
    operator.open(page)
    assert operator.sees("never")
    operator.find("[name=sticker_learning]").send_keys(Keys.SPACE)
    operator.find("button[name=_continue]").click()
    assert operator.sees(", by operator")
    assert Chat.objects.get().sticker_learning
    assert operator.complaints() == []


def test_a_sticker_is_approved_and_the_gallery_shows_it(operator: Browser) -> None:
    sticker = shown(factories.make_chat(), "gratitude", state="review")
    operator.open(reverse("admin:index"))
    operator.find("a[href*='state__exact=review']").click()
    assert operator.sees("gratitude")
    assert shows(operator, ".arise-picture img")
    operator.find(f".action-select[value='{sticker.pk}']").click()
    operator.find("select[name=action] option[value=approve]").click()
    operator.button("Run").click()
    assert operator.sees("1 sticker was approved.")
    operator.open(reverse(GALLERY))
    assert operator.sees("gratitude")
    assert operator.sees("stored")
    assert Sticker.objects.get().state == "stored"
    assert operator.complaints() == []


def test_all_on_a_page_are_chosen_and_decided_at_once(operator: Browser) -> None:
    for _ in range(3):
        shown(factories.make_chat(), state="review")
    operator.open(reverse(GALLERY))
    operator.find(".action-toggle").click()
    operator.find("select[name=action] option[value=reject]").click()
    operator.button("Run").click()
    assert operator.sees("3 stickers were rejected.")
    assert set(Sticker.objects.values_list("state", flat=True)) == {"rejected"}


def test_what_moves_moves_only_when_it_is_reached(operator: Browser) -> None:
    shown(None, moving=True)
    operator.open(reverse(GALLERY))
    assert shows(operator, ".arise-picture .still")
    assert not operator.find(".arise-picture .original").is_displayed()
    operator.find(".action-select").send_keys(Keys.TAB)
    assert shows(operator, ".arise-picture .original")
    assert not operator.find(".arise-picture .still").is_displayed()
    assert operator.complaints() == []


@pytest.mark.parametrize("name", ["changelist", "upload", "try", "funnel"])
def test_the_pages_fit_a_phone(operator: Browser, name: str) -> None:
    shown(
        factories.make_chat(title="words " * 30), "words" * 40, moods=["mood" * 10], words="w" * 80
    )
    operator.resize(PHONE)
    operator.open(reverse(f"admin:stickers_sticker_{name}"))
    assert operator.find(".arise-page").is_displayed()
    assert not operator.is_too_wide()
