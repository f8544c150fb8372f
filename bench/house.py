"""What the benches stand on: a home of their own, its servers, the site, and bots.

Measures nothing itself. Postgres runs as `manage.py up` runs it, with every commit on the disk.
"""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import django
import psutil
import psycopg
from django.core.management import call_command
from django.db import connection

from arise_site.embedded import locations
from arise_site.embedded.servers import Servers
from arise_site.env import Environment
from core import tokens
from tests.fakes.model import ScriptedModel
from tests.fakes.onebot import FakeOneBot
from tests.fakes.site import WAITS, Site

TOKEN = "a-token-of-the-bench"
MODEL = "bench"
LEFT_OUT = ("OPENAI_", "ARISE_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "HOST", "PORT")
Rows = list[tuple[Any, ...]]


def defaults() -> dict[str, str]:
    """The waits that an operator gets who sets none, as environment variables."""
    fields = Environment.model_fields
    return {name: str(fields[name.lower()].default) for name in WAITS}


def forget_the_operator() -> None:
    """Leave out of the environment what would change what is measured; end in order on SIGTERM."""
    for name in list(os.environ):
        if name.startswith(LEFT_OUT):
            del os.environ[name]
    os.environ["NO_PROXY"] = "127.0.0.1,localhost"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """A folder that becomes ARISE_HOME, and is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="arise-bench-"))
    folder.chmod(0o755)  # as root, Postgres runs under another account
    try:
        yield folder
    finally:
        data = (folder / "pg").resolve()
        shutil.rmtree(folder, ignore_errors=True)
        if data.name.startswith("home-"):  # where the account of Postgres can't reach our folder
            shutil.rmtree(data, ignore_errors=True)


@contextlib.contextmanager
def services(*, fast: bool = False) -> Iterator[Servers]:
    """A migrated database and a broker of our own; Django here uses them, and so does the site.

    `fast`: a commit does not wait for the disk.
    """
    forget_the_operator()
    with home() as folder:
        os.environ.update(
            ARISE_HOME=str(folder),
            DATABASE_URL=locations.database_url(folder),
            REDIS_URL=locations.redis_url(folder),
            DJANGO_SETTINGS_MODULE="arise_site.settings",
            ARISE_LOG_LEVEL="WARNING",
        )
        servers = Servers(folder, fast=fast)
        servers.claim()
        try:
            servers.start()
            django.setup()
            call_command("migrate", verbosity=0)
            yield servers
        finally:
            let_go()
            servers.stop()


def let_go() -> None:
    """Close this process's own connections to the database."""
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # Django's stubs lack it


@contextlib.contextmanager
def running_site(model: ScriptedModel, **environment: str) -> Iterator[Site]:
    """Web process and worker with an operator's own waits, but for `environment`."""
    logs = Path(os.environ["ARISE_HOME"]) / "log"
    settings = {**defaults(), "ARISE_CHAT_MODEL": MODEL, **environment}
    site = Site(model_url=model.url, logs=logs, **settings)
    try:
        site.start()
        yield site
    finally:
        site.stop()


@contextlib.contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """The scripted model over HTTP, in this process."""
    model = ScriptedModel()
    try:
        yield model
    finally:
        model.stop()


def add_bots(count: int) -> list[str]:
    """So many bots; their accounts. TOKEN is the token of all of them."""
    accounts = [str(1_000_000 + number) for number in range(count)]
    digest = tokens.hash_token(TOKEN)
    for account in accounts:
        call_command("addbot", account, "--name", "Bench", "--token", TOKEN, stdout=StringIO())
    assert rows("SELECT count(*) FROM core_bot WHERE token_hash = %s", digest) == [(count,)]
    return accounts


def lift_cap(account: str, chat: str) -> None:
    """Let a chat have more turns than its daily cap of model calls allows."""
    call_command("chatset", account, chat, "daily_model_calls=1000000", stdout=StringIO())
    let_go()


def onebot(site: Site, account: str) -> FakeOneBot:
    """An implementation of the bot, not connected yet, without heartbeats."""
    return FakeOneBot(site.gateway_url, self_id=account, token=TOKEN)


def database() -> psycopg.Connection[Any]:
    """A connection of our own, beside Django's."""
    values = connection.settings_dict
    return psycopg.connect(
        host=str(values["HOST"]),
        user=str(values["USER"]),
        dbname=str(values["NAME"]),
        autocommit=True,
        application_name="bench",
    )


def rows(query: str, *values: Any) -> Rows:
    """The rows of one query, over a connection of its own (so any thread may ask)."""
    with database() as own:
        return own.execute(query.encode(), values).fetchall()


def process(site: Site, name: str) -> psutil.Process:
    """One of the site's processes, to be measured."""
    return psutil.Process(site.processes[name].pid)
