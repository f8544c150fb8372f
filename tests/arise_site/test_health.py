"""/healthz and /readyz with real parts: there, gone, and hanging."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.db import connections
from django.test import AsyncClient, Client
from pytest_django import Settings

from arise_site import health, probes
from arise_site.celery import app
from arise_site.embedded.locations import celery_broker_url

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "look", health.SharedLook())


@pytest.fixture
def quiet_broker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same server in a corner of its own, where no other worker listens."""
    url = str(settings.REDIS_URL).partition("?")[0]
    corner = (
        f"{url}?db=13" if url.startswith("unix:") else urlsplit(url)._replace(path="/13").geturl()
    )
    _use_broker(settings, monkeypatch, corner)
    return corner


@pytest.fixture
def hanging_port() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield int(door.getsockname()[1])


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def _use_broker(settings: Settings, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    settings.REDIS_URL = url
    monkeypatch.setattr(app.conf, "broker_url", celery_broker_url(url))


def _use_database(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    for name, value in {"HOST": "127.0.0.1", "PORT": str(port), "PASSWORD": "hidden"}.items():
        monkeypatch.setitem(connections.settings["default"], name, value)


def test_healthz_asks_nothing(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    _use_database(monkeypatch, closed_port)
    _use_broker(settings, monkeypatch, f"redis://127.0.0.1:{closed_port}/0")
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert client.post("/healthz").status_code == 405


def test_readyz_names_the_missing_worker(client: Client, quiet_broker: str) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "failing": {"worker": "no worker answers"}}
    assert "no-store" in response["Cache-Control"]


@pytest.fixture
def worker(quiet_broker: str) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "arise_site.celery", "worker", "-c", "1"]
    program = subprocess.Popen(
        command,
        env={**os.environ, "REDIS_URL": quiet_broker},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield
    program.terminate()
    program.wait(20)


@pytest.mark.usefixtures("worker")
async def test_readyz_is_ready_with_a_real_worker_and_under_asgi() -> None:
    deadline = time.monotonic() + 40
    while (response := await AsyncClient().get("/readyz")).status_code != 200:
        assert time.monotonic() < deadline, response.content
    assert response.json() == {"status": "ready"}


def test_a_change_is_logged_once(
    client: Client, quiet_broker: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        client.get("/readyz")
        health.look.forget()
    assert [record.getMessage() for record in caplog.records] == [
        "not ready: worker: no worker answers"
    ]


def test_readyz_names_a_dead_broker(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    _use_broker(settings, monkeypatch, f"redis://:hidden@127.0.0.1:{closed_port}/0")
    response = client.get("/readyz")
    assert response.status_code == 503
    failing = response.json()["failing"]
    assert set(failing) == {"broker", "worker"}
    assert "refused" in failing["broker"]
    assert "hidden" not in response.text


def test_readyz_names_a_dead_database(
    client: Client, quiet_broker: str, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    _use_database(monkeypatch, closed_port)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "refused" in response.json()["failing"]["database"]
    assert "hidden" not in response.text
    assert "\n" not in response.json()["failing"]["database"]


def test_hanging_parts_are_named_and_not_waited_for(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, hanging_port: int
) -> None:
    _use_database(monkeypatch, hanging_port)
    _use_broker(settings, monkeypatch, f"redis://127.0.0.1:{hanging_port}/0")
    failing = client.get("/readyz").json()["failing"]
    assert set(failing) == {"database", "broker", "worker"}
    _wait_for_probes_to_end()


def _wait_for_probes_to_end() -> None:
    """Whatever hangs, a process does not fill with threads that wait for it."""
    deadline = time.monotonic() + 10
    while any("_ask" in thread.name for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_many_polls_share_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def why_not() -> dict[str, str]:
        looks.append("a look")
        time.sleep(0.1)
        return {}

    monkeypatch.setattr(probes, "why_not", why_not)
    polls = [threading.Thread(target=health.look) for _ in range(20)]
    for poll in polls:
        poll.start()
    for poll in polls:
        poll.join()
    assert len(looks) == 1
    health.look.forget()
    health.look()
    assert len(looks) == 2


def test_an_error_is_shown_without_secrets(settings: Settings) -> None:
    settings.ARISE_MODEL_API_KEY = "key-of-the-model"
    words = probes.plain(ValueError("redis://u:p4ss@h/0\nkey-of-the-model sk-0123456789"))
    assert words == "ValueError: redis://***@h/0 *** ***"
