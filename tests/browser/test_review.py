"""An operator reviews what the bot wants to say, with the mouse, on a phone and with the keyboard."""

import pytest
from django.urls import reverse
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from core.models import Chat, OutboxEntry
from tests import factories
from tests.browser.conftest import PHONE, Browser

pytestmark = pytest.mark.browser
REVIEW = reverse("admin:core_outboxentry_review")


@pytest.fixture
def chat() -> Chat:
    chat = factories.make_chat(delivery_mode="review", title="Bears")
    factories.make_item(chat, "what do you think?")
    return chat


def held(chat: Chat, content: str) -> OutboxEntry:
    made = {"held": "review"}
    entry = factories.make_sent(chat, content, "pending", entry=made).entry
    assert entry is not None
    return entry


def stands(entry: OutboxEntry) -> tuple[str, str, str]:
    entry.refresh_from_db()
    return entry.state, entry.held, entry.content


def type_keys(browser: Browser, *keys: str) -> None:
    ActionChains(browser.chrome).send_keys(*keys).perform()


def test_one_is_approved_one_changed_one_discarded_by_click(operator: Browser, chat: Chat) -> None:
    first, second, third = held(chat, "fine"), held(chat, "rude"), held(chat, "never")
    operator.open(REVIEW)
    assert operator.sees("what do you think?")
    operator.find(f"#entry-{first.pk} button[value=approve]").click()
    assert operator.sees("Approved.")
    box = operator.find(f"#entry-{second.pk} textarea")
    box.clear()
    box.send_keys("kind")
    operator.find(f"#entry-{second.pk} button[value=approve]").click()
    assert operator.sees("1 waiting")
    operator.find(f"#entry-{third.pk} summary").click()
    operator.button("Yes, discard it").click()
    assert operator.sees("Nothing waits for review.")
    assert stands(first) == ("pending", "", "fine")
    assert stands(second) == ("pending", "", "kind")
    assert stands(third)[0] == "discarded"
    assert operator.complaints() == []


def test_one_is_approved_one_changed_one_discarded_by_key(operator: Browser, chat: Chat) -> None:
    first, second, third = held(chat, "fine"), held(chat, "rude"), held(chat, "never")
    operator.open(REVIEW)
    operator.find(f"#entry-{third.pk}")
    type_keys(operator, "j", "j", "j", "d", Keys.ENTER)
    assert operator.sees("Discarded by hand.")
    type_keys(operator, "j", "j", "e", Keys.END, " and a jay")
    ActionChains(operator.chrome).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
        Keys.CONTROL
    ).perform()
    assert operator.sees("1 waiting")
    type_keys(operator, "a")
    assert operator.sees("Nothing waits for review.")
    assert stands(first) == ("pending", "", "fine")
    assert stands(second) == ("pending", "", "rude and a jay")
    assert stands(third)[0] == "discarded"
    assert operator.complaints() == []


def test_who_comes_second_is_told(operator: Browser, chat: Chat) -> None:
    entry = held(chat, "words")
    operator.open(REVIEW)
    operator.find(f"#entry-{entry.pk}")
    OutboxEntry.objects.update(content="other words")
    operator.button("Approve").click()
    assert operator.sees("It says something else meanwhile.")
    assert stands(entry) == ("pending", "review", "other words")


def test_it_is_paused_and_goes_on_from_the_chats_page(operator: Browser, chat: Chat) -> None:
    operator.open(reverse("admin:core_chat_change", args=[chat.pk]))
    operator.find("[name=reason]").send_keys("too loud")
    operator.button("Pause").click()
    assert operator.sees("too loud")
    operator.button("Resume").click()
    assert operator.sees("It goes on.")
    assert operator.complaints() == []


@pytest.mark.parametrize("page", ["review", "entry", "confirm", "edit", "chat"])
def test_its_pages_fit_a_phone(operator: Browser, chat: Chat, page: str) -> None:
    entry = held(chat, "words " * 100 + "x" * 300)
    paths = {
        "review": REVIEW,
        "entry": reverse("admin:core_outboxentry_change", args=[entry.pk]),
        "confirm": f"{reverse('admin:core_outboxentry_confirm', args=['discard'])}?entry={entry.pk}",
        "edit": reverse("admin:core_outboxentry_edit", args=[entry.pk]),
        "chat": reverse("admin:core_chat_change", args=[chat.pk]),
    }
    operator.resize(PHONE)
    operator.open(paths[page])
    operator.find(".arise-page")
    assert not operator.is_too_wide()
