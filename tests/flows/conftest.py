"""Flows run through the real web process and the real worker; each test has a bot of its own."""

import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError
from pytest_django import DjangoDbBlocker

from botgateway.models import RefusedConnection
from core import tokens
from core.database import give_back
from core.models import Bot
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import Site
from tests.flows.waiting import introduced

__all__ = ["script", "scripted_model"]
TOKEN = "a-token-of-the-test"
EYES = "scripted-eyes"
"""The model that the site of all flows shows stickers to."""
NAPCAT = {"app_name": "NapCat.Onebot", "app_version": "4.8.100"}


@pytest.fixture(scope="session")
def site(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    scripted_model: ScriptedModel,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """The site, started once for all flows of this test process."""
    with django_db_blocker.unblock():
        site = Site(
            model_url=scripted_model.url,
            logs=tmp_path_factory.mktemp("site"),
            ARISE_CHAT_MODEL_KINDS="image",
            ARISE_VISION_MODEL=EYES,
            ARISE_MEDIA_ALLOWED_HOSTS="127.0.0.1",
        )
    try:
        site.start()
        yield site
    finally:
        site.stop()


@pytest.fixture
def bot(site: Site, script: Script, django_db_blocker: DjangoDbBlocker) -> Iterator[Bot]:
    """A bot of this test's own, whose model is this test's script; removed with all that is its."""
    with django_db_blocker.unblock():
        bot = Bot.objects.create(
            self_id=str(10**9 + uuid.uuid4().int % 10**9),
            name="小助手",
            persona="You are a helpful bear.",
            chat_model=script.model,
            token_hash=tokens.hash_token(TOKEN),
        )
        give_back()
        yield bot
        remove(bot)


def remove(bot: Bot) -> None:
    """Remove a bot although a worker may still be writing about it."""
    RefusedConnection.objects.all().delete()
    insist(bot.delete)


def insist(delete: Callable[[], object]) -> None:
    """Delete something although a worker may still be writing about it: each try is all or nothing."""
    for tries_left in reversed(range(20)):
        try:
            delete()
        except (IntegrityError, OperationalError):  # of two that wait for each other
            if not tries_left:
                raise
            time.sleep(0.2)
        else:
            return


Platform = Callable[..., AbstractAsyncContextManager[FakeOneBot]]


@pytest.fixture
def platform(site: Site, bot: Bot) -> Platform:
    """Connects an implementation of the bot: `async with platform() as onebot`."""

    @asynccontextmanager
    async def connected(**options: Any) -> AsyncIterator[FakeOneBot]:
        """`behind_seconds`: how far the platform's clock is behind; else FakeOneBot's options. One
        that says what it is was asked for it when it is given."""
        given = {"self_id": bot.self_id, "token": TOKEN, **options}
        behind = given.pop("behind_seconds", 0)
        onebot = FakeOneBot(given.pop("url", site.gateway_url), **given)
        onebot.world.now = lambda: time.time() - behind
        async with onebot:
            if "app_name" in given or "implementation" in given:
                await introduced(bot)
            yield onebot

    return connected
