"""`manage.py doctor`: what each part's finding says, and how the command tells it."""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from arise_site import checks
from arise_site.openai_server import ChatCompletionsServer, Reply
from botgateway import checks as gateway_checks
from botgateway.models import Connection, RefusedConnection
from core import doctor
from core.doctor import Finding
from core.errors import ModelFailure
from core.models import Bot

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint(settings: Settings) -> Iterator[ChatCompletionsServer]:
    server = ChatCompletionsServer(lambda request: Reply(), models=("good-model",))
    server.start()
    settings.ARISE_DEMO_MODEL = False
    settings.ARISE_MODEL_BASE_URL = server.url
    settings.ARISE_CHAT_MODEL = "good-model"
    yield server
    server.stop()


def only(findings: Any) -> Finding:
    (finding,) = findings
    assert isinstance(finding, Finding)
    return finding


def run(*arguments: str) -> tuple[str, int]:
    out = StringIO()
    try:
        call_command("doctor", *arguments, stdout=out, no_color=True)
    except SystemExit as end:
        return out.getvalue(), int(str(end.code))
    return out.getvalue(), 0


def having(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr(doctor, "_checks", [lambda: findings])


def test_it_asks_every_part() -> None:
    out, _ = run("--json")
    lines = [json.loads(line) for line in out.splitlines()]
    names = {line["name"] for line in lines}
    assert {
        "bots",
        "web",
        "database",
        "pgvector",
        "broker",
        "worker",
        "model",
        "media store",
    } <= names
    assert all(set(line) == {"name", "state", "message", "advice"} for line in lines)


def test_a_warning_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, Finding("a", "ok", "fine"), Finding("b", "warning", "hm", "do this"))
    out, code = run()
    assert code == 0
    assert out.splitlines() == ["ok      a: fine", "warning b: hm", "        -> do this"]


def test_something_broken_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    having(monkeypatch, Finding("a", "broken", "gone", "mend it"))
    out, code = run()
    assert code == 1
    assert out.startswith("BROKEN  a: gone")
    assert run("--json")[1] == 1


