"""The playground's own door at a real web process: who is let in, and who is shown out again."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import websockets
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker
from websockets.asyncio.client import connect

from botgateway.playground import admission, bots
from botgateway.playground.pages import SOCKET
from core.database import give_back
from core.models import Bot
from tests.fakes.site import Site
from tests.flows.conftest import remove
from tests.flows.waiting import eventually, in_database, rows


@dataclass
class Page:
    """What the page of a person has: a session, and the ticket that it was given."""

    site: Site
    bot: Bot
    person: User
    session: str

    def connect(self, origin: str = "", ticket: str = "", session: str = "") -> connect:
        """Dial as the page's script does, unless told otherwise."""
        shown = ticket or admission.ticket(self.session, self.person)
        address = f"{self.site.url.replace('http', 'ws', 1)}{SOCKET}?ticket={shown}"
        cookie = f"{settings.SESSION_COOKIE_NAME}={session or self.session}"
        return connect(
            address,
            origin=websockets.Origin(origin or self.site.url),
            additional_headers={"Cookie": cookie},
            proxy=None,
        )


@pytest.fixture
def page(site: Site, django_db_blocker: DjangoDbBlocker) -> Iterator[Page]:
    with django_db_blocker.unblock():
        person = User.objects.create_superuser("player")
        client = Client()
        client.force_login(person)
        client.post(reverse("admin:core_bot_playground"))
        bot = Bot.objects.get(self_id=bots.self_id_of(person))
        give_back()
        yield Page(site, bot, person, client.cookies[settings.SESSION_COOKIE_NAME].value)
        remove(bot)
        person.delete()


@pytest.mark.parametrize(
    "changed", [{"origin": "http://127.0.0.1:1"}, {"ticket": "0" * 64}, {"session": "nobodys"}]
)
async def test_who_is_not_the_page_is_refused_at_the_handshake(
    page: Page, changed: dict[str, str]
) -> None:
    with pytest.raises(websockets.InvalidStatus, match="403"):
        async with page.connect(**changed):
            pass


async def test_the_page_is_asked_who_it_is_and_closed_when_the_right_is_gone(page: Page) -> None:
    async with page.connect() as socket:
        call = json.loads(await asyncio.wait_for(socket.recv(), 15))
        assert call["action"] == "get_login_info"
        await in_database(lambda: User.objects.update(is_superuser=False))
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await socket.send(json.dumps({"post_type": "meta_event"}))
                await asyncio.sleep(0.2)
        assert socket.close_code == 4003


async def test_a_second_page_takes_the_place_of_the_first(page: Page) -> None:
    async with page.connect() as first, page.connect():
        await asyncio.wait_for(first.wait_closed(), 15)
        assert first.close_code == 4000


async def test_a_page_that_is_closed_is_no_connection(page: Page) -> None:
    async with page.connect():
        pass
    closed = page.bot.connections.filter(closed_at__isnull=False)
    await eventually(lambda: rows(closed))
