"""Chromium, driven as a person would use it, on the console that a live server shows."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer
from selenium.common.exceptions import NoSuchElementException, WebDriverException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.wait import WebDriverWait

Found = TypeVar("Found")
PASSWORD = "a-password-of-the-test"
WAIT_SECONDS = 20
PHONE = (390, 844)
DESKTOP = (1400, 1000)


class Browser:
    """One window of Chromium."""

    def __init__(self, chrome: Chrome) -> None:
        self.chrome = chrome
        self.base = ""

    def open(self, path: str) -> None:
        """Go to a page of the site."""
        self.chrome.get(self.base + path)

    def find(self, css: str) -> WebElement:
        """The first element there is, waited for."""
        return self._wait(lambda chrome: chrome.find_element(By.CSS_SELECTOR, css))

    def button(self, text: str) -> WebElement:
        """The button that shows this text and nothing else, waited for until it can be seen."""
        path = f"//button[normalize-space()='{text}']"
        return self._wait(lambda chrome: _seen(chrome.find_element(By.XPATH, path)))

    def press(self, css: str) -> None:
        """Click on the first element there is, wherever on the page it is."""
        found = self.find(css)
        self.chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()

    def until_gone(self, element: WebElement) -> None:
        """Wait until another page has come than the one that has this element."""
        wait = WebDriverWait(self.chrome, WAIT_SECONDS, ignored_exceptions=(WebDriverException,))
        wait.until(expected_conditions.staleness_of(element))
        self.find("body")

    def sees(self, text: str) -> bool:
        """Whether the page, once it is whole, shows this text; waited for."""
        return self._wait(lambda chrome: _is_whole(chrome) and text in _shown(chrome))

    def gone(self, text: str) -> bool:
        """Whether the page does not show this text any more; waited for."""
        return self._wait(lambda chrome: text not in _shown(chrome))

    def comes(self, condition: str) -> bool:
        """Whether an expression of JavaScript holds; waited for."""
        return self._wait(lambda chrome: bool(chrome.execute_script(f"return {condition}")))

    def buttons(self) -> list[str]:
        """What the buttons that can be seen now say."""
        found = self.chrome.find_elements(By.TAG_NAME, "button")
        return [button.text for button in found if button.is_displayed()]

    def is_too_wide(self) -> bool:
        """Whether the page as a whole has to be scrolled sideways."""
        root = "document.documentElement"
        return bool(self.chrome.execute_script(f"return {root}.scrollWidth > {root}.clientWidth"))

    def resize(self, size: tuple[int, int]) -> None:
        self.chrome.set_window_size(*size)

    def speak(self, language: str) -> None:
        """Ask for all pages in this language."""
        headers = {"headers": {"Accept-Language": language}}
        self.chrome.execute_cdp_cmd("Network.enable", {})
        self.chrome.execute_cdp_cmd("Network.setExtraHTTPHeaders", headers)

    def complaints(self) -> list[str]:
        """Errors of scripts and missing files since the last look."""
        log = self.chrome.get_log("browser")  # type: ignore[no-untyped-call]
        return [str(entry["message"]) for entry in log]

    def leave(self) -> None:
        """Leave the page, which may go on asking, and forget what it complained of."""
        self.chrome.get("about:blank")
        self.complaints()

    def _wait(self, look: Callable[[Chrome], Found]) -> Found:
        # What was found may belong to the page before, which Chromium says in several ways.
        passing = (WebDriverException,)
        return WebDriverWait(self.chrome, WAIT_SECONDS, ignored_exceptions=passing).until(look)


def _seen(element: WebElement) -> WebElement:
    if not element.is_displayed():
        raise NoSuchElementException
    return element


def _is_whole(chrome: Chrome) -> bool:
    return bool(chrome.execute_script("return document.readyState === 'complete'"))


def _shown(chrome: Chrome) -> str:
    return str(chrome.find_element(By.TAG_NAME, "body").text)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium and the driver of the same version; nothing is downloaded."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    driver = shutil.which("chromedriver")
    assert options.binary_location, "apt install chromium"
    assert driver, "apt install chromium-driver"
    options.add_argument("--headless=new")
    options.add_argument("--disable-dev-shm-usage")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
    chrome = Chrome(options=options, service=ChromeService(executable_path=driver))
    yield Browser(chrome)
    chrome.quit()


@pytest.fixture
def operator(chromium: Browser, live_server: LiveServer) -> Iterator[Browser]:
    """A browser in which an operator has logged in."""
    User.objects.create_superuser("operator", password=PASSWORD)
    chromium.base = str(live_server)
    chromium.resize(DESKTOP)
    chromium.chrome.delete_all_cookies()
    chromium.open("/admin/login/?next=/admin/")
    chromium.find("[name=username]").send_keys("operator")
    chromium.find("[name=password]").send_keys(PASSWORD)
    chromium.find("[name=password]").submit()
    chromium.sees("What waits")
    yield chromium
    chromium.leave()