def test_it_shows_no_secret(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.ARISE_MODEL_API_KEY = "key-of-the-model"

    def crash() -> Iterator[Finding]:
        raise RuntimeError("key-of-the-model at redis://:p4ss@h")

    monkeypatch.setattr(doctor, "_checks", [crash])
    for arguments in ([], ["--json"]):
        out, code = run(*arguments)
        assert code == 1
        assert "key-of" not in out
        assert "p4ss" not in out


def test_the_database_is_migrated_and_has_pgvector() -> None:
    database, extension = checks.database()
    assert (database.name, database.state) == ("database", "ok")
    assert "Postgres" in database.message
    assert (extension.name, extension.state) == ("pgvector", "ok")


def test_a_migration_to_apply_is_named() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'skills'")
    database, _ = checks.database()
    assert database.state == "broken"
    assert "skills.0001_first" in database.message


def test_a_role_that_may_not_make_pgvector_gets_the_exact_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP EXTENSION vector CASCADE")
        assert checks.pgvector().advice == "make run makes it"
        cursor.execute("CREATE ROLE arise_plain NOSUPERUSER")
        cursor.execute("SET LOCAL ROLE arise_plain")
        finding = checks.pgvector()
    assert finding.state == "broken"
    assert "arise_plain" in finding.message
    assert finding.advice.endswith("run: CREATE EXTENSION vector;")
    assert checks.database_name() in finding.advice


def test_the_web_process_is_found(live_server: Any, settings: Settings) -> None:
    settings.ARISE_PORT = live_server.thread.port
    settings.ARISE_HOST = "0.0.0.0"  # noqa: S104  (as an operator sets it; nothing is bound)
    assert only(checks.web()).state == "ok"


def test_no_web_process_means_that_arise_does_not_run(settings: Settings) -> None:
    settings.ARISE_PORT = 1
    finding = only(checks.web())
    assert (finding.state, finding.advice) == ("warning", "arise is not running: make run")


def test_another_program_on_the_port_is_not_arise(
    settings: Settings, endpoint: ChatCompletionsServer
) -> None:
    settings.ARISE_PORT = endpoint.server_port
    assert only(checks.web()).state == "warning"


def test_a_dead_broker_is_broken_and_the_worker_not_asked(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    broker, worker = checks.broker_and_worker()
    assert broker.state == "broken"
    assert worker.state in {"warning", "ok"}


def test_the_demo_model_is_named_as_what_it_is(settings: Settings) -> None:
    settings.ARISE_DEMO_MODEL = True
    finding = only(checks.model())
    assert "built-in demo model" in finding.message
    assert "only while `up` runs" in finding.message
    assert "OPENAI_API_KEY" in finding.advice


def test_a_real_endpoint_is_asked_for_its_models(endpoint: ChatCompletionsServer) -> None:
    assert only(checks.model()).state == "ok"


def test_models_that_are_not_listed_are_named(
    endpoint: ChatCompletionsServer, settings: Settings
) -> None:
    Bot.objects.create(self_id="10000", chat_model="odd-model")
    settings.ARISE_TTS_MODEL = "odd-voice"
    settings.ARISE_EMBEDDING_MODEL = "odd-embedding"
    finding = only(checks.model())
    assert finding.state == "warning"
    assert "odd-embedding, odd-model, odd-voice" in finding.message
    assert "ARISE_TTS_MODEL" in finding.advice


@pytest.mark.parametrize(
    ("code", "detail", "state", "advice"),
    [
        ("refused", "HTTP 401: wrong key", "broken", "OPENAI_API_KEY"),
        ("refused", "HTTP 404: no such page", "warning", "OPENAI_BASE_URL"),
        ("rate_limited", "HTTP 429: slow down", "warning", "fewer"),
        ("unreachable", "nobody there", "broken", "OPENAI_BASE_URL"),
    ],
)
def test_what_is_wrong_with_an_endpoint(code: str, detail: str, state: str, advice: str) -> None:
    finding = checks._model_failure("http://x", ModelFailure(code, detail))
    assert finding.state == state
    assert advice in finding.advice


def test_an_endpoint_that_is_gone_is_broken(settings: Settings) -> None:
    settings.ARISE_DEMO_MODEL = False
    settings.ARISE_MODEL_BASE_URL = "http://127.0.0.1:1/v1"
    assert only(checks.model()).state == "broken"


def test_the_media_store_is_written_to(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "not" / "yet"
    assert only(checks.media_store()).state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_media_store_that_can_not_be_written_is_broken(settings: Settings) -> None:
    settings.MEDIA_ROOT = Path("/proc/arise/media")
    assert only(checks.media_store()).state == "broken"


def test_no_bot_yet_says_how_to_make_one() -> None:
    assert "addbot" in only(gateway_checks.connections()).advice


def test_a_bot_that_is_not_connected_is_told_where_to_connect(settings: Settings) -> None:
    settings.ARISE_PORT = 8123
    bot = Bot.objects.create(self_id="10000")
    Bot.objects.create(self_id="10009", enabled=False)
    RefusedConnection.objects.create(
        self_id=bot.self_id, reason="wrong_token", attempts=3, last_at=timezone.now()
    )
    finding = only(gateway_checks.connections())
    assert finding.name == "bot 10000"
    assert finding.message == "not connected; refused 3 times: wrong token"
    assert "ws://127.0.0.1:8123/onebot/v11/ws" in finding.advice
    assert "addbot 10000 --rotate" in finding.advice


def test_the_simulators_bot_is_told_apart_from_a_real_one() -> None:
    Bot.objects.create(self_id="1000", name="Simulator")
    assert "manage.py simulate" in only(gateway_checks.connections()).advice


def test_a_playground_is_missed_by_nobody() -> None:
    Bot.objects.create(self_id="9000000001", is_playground=True)
    assert list(gateway_checks.connections()) == []


@pytest.mark.parametrize(
    ("fields", "state", "words"),
    [
        ({}, "ok", "NapCat 4.8 connected, last frame 5 s ago"),
        ({"online": False}, "warning", "logged out"),
        ({"age": timedelta(hours=1)}, "warning", "last frame 3600 s ago"),
        ({"role": "event"}, "warning", "as Event only"),
        ({"closed_at": timezone.now()}, "warning", "not connected"),
        ({"reports_own": True}, "ok", "last frame 5 s ago"),
        ({"reports_own": False}, "ok", "does not report the bot's own messages"),
    ],
)
def test_a_connection_is_judged(fields: dict[str, Any], state: str, words: str) -> None:
    fields = dict(fields)
    bot = Bot.objects.create(self_id="10000")
    heard_at = timezone.now() - fields.pop("age", timedelta(seconds=5))
    known = {"role": "universal", "implementation": "NapCat", "version": "4.8"} | fields
    Connection.objects.create(bot=bot, process="here:1", last_frame_at=heard_at, **known)
    finding = only(gateway_checks.connections())
    assert finding.state == state
    assert words in finding.message


def test_own_messages_that_are_not_reported_are_a_warning_where_a_setting_mends_it() -> None:
    heard_at = timezone.now()
    bot = Bot.objects.create(self_id="10000")
    silent = {"bot": bot, "role": "universal", "process": "here:1", "last_frame_at": heard_at}
    Connection.objects.create(**silent, implementation="go-cqhttp", reports_own=False)
    finding = only(gateway_checks.connections())
    assert finding.state == "warning"
    assert "report-self-message in go-cqhttp's config.yml" in finding.advice
