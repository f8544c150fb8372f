"""The site's own checks for `manage.py doctor`: the services, the model, the media store."""

import http.client
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

from arise_site import probes
from core import doctor
from core.doctor import Finding
from core.errors import ModelFailure
from core.llm import client
from core.models import Bot

_OLDEST_POSTGRES = 150000
_SCARCE_BYTES = 500 * 1024 * 1024
_MODEL_SECONDS = 5.0


@doctor.register
def web() -> Iterable[Finding]:
    if web_answers():
        yield Finding("web", "ok", _("answers on port %(port)s") % {"port": settings.ARISE_PORT})
    else:
        yield Finding(
            "web",
            "warning",
            _("nothing of arise on port %(port)s") % {"port": settings.ARISE_PORT},
            not_running(),
        )


def not_running() -> str:
    """The advice where all that is missing is that arise runs."""
    return _("arise is not running: make run")


def web_answers() -> bool:
    """Whether it is arise that answers where the web process should listen."""
    host = settings.ARISE_HOST
    names = [name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))]
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    asked = http.client.HTTPConnection(target, settings.ARISE_PORT, timeout=2)
    try:
        asked.request("GET", "/healthz", headers={"Host": names[0]} if names else {})
        return bool(json.loads(asked.getresponse().read(1000)) == {"status": "ok"})
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        asked.close()


@doctor.register
def database() -> Iterable[Finding]:
    """Reachable, recent enough, migrated; then the extension, which needs the first to be asked."""
    silent = probes.why_not({"database": probes.database})
    if silent:
        embedded = settings.EMBEDDED_DATABASE
        advice = not_running() if embedded else _("check DATABASE_URL, and that the server is up")
        yield Finding(_("database"), "broken", silent["database"], advice)
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        number = int(cursor.fetchone()[0])
    served = _("Postgres %(major)s.%(minor)s, database %(name)s") % {
        "major": number // 10000,
        "minor": number % 10000,
        "name": database_name(),
    }
    unapplied = _unapplied()
    if number < _OLDEST_POSTGRES:
        yield Finding(_("database"), "broken", served, _("Postgres 15 or later is needed"))
    elif unapplied:
        lacks = _("%(served)s: %(count)s migrations to apply, %(first)s first") % {
            "served": served,
            "count": len(unapplied),
            "first": unapplied[0],
        }
        yield Finding(
            _("database"), "broken", lacks, _("make run applies them (or manage.py migrate)")
        )
    else:
        yield Finding(_("database"), "ok", _("%(served)s, migrated") % {"served": served})
    yield pgvector()


def _unapplied() -> list[str]:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan]


def database_name() -> str:
    return str(connection.settings_dict["NAME"])


