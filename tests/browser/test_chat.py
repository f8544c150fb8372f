"""An operator runs a chat from its page: reads along, and finds out why the bot said nothing."""

import time
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from selenium.webdriver.common.by import By

from core.admin import pictures
from core.models import Chat, InboundItem, ItemMedia, OutboxEntry
from tests import factories
from tests.browser.conftest import PHONE, Browser
from tests.core.media.drawing import picture
from tests.stickers.showing import keep

pytestmark = pytest.mark.browser
IS_AT_END = """(() => {
  const one = document.querySelector("[data-scroller]");
  return one.scrollHeight - one.scrollTop - one.clientHeight < 2;
})()"""


@pytest.fixture
def chat() -> Chat:
    return factories.make_chat(
        factories.make_bot(name="Bear"), title="Book club", last_message_at=timezone.now()
    )


def page_of(chat: Chat) -> str:
    return reverse("admin:core_chat_change", args=[chat.pk])


def test_why_it_was_silent_is_found_within_three_clicks(operator: Browser, chat: Chat) -> None:
    item = factories.make_item(chat, "anyone there?")
    factories.make_decision([item], "skip", reason="whole_group_muted")
    operator.open(reverse("admin:index"))
    operator.find(f"a[href='{reverse('admin:core_chat_changelist')}']").click()
    operator.find(f"a[href*='{page_of(chat)}']").click()
    operator.find("#why-silent summary").click()
    assert operator.sees("An administrator of the group can lift it.")
    assert operator.complaints() == []


def test_what_is_said_and_what_becomes_of_it_comes_by_itself(operator: Browser, chat: Chat) -> None:
    said = factories.make_sent(chat, "on my way", "pending")
    operator.open(page_of(chat))
    operator.find(f"#line-m{said.pk} .arise-label.pending")
    operator.chrome.execute_script("window.same = true")
    item = factories.make_item(chat, "a new <b>line</b>")
    OutboxEntry.objects.update(state="sent")
    operator.find(f"#line-m{said.pk} .arise-label.sent")
    assert operator.sees("a new <b>line</b>")
    InboundItem.objects.update(recalled_at=timezone.now())
    operator.find(f"#line-i{item.pk}.gone")
    assert operator.chrome.execute_script("return window.same")
    assert operator.complaints() == []


def test_nothing_jumps_while_somebody_reads_what_was_said_before(
    operator: Browser, chat: Chat
) -> None:
    for number in range(120):
        factories.make_item(chat, f"line {number}")
    operator.open(page_of(chat))
    operator.find("[data-earlier] a").click()
    operator.sees("line 25")
    place = "return document.querySelector('[data-scroller]').scrollTop"
    operator.chrome.execute_script("document.querySelector('[data-scroller]').scrollTop = 500")
    factories.make_item(chat, "the newest")
    operator.button("New lines below")
    assert operator.chrome.execute_script(place) == 500
    lines = operator.chrome.find_elements(By.CSS_SELECTOR, "[data-lines] > li")
    assert len(lines) == 101
    button = operator.button("New lines below")
    operator.chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    assert operator.chrome.execute_script(place) > 500


@pytest.mark.parametrize("name", ["core_chat_change", "core_chat_conversation"])
def test_it_opens_at_its_newest_end_and_follows_until_somebody_scrolls_back(
    operator: Browser, chat: Chat, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    serve = pictures.serve

    def late(*args: Any, **options: Any) -> Any:
        time.sleep(0.3)
        return serve(*args, **options)

    monkeypatch.setattr(pictures, "serve", late)
    view = keep(picture(size=(300, 900)))
    items = [factories.make_item(chat, "words " * 20) for _ in range(30)]
    items += [factories.make_item(chat, "", parts=[{"type": "image", "data": {}}]) for _ in "ab"]
    for item in items[-2:]:
        ItemMedia.objects.create(item=item, index=0, view=view)
    operator.open(reverse(f"admin:{name}", args=[chat.pk]))
    newest = f"#line-i{items[-1].pk} img"
    operator.find(newest)
    run = operator.chrome.execute_script
    assert operator.comes(f"document.querySelector('{newest}').complete")
    assert operator.comes(IS_AT_END)
    assert run("return document.querySelector('[data-scroller]').scrollTop") > 0
    # A picture that grows as it comes, and a line that is said.
    run("const one = document.querySelector('[data-lines] img').style; one.height = '60rem'")
    assert operator.comes(IS_AT_END)
    said = factories.make_item(chat, "the newest")
    operator.find(f"#line-i{said.pk}")
    assert operator.comes(IS_AT_END)
    run("document.querySelector('[data-scroller]').scrollTop = 200")
    assert operator.comes(f"!({IS_AT_END})")
    run("document.querySelector('[data-lines] li:last-child').style.height = '40rem'")
    time.sleep(0.1)
    assert run("return document.querySelector('[data-scroller]').scrollTop") == 200
    assert operator.complaints() == []


def test_lost_contact_is_told(operator: Browser, chat: Chat) -> None:
    operator.open(page_of(chat))
    operator.chrome.delete_all_cookies()
    assert operator.sees("Contact to the console is lost")


def test_what_is_not_so_is_no_part_of_the_page(operator: Browser, chat: Chat) -> None:
    factories.make_item(chat, "hello")
    operator.open(page_of(chat))
    operator.find("[data-lines] li")
    whole = operator.chrome.execute_script("return document.documentElement.textContent")
    assert "hello" in whole
    for words in ("Contact to the console is lost", "New lines below"):
        assert words not in whole


def test_a_chats_page_fits_a_phone(operator: Browser, chat: Chat) -> None:
    factories.make_item(chat, "w" * 500, sender_name="n" * 100)
    factories.make_sent(chat, "words " * 100)
    operator.resize(PHONE)
    operator.open(page_of(chat))
    operator.sees("wwww")
    assert not operator.is_too_wide()
