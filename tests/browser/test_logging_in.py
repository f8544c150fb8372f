"""People log in, also with a second factor, and no page of the console breaks its own policy."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django.live_server_helper import LiveServer

from core.models import OutboxEntry
from tests.arise_site.test_console import fill
from tests.browser.conftest import DESKTOP, PASSWORD, Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def stranger(chromium: Browser, live_server: LiveServer) -> Browser:
    """A browser in which nobody has logged in; `ann` may."""
    User.objects.create_superuser("ann", password=PASSWORD)
    chromium.base = str(live_server)
    chromium.resize(DESKTOP)
    chromium.chrome.delete_all_cookies()
    chromium.complaints()
    return chromium


def give_password(browser: Browser, password: str = PASSWORD) -> None:
    browser.open("/admin/core/chat/")
    browser.find("[name=username]").send_keys("ann")
    browser.find("[name=password]").send_keys(password)
    browser.button("Log in arrow_forward").click()


def test_the_first_log_in_leads_to_what_was_asked_for(stranger: Browser) -> None:
    give_password(stranger)
    stranger.find("#changelist")
    assert stranger.complaints() == []


def test_a_wrong_password_is_told(stranger: Browser) -> None:
    give_password(stranger, "wrong")
    assert stranger.sees("Please enter the correct username and password")


def test_a_person_sets_up_a_second_factor_and_is_asked_for_it(stranger: Browser) -> None:
    give_password(stranger)
    stranger.find("#changelist")
    stranger.open("/admin/second-factor/set-up/")
    assert stranger.find(".arise-qr svg").size["width"] > 100
    device = TOTPDevice.objects.get()
    stranger.find("[name=code]").send_keys(f"{totp(device.bin_key):06d}")
    stranger.button("Switch it on").click()
    assert stranger.sees("Each of these codes lets you in once")
    backup = stranger.find(".arise-codes code").text
    stranger.find(".arise-button.main").click()
    assert stranger.sees("What waits")

    stranger.chrome.delete_all_cookies()
    give_password(stranger)
    assert stranger.sees("The code that your authenticator app shows now")
    stranger.find("[name=code]").send_keys(backup)
    stranger.button("Go on").click()
    stranger.find("#changelist")
    assert stranger.complaints() == []


def pages() -> list[str]:
    """Every list and every page of a row, and what else the console has of its own."""
    found = ["/admin/", "/admin/second-factor/", "/admin/second-factor/set-up/", "/admin/core/"]
    found += [reverse("admin:skills_skill_import"), reverse("admin:password_change")]
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        found.append(reverse(f"{name}_changelist"))
        row = model._default_manager.order_by("-pk").first()
        if row is not None:
            acts = ("change", "history", "delete")
            found += [reverse(f"{name}_{act}", args=[row.pk]) for act in acts]
        found.append(reverse(f"{name}_add"))
    return found


def test_no_page_breaks_the_policy(operator: Browser) -> None:
    fill()
    OutboxEntry.objects.update(state="unknown")
    operator.complaints()
    broken: dict[str, list[str]] = {}
    for page in pages():
        operator.open(page)
        operator.find("body")
        complaints = [told for told in operator.complaints() if "403" not in told]
        if complaints:
            broken[page] = complaints
    assert broken == {}


def test_the_themes_own_scripts_work_under_the_policy(operator: Browser) -> None:
    """Its menus and its dark mode are made by scripts in attributes, which the policy must let run."""
    operator.open("/admin/core/chat/")
    operator.find("#changelist")
    cloaked = "return getComputedStyle(document.documentElement).display"
    assert operator.chrome.execute_script(cloaked) != "none"
    assert operator.complaints() == []
