"""What an operator switches in a browser holds for the next turn of the real worker."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from core.database import give_back
from core.models import Bot, Chat
from tests.browser.conftest import DESKTOP, PASSWORD, Browser
from tests.fakes.model import Script
from tests.fakes.model_fixtures import script, scripted_model
from tests.fakes.site import Site
from tests.flows.conftest import NAPCAT, Platform, bot, platform, site
from tests.flows.waiting import ended_turns, rows

__all__ = ["bot", "platform", "script", "scripted_model", "site"]
pytestmark = pytest.mark.browser
GROUP = "group:20001"


@pytest.fixture
def at_site(chromium: Browser, site: Site, django_db_blocker: DjangoDbBlocker) -> Iterator[Browser]:
    """A browser in which an operator of the real site has logged in."""
    with django_db_blocker.unblock():
        person = User.objects.create_superuser(f"operator-{time.time_ns()}")
        # The site reads other hashes than the fast ones of the tests.
        person.password = PBKDF2PasswordHasher().encode(PASSWORD, "saltofthetest", iterations=1000)
        person.save(update_fields=["password"])
        give_back()
        chromium.base = site.url
        chromium.resize(DESKTOP)
        chromium.chrome.delete_all_cookies()
        chromium.open("/admin/login/?next=/admin/")
        chromium.find("[name=username]").send_keys(person.username)
        chromium.find("[name=password]").send_keys(PASSWORD)
        chromium.find("[name=password]").submit()
        chromium.sees("What waits")
        yield chromium
        chromium.leave()
        person.delete()
        give_back()


async def test_a_capability_that_is_switched_off_is_gone_from_the_next_request(
    at_site: Browser, platform: Platform, script: Script, bot: Bot
) -> None:
    def offered(request: int) -> set[str]:
        return {tool["function"]["name"] for tool in script.requests[request]["tools"]}

    def switch_off(chat: Chat) -> None:
        at_site.open(reverse("admin:core_chat_change", args=[chat.pk]))
        at_site.find("select[name=switch_poke_send] option[value=off]").click()
        at_site.find("button[name=_continue], input[name=_continue]").click()
        at_site.sees("was changed successfully")

    script.reply()
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "one", mention_bot=True)
        await ended_turns(bot, 1)
        (chat,) = await rows(Chat.objects.filter(bot=bot))
        await asyncio.to_thread(switch_off, chat)
        await onebot.say(GROUP, 10002, "two", mention_bot=True)
        await ended_turns(bot, 2)
    assert offered(0) - offered(1) == {"poke_send"}
    assert offered(1) < offered(0)
