"""Every page of the console's own can be used by everybody, in light and dark, on a desk and a phone.

With ARISE_SHOTS=DIR each page is also kept there as a picture, `NAME-WIDTH-LOOK.png`, to be looked at;
ARISE_SHOTS_LANGUAGE (`zh-hans`) is the language in which the browser then asks for them.
"""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from tests.arise_site import test_limits
from tests.browser import busy_site, own_pages
from tests.browser.accessibility import faults
from tests.browser.busy_site import Rows
from tests.browser.conftest import PASSWORD, Browser
from tests.browser.own_pages import PAGES, Page

LOOKS = ((1440, "light"), (1440, "dark"), (390, "light"))
HEIGHT = 1000
STILL = """
const sheet = new CSSStyleSheet();
sheet.replaceSync("*, ::before, ::after { transition: none !important; animation: none !important; }");
document.adoptedStyleSheets = [sheet];
"""
AS_LOOK = """
document.documentElement.classList.toggle("dark", arguments[0] === "dark");
"""


def test_every_address_is_a_page_of_the_table_or_none() -> None:
    known = test_limits.CUSTOM | test_limits.WITHOUT_ROWS | test_limits.TOLD_APART
    models = {test_limits.name(model) for model in admin.site._registry}
    known |= {f"{name}_{act}" for name in models for act in test_limits.OF_EVERY_PAGE}
    in_table = {page.view.removeprefix("admin:") for page in PAGES.values()}
    of_all = {f"{name}_{act}" for name in models for act in own_pages.THE_SAME_EVERYWHERE}
    assert known - in_table - of_all == own_pages.NO_PAGES
    assert in_table <= known
    for act in own_pages.THE_SAME_EVERYWHERE:
        assert any(name.endswith(f"_{act}") for name in in_table)


@pytest.fixture
def browser(chromium: Browser, live_server: LiveServer) -> Iterator[Browser]:
    chromium.base = str(live_server)
    if language := os.environ.get("ARISE_SHOTS_LANGUAGE"):
        chromium.speak(language)
    yield chromium
    chromium.speak("en")
    chromium.leave()


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_nothing_on_the_consoles_own_pages_hinders_anybody(
    browser: Browser, tmp_path: Path
) -> None:
    operator = User.objects.create_superuser("operator", password=PASSWORD)
    rows = busy_site.make(operator)
    found: dict[str, list[str]] = {}
    who: str | None = None
    browser.complaints()
    for name, page in PAGES.items():
        if page.who != who:
            who = page.who
            enter(browser, who)
        browser.resize((LOOKS[0][0], HEIGHT))
        open_page(browser, page, rows, tmp_path)
        for width, look in LOOKS:
            show(browser, width, look)
            told = faults(browser, colours_alone=look == "dark")
            if browser.is_too_wide():
                told.append("It has to be scrolled sideways.")
            keep_picture(browser, f"{name}-{width}-{look}")
            if told:
                found[f"{name} {width} {look}"] = told
        # Between a phone and a wide desk the sidebar leaves the least room.
        browser.resize((1280, HEIGHT))
        if browser.is_too_wide():
            found[f"{name} 1280"] = ["It has to be scrolled sideways."]
        complaints = [told for told in browser.complaints() if not page.allows(told)]
        if complaints:
            found[f"{name} log"] = complaints
    assert found == {}, as_text(found)


def enter(browser: Browser, who: str) -> None:
    """Be somebody else: his session, without asking for his password."""
    browser.open("/healthz")
    browser.chrome.delete_all_cookies()
    if who:
        client = Client()
        client.force_login(User.objects.get(username=who))
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        browser.chrome.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": session})


def open_page(browser: Browser, page: Page, rows: Rows, folder: Path) -> None:
    browser.open(page.address(rows))
    browser.find("body")
    if page.act:
        page.act(browser, folder)
    browser.chrome.execute_script(STILL)


def show(browser: Browser, width: int, look: str) -> None:
    browser.resize((width, HEIGHT))
    browser.chrome.execute_script(AS_LOOK, look)


def keep_picture(browser: Browser, name: str) -> None:
    """The whole page, also what lies below the window, where pictures are asked for."""
    if not (folder := os.environ.get("ARISE_SHOTS")):
        return
    tall = "return [innerWidth, document.documentElement.scrollHeight]"
    width, height = browser.chrome.execute_script(tall)
    window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    ask = browser.chrome.execute_cdp_cmd
    # As tall a window as the page, so that what sticks to its edges stands where it ends.
    ask("Emulation.setScrollbarsHidden", {"hidden": True})
    ask("Emulation.setDeviceMetricsOverride", window)
    taken = ask("Page.captureScreenshot", {"format": "png"})
    ask("Emulation.clearDeviceMetricsOverride", {})
    ask("Emulation.setScrollbarsHidden", {"hidden": False})
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))


def as_text(found: dict[str, list[str]]) -> str:
    return "\n\n".join(f"== {page}\n" + "\n".join(told) for page, told in found.items())
