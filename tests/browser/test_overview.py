"""The landing page stays current in the browser, and leaves alone what a person does to it."""

from datetime import timedelta

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from arise_site import dashboard
from tests import factories
from tests.arise_site.test_dashboard import answered, fill
from tests.browser.conftest import DESKTOP, PHONE, Browser

pytestmark = pytest.mark.browser
FOCUSED = "return document.activeElement.getAttribute('href')"
IS_OPEN = "return document.getElementById('chart-messages-table').open"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "REFRESH_SECONDS", 1)
    monkeypatch.setattr("arise_site.figures.SHARED_SECONDS", 1)


@pytest.fixture
def page(operator: Browser) -> Browser:
    fill()
    operator.open(reverse("admin:index"))
    return operator


def test_what_happens_appears_by_itself(page: Browser) -> None:
    factories.make_turn(state="failed", error="brand_new_error")
    assert page.sees("brand_new_error")
    assert page.complaints() == []


def test_what_is_open_and_what_is_focused_stay(page: Browser) -> None:
    page.find("#chart-messages-table summary").click()
    page.chrome.execute_script("document.querySelector('[data-part=turns] li a').focus()")
    focused = page.chrome.execute_script(FOCUSED)
    other = factories.make_chat(title="Another room")
    answered(other, 3)
    factories.make_turn(other)
    assert page.sees("Another room")
    page.find("#chart-messages-table[open]")
    assert page.chrome.execute_script(IS_OPEN)
    assert page.chrome.execute_script(FOCUSED) == focused


def test_lost_contact_is_told_until_it_is_back(
    page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=503)

    with monkeypatch.context() as broken:
        broken.setattr("django.contrib.admin.sites.AdminSite.admin_view", _instead(fails))
        assert page.sees("The site does not answer.")
    page.chrome.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
    page.gone("The site does not answer.")
    page.complaints()


def _instead(view: object) -> object:
    return lambda *_given, **_named: view


def test_who_is_logged_out_is_told(page: Browser) -> None:
    page.chrome.delete_all_cookies()
    assert page.sees("You are logged out.")


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desk"])
def test_it_fits_a_phone_and_a_desk(operator: Browser, size: tuple[int, int]) -> None:
    bot = factories.make_bot(name="小助手" * 8)
    factories.make_connection(bot, implementation="NapCat.Onebot" * 4, version="4.8.1")
    for number in range(30):
        chat = factories.make_chat(
            bot, title="A long name of a room " * 4, silence_reason="whole_group_muted"
        )
        answered(chat, number, ago=timedelta(minutes=45 * number))
    factories.make_sent(state="failed", entry={"error": "x" * 300, "reason": "refused"})
    factories.make_refusal(user_agent="y" * 200, last_at=timezone.now())
    operator.resize(size)
    operator.open(reverse("admin:index"))
    assert operator.sees("Messages an hour")
    assert not operator.is_too_wide()
