"""What a newcomer does on the first evening: `up`, `simulate`, and a look into the console."""

import re
from collections.abc import Iterator
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from core.models import Bot
from tests.arise_site.running import Up, manage, temporary_home
from tests.fakes.model import Script
from tests.fakes.site import Site
from tests.flows.conftest import TOKEN
from tests.flows.test_conversation import answers

# Short waits, so that the conversation takes a second; the demo model serves since no key is set.
QUICK = {
    "OPENAI_BASE_URL": "",
    "ARISE_DEBOUNCE_SECONDS": "0.2",
    "ARISE_SEND_PACE": "0",
}


class Browser:
    """Enough of a browser to log in and read pages."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._cookies = CookieJar()
        self._opener = build_opener(HTTPCookieProcessor(self._cookies))

    def page(self, path: str) -> str:
        with self._opener.open(self.url + path, timeout=20) as answer:
            return unescape(answer.read().decode())

    def log_in(self, name: str, password: str) -> str:
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.page("/admin/login/"))
        assert found
        form = {"csrfmiddlewaretoken": found[1], "username": name, "password": password}
        sent = urlencode({**form, "next": "/admin/"}).encode()
        with self._opener.open(self.url + "/admin/login/", sent, timeout=20) as answer:
            return unescape(answer.read().decode())


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as folder:
        yield folder


@pytest.fixture(scope="module")
def up(home: Path) -> Iterator[Up]:
    with Up(home, None, **QUICK) as running:
        running.wait_for("Ctrl-C stops it")
        yield running


@pytest.fixture(scope="module")
def conversation(up: Up) -> str:
    """A conversation in a group and in private, typed into `simulate`, which finds the port itself."""
    return simulated(up.home, "@bot hello there\n/private\n你好呀\n", **QUICK)


def simulated(home: Path, typed: str, *arguments: str, **environment: str) -> str:
    ran = manage(home, "simulate", "--linger", "3", *arguments, stdin=typed, **environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_demo_model_answers_in_a_group_and_in_private_and_says_what_it_is(
    conversation: str,
) -> None:
    assert "Hi Ann! I read: “hello there”" in conversation
    assert "built-in demo model: scripted" in conversation
    assert "你好，Ann！我读到了：“你好呀”" in conversation


def test_doctor_finds_everything_well_and_names_the_demo_model(up: Up, conversation: str) -> None:
    ran = manage(up.home, "doctor", **QUICK)
    assert ran.returncode == 0, ran.stdout
    assert "built-in demo model" in ran.stdout
    assert "broken" not in ran.stdout


def test_the_printed_password_leads_to_the_conversation_its_turn_and_the_sent_log(
    up: Up, conversation: str
) -> None:
    found = re.search(r"password   (\S+)", up.text())
    assert found
    browser = Browser(f"http://127.0.0.1:{up.port}")
    landing = browser.log_in("admin", found[1])
    assert "demo model" in landing
    assert "hello there" in browser.page("/admin/core/inbounditem/")
    assert "I read: “hello there”" in browser.page("/admin/core/sentmessage/")
    turns = browser.page("/admin/core/turn/")
    links = re.findall(r'href="(/admin/core/turn/\d+/change/[^"]*)"', turns)
    # Both chats were due at once, so either turn may be the first.
    (story,) = [page for page in map(browser.page, set(links)) if "hello there" in page]
    for words in ("send_message", "I read: “hello there”", "arise-demo", "mention"):
        assert words in story
    figures = " ".join(re.sub(r"<[^>]+>", " ", story).split())
    assert re.search(r"Tokens in / out [1-9]\d* / [1-9]\d*", figures)
    assert re.search(r"Model time \d+\.\d+ s", figures)


@pytest.mark.parametrize(
    ("typed", "where"), [("@bot hi\n", "group:20001"), ("/private\nhello\n", "private:10002")]
)
def test_simulate_holds_a_conversation_with_a_scripted_model(
    site: Site, bot: Bot, script: Script, typed: str, where: str
) -> None:
    answers(script, f"heard in {where}")
    shown = simulated(
        Path(site.environment["ARISE_HOME"]),
        typed,
        *("--url", site.gateway_url, "--bot", bot.self_id, "--token", TOKEN),
        DATABASE_URL=site.environment["DATABASE_URL"],
        REDIS_URL=site.environment["REDIS_URL"],
    )
    assert f"heard in {where}" in shown
