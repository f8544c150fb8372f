"""An operator speaks as a group of invented people, and the bot answers with its real tools: the page
is an implementation of OneBot at a real web process, with a real worker behind it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.models import User
from django.urls import reverse
from pytest_django import DjangoDbBlocker
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from botgateway.playground import bots
from core.database import give_back
from core.media import store
from core.models import Bot, InboundItem, Member
from tests.browser.accessibility import faults
from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, WAIT_SECONDS, Browser
from tests.core.media.drawing import animation, picture
from tests.fakes.model import Script, ScriptedModel, assistant, says
from tests.fakes.model_fixtures import script, scripted_model
from tests.fakes.site import Site
from tests.flows.conftest import remove
from tests.stickers.making import make_picture, make_sticker

__all__ = ["script", "scripted_model"]
pytestmark = pytest.mark.browser
PAGE = reverse("admin:core_bot_playground")
SEND = "send_message"
OWN = ".playground-line.own"


@pytest.fixture(scope="module")
def site(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    scripted_model: ScriptedModel,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """The site for this file alone: its worker would take up what other files make."""
    with django_db_blocker.unblock():
        site = Site(model_url=scripted_model.url, logs=tmp_path_factory.mktemp("site"))
    try:
        site.start()
        yield site
    finally:
        site.stop()


@pytest.fixture
def person(site: Site, django_db_blocker: DjangoDbBlocker) -> Iterator[User]:
    with django_db_blocker.unblock():
        person = User.objects.create_superuser("player")
        # The site is no test's: it takes none of the quick hashes that tests use.
        person.password = Argon2PasswordHasher().encode(PASSWORD, "salt-of-the-test")
        person.save()
        give_back()
        yield person
        person.delete()


@pytest.fixture
def bot(person: User, script: Script) -> Iterator[Bot]:
    """The person's bot, whose model is this test's script."""
    bot = bots.provide(person)
    bot.chat_model = script.model
    bot.name = "Bear"
    bot.save()
    give_back()
    yield bot
    remove(bot)


@pytest.fixture
def player(chromium: Browser, site: Site, bot: Bot) -> Browser:
    """A browser in which the person has opened the playground."""
    chromium.base = site.url
    chromium.resize(DESKTOP)
    chromium.chrome.delete_all_cookies()
    chromium.open(f"/admin/login/?next={PAGE}")
    chromium.chrome.execute_script("sessionStorage.clear()")
    chromium.find("[name=username]").send_keys("player")
    chromium.find("[name=password]").send_keys(PASSWORD)
    chromium.find("[name=password]").submit()
    assert chromium.sees("Connected")
    chromium.complaints()
    return chromium


def answers(script: Script, text: str) -> None:
    """One turn that says this and then ends."""
    script.reply(tool_calls=[(SEND, {"content": text})])
    script.reply()


def say(browser: Browser, text: str) -> None:
    browser.find("[name=words]").send_keys(text, Keys.ENTER)


def line(browser: Browser, text: str) -> WebElement:
    """The newest line that shows this text, waited for."""
    assert browser.sees(text)
    path = f"//div[@data-line][contains(., '{text}')]"
    return browser.chrome.find_elements(By.XPATH, path)[-1]


def becomes(look: Callable[[], bool]) -> bool:
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        found = look()
        give_back()
        if found:
            return True
        time.sleep(0.1)
    return False


def test_where_nothing_was_said_it_is_told_what_to_do(player: Browser, script: Script) -> None:
    player.chrome.refresh()
    assert player.sees("Say something below as one of the members")
    Select(player.find("[name=place]")).select_by_index(1)
    assert player.sees("in private the bot answers everything")
    Select(player.find("[name=place]")).select_by_index(0)
    answers(script, "good morning")
    say(player, "hello")
    line(player, "hello")
    assert player.gone("Nothing was said here yet")
    line(player, "good morning")
    assert player.complaints() == []


def test_a_conversation_with_a_sticker_a_poke_and_a_recall(
    player: Browser, script: Script, bot: Bot, tmp_path: Path
) -> None:
    answers(script, "hello Ann")
    say(player, "hello bear")
    assert player.sees("hello Ann")

    answers(script, "what a sticker")
    sticker = tmp_path / "sticker.png"
    sticker.write_bytes(picture())
    player.find("[name=sticker]").send_keys(str(sticker))
    player.find("canvas[data-drawn]")
    assert player.sees("what a sticker")
    seen = str(script.requests[-1]["messages"])
    assert "sticker" in seen

    answers(script, "ouch")
    player.button("Poke the bot").click()
    assert player.sees("ouch")

    heard = line(player, "hello bear")
    heard.find_element(By.CSS_SELECTOR, "[data-act=recall]").click()
    player.find(".playground-line.recalled")
    recalled = InboundItem.objects.filter(chat__bot=bot, recalled_at__isnull=False)
    assert becomes(lambda: [item.text.strip() for item in recalled.all()] == ["hello bear"])
    kinds = InboundItem.objects.filter(chat__bot=bot).values_list("kind", flat=True)
    assert sorted(kinds) == ["message", "message", "poke"]

    player.find(f"{OWN} .playground-feet a").click()
    assert player.sees("hello Ann")
    assert "/core/turn/" in player.chrome.current_url
    assert player.complaints() == []


def test_what_became_of_a_question_stands_under_it_and_names_it(
    player: Browser, script: Script
) -> None:
    player.find(".playground-composer summary").click()
    choose(player, "fault", "error")
    answers(script, "never seen")
    say(player, "one")
    assert player.sees("“never seen” is failed")
    answers(script, "ouch")
    player.button("Poke the bot").click()
    assert player.sees("ouch")
    answers(script, "second answer")
    say(player, "two")
    assert player.sees("second answer")
    log = player.find("[data-log]")
    assert becomes(lambda: log.text.count("It had its turn.") == 3)

    def before(text: str, other: str) -> bool:
        return log.text.index(text) < log.text.index(other)

    assert before("one”: It had its turn.", "pokes Bear")
    assert before("“never seen” is failed", "pokes Bear")
    assert before("pokes Bear", "poke: It had its turn.")
    assert before("poke: It had its turn.", "ouch")
    assert before("ouch", "two”: It had its turn.")
    assert before("two”: It had its turn.", "second answer")
    notes = player.chrome.find_elements(By.CSS_SELECTOR, "[data-key^=entry-]")
    assert len(notes) == 1


def test_what_is_shown_already_is_not_said_to_be_on_its_way(
    player: Browser, script: Script, bot: Bot
) -> None:
    player.find(".playground-composer summary").click()
    choose(player, "fault", "late")
    answers(script, "here I am")
    say(player, "where are you?")
    line(player, "here I am")
    assert bot.outbox.get().state == "sending"

    def looks() -> int:
        entries = "performance.getEntriesByType('resource')"
        told = f"return {entries}.filter((one) => one.name.includes('/state/')).length"
        return int(player.chrome.execute_script(told))

    before = looks()
    assert becomes(lambda: looks() > before + 1)
    assert "is sending" not in player.find("[data-log]").text


def test_its_own_tools_reach_the_page(player: Browser, script: Script, bot: Bot) -> None:
    answers(script, "hello Ann")
    say(player, "hello bear")
    said = line(player, "hello Ann")
    said.find_element(By.CSS_SELECTOR, "[data-act=react]").click()
    assert player.find(f"{OWN} .playground-reaction").text == "👍 1"
    reactions = InboundItem.objects.filter(chat__bot=bot, kind="reaction")
    assert becomes(lambda: reactions.exists())

    def recall(request: dict[str, object]) -> object:
        told = bot.outbox.get().message
        assert told
        return says(assistant(tool_calls=[("self_recall", {"handle": told.handle})]))

    script.add(recall)  # type: ignore[arg-type]
    script.reply()
    line(player, "hello Ann").find_element(By.CSS_SELECTOR, "[data-act=quote]").click()
    assert player.sees("Quoting: Bear: hello Ann")
    say(player, "take it back")
    player.find(f"{OWN}.recalled")
    assert player.sees("quotes Bear: hello Ann")


def test_a_button_stays_itself_while_its_line_is_told_more_of(
    player: Browser, script: Script
) -> None:
    answers(script, "hello Ann")
    say(player, "hello bear")
    react = line(player, "hello Ann").find_element(By.CSS_SELECTOR, "[data-act=react]")
    react.click()
    assert player.sees("👍 1")
    react.click()
    assert player.gone("👍 1")


def test_why_it_says_nothing_is_told_beside_what_was_said(player: Browser) -> None:
    player.find("[name=mention]").click()
    say(player, "just among us")
    assert player.sees("Nobody addressed the bot.")


def test_a_message_that_is_not_answered_is_unknown(player: Browser, script: Script) -> None:
    answers(script, "are you there")
    player.find(".playground-composer summary").click()
    player.find("[name=fault] option[value=silent]").click()
    say(player, "hello bear")
    assert player.sees("No answer is given: are you there")
    player.find(".playground-dot.unknown")


def test_what_was_said_outlives_a_reload(player: Browser, script: Script) -> None:
    answers(script, "hello Ann")
    say(player, "hello bear")
    line(player, "hello Ann")
    player.chrome.refresh()
    assert player.sees("Connected")
    assert line(player, "hello Ann").is_displayed()


def test_a_second_tab_takes_the_first_ones_place_which_says_so(player: Browser) -> None:
    first = player.chrome.current_window_handle
    player.chrome.switch_to.new_window("tab")
    try:
        player.open(PAGE)
        assert player.sees("Connected")
        player.chrome.switch_to.window(first)
        assert player.sees("opened in another tab")
        assert player.find("[data-take-over]").is_displayed()
    finally:
        for handle in player.chrome.window_handles:
            if handle != first:
                player.chrome.switch_to.window(handle)
                player.chrome.close()
        player.chrome.switch_to.window(first)


def test_it_is_spoken_to_on_a_phone(player: Browser, script: Script) -> None:
    player.resize(PHONE)
    answers(script, "hello Ann")
    say(player, "hello bear " * 30)
    line(player, "hello Ann")
    assert not player.is_too_wide()
    assert player.find("[data-poke]").is_displayed()


def choose(browser: Browser, name: str, value: str) -> None:
    browser.find(f"[name={name}] option[value^='{value}']").click()


def test_people_come_and_go_and_one_is_spoken_to_in_private(
    player: Browser, script: Script, bot: Bot
) -> None:
    player.find(".playground-composer summary").click()
    player.find("[name=member]").send_keys("Eve")
    player.find("[data-join]").click()
    assert player.sees("Eve came into the group")
    answers(script, "hello Eve")
    say(player, "I am new here")
    assert line(player, "I am new here").text.startswith("Eve")
    assert player.sees("hello Eve")
    choose(player, "place", "private:")
    answers(script, "a secret")
    say(player, "just we two")
    assert line(player, "a secret").is_displayed()
    private = bot.chats.get(kind="private")
    assert private.title == "Eve"
    choose(player, "place", "group:")
    player.find("[data-leave]").click()
    assert player.sees("Eve left the group")
    eve = Member.objects.filter(chat__bot=bot, chat__kind="group", user_id=private.external_id)
    assert becomes(lambda: eve.exclude(left_at=None).exists())


def test_an_error_is_told_as_what_it_is(player: Browser, script: Script) -> None:
    answers(script, "hello Ann")
    player.find(".playground-composer summary").click()
    choose(player, "fault", "error")
    say(player, "hello bear")
    assert player.sees("An answer with an error was given: hello Ann")
    player.find(".playground-dot.failed")
    assert not player.chrome.find_elements(By.CSS_SELECTOR, OWN)


def test_its_stickers_pokes_and_reactions_are_shown(
    player: Browser, script: Script, bot: Bot
) -> None:
    answers(script, "look")
    say(player, "hello bear")
    line(player, "look")
    item = InboundItem.objects.get(chat__bot=bot)
    image = make_picture(sha256=store.spool(animation()))
    sticker = make_sticker(item.chat, "well done", picture=image)
    script.reply(
        tool_calls=[
            ("poke_send", {"user_id": item.sender_id}),
            ("reaction_send", {"message_id": item.platform_message_id, "emoji": "👍"}),
            (SEND, {"content": "well done", "sticker": sticker.ref}),
        ]
    )
    script.reply()
    say(player, "poke me")
    assert player.sees("Bear pokes Ann")
    assert player.find(".playground-line:not(.own) .playground-reaction").text == "👍 1"
    assert player.find(f"{OWN} canvas[data-drawn]").is_displayed()
    assert player.complaints() == []
    assert faults(player) == []