def pgvector() -> Finding:
    """Whether the extension is there, or else who can make it and how; `up` may ask too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        if row := cursor.fetchone():
            return Finding("pgvector", "ok", _("version %(version)s") % {"version": row[0]})
        cursor.execute(
            "SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector'"
        )
        trusted = cursor.fetchone()[0]
        cursor.execute("SELECT rolsuper, rolname FROM pg_roles WHERE rolname = current_user")
        is_superuser, role = cursor.fetchone()
    if trusted is None:
        advice = _("install the pgvector package of that Postgres version, then run doctor again")
        return Finding("pgvector", "broken", _("not installed on the database server"), advice)
    if is_superuser or trusted:
        return Finding("pgvector", "broken", _("not made yet"), _("make run makes it"))
    message = _("not made yet, and the role %(role)s may not make it") % {"role": role}
    return Finding("pgvector", "broken", message, pgvector_advice(database_name()))


def pgvector_advice(name: str) -> str:
    """The exact words for an administrator of the database."""
    return _('as a superuser, in the database "%(name)s", run: CREATE EXTENSION vector;') % {
        "name": name
    }


@doctor.register
def broker_and_worker() -> Iterable[Finding]:
    silent = probes.why_not({"broker": probes.broker, "worker": probes.worker})
    if "broker" in silent:
        advice = (
            not_running() if settings.EMBEDDED_BROKER else _("check REDIS_URL, and that it is up")
        )
        yield Finding(_("broker"), "broken", silent["broker"], advice)
        yield Finding(_("worker"), "warning", silent["worker"], _("see broker"))
        return
    yield Finding(_("broker"), "ok", _broker_version())
    if "worker" not in silent:
        yield Finding(_("worker"), "ok", _("answers"))
        return
    started = _("it should come back by itself: see what `make run` prints")
    yield Finding(
        _("worker"), "broken", silent["worker"], started if web_answers() else not_running()
    )


def _broker_version() -> str:
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as server:
        try:
            told = server.info("server")
        except redis.RedisError:  # it may be forbidden, and is nothing that is needed
            return _("answers")
    name = "Valkey" if "valkey_version" in told else "Redis"
    return f"{name} {told.get('valkey_version') or told.get('redis_version')}"


@doctor.register
def model() -> Iterable[Finding]:
    """Asks for the list of models, which no endpoint bills."""
    if settings.ARISE_DEMO_MODEL:
        message = _(
            "the built-in demo model serves (scripted, no language model), only while `up` runs"
        )
        advice = _(
            "for a real one put OPENAI_API_KEY or OPENAI_BASE_URL, and ARISE_CHAT_MODEL, into .env"
        )
        yield Finding(_("model"), "warning", message, advice)
        return
    where = settings.ARISE_MODEL_BASE_URL or "OpenAI"
    try:
        listed = client.list_models(seconds=_MODEL_SECONDS)
    except ModelFailure as failure:
        yield _model_failure(where, failure)
        return
    unlisted = sorted(name for name in _models() if listed and name not in listed)
    if unlisted:
        message = _("%(where)s answers, but does not list %(names)s") % {
            "where": where,
            "names": ", ".join(unlisted),
        }
        yield Finding(
            _("model"),
            "warning",
            message,
            _(
                "check ARISE_CHAT_MODEL, ARISE_VISION_MODEL, ARISE_EMBEDDING_MODEL, "
                "ARISE_TTS_MODEL and the bots' chat model"
            ),
        )
    else:
        yield Finding(
            _("model"),
            "ok",
            _("%(model)s at %(where)s") % {"model": settings.ARISE_CHAT_MODEL, "where": where},
        )


def _model_failure(where: str, failure: ModelFailure) -> Finding:
    message = f"{where}: {failure.detail}"
    if failure.detail.startswith(("HTTP 401", "HTTP 403")):
        return Finding(
            _("model"), "broken", message, _("the key is not accepted: check OPENAI_API_KEY")
        )
    if failure.detail.startswith(("HTTP 404", "HTTP 405", "HTTP 501")):
        listless = _("%(where)s answers, but lists no models (%(detail)s)") % {
            "where": where,
            "detail": failure.detail,
        }
        return Finding(
            _("model"), "warning", listless, _("if turns fail too, check OPENAI_BASE_URL")
        )
    if failure.code == "rate_limited":
        return Finding(_("model"), "warning", message, _("the endpoint wants fewer calls for now"))
    return Finding(
        _("model"), "broken", message, _("check OPENAI_BASE_URL, and that the endpoint is up")
    )


def _models() -> set[str]:
    names = set(
        filter(
            None,
            (
                settings.ARISE_CHAT_MODEL,
                settings.ARISE_VISION_MODEL,
                settings.ARISE_EMBEDDING_MODEL,
                settings.ARISE_TTS_MODEL,
            ),
        )
    )
    if not probes.why_not({"database": probes.database}):
        own = Bot.objects.filter(enabled=True).exclude(chat_model="")
        names |= set(own.values_list("chat_model", flat=True))
    return names


@doctor.register
def media_store() -> Iterable[Finding]:
    """Writes where media will be kept; while the folder is not made, where it will be made."""
    folder = Path(settings.MEDIA_ROOT)
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"arise")
        free = shutil.disk_usage(existing).free
    except OSError as error:
        advice = _("let the user %(user)s write there, or set ARISE_HOME") % {"user": _user()}
        yield Finding(
            _("media store"),
            "broken",
            _("can't write in %(folder)s: %(reason)s")
            % {"folder": existing, "reason": error.strerror},
            advice,
        )
        return
    room = _("%(folder)s, %(free)s MiB free") % {"folder": folder, "free": free // 1024**2}
    if free < _SCARCE_BYTES:
        yield Finding(_("media store"), "warning", room, _("make room on that disk"))
    else:
        yield Finding(_("media store"), "ok", room)


def _user() -> str:
    return _("number %(number)s") % {"number": os.geteuid()}
