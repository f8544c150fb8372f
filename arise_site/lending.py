"""manage.py's way in: a command that needs the embedded database gets it for as long as it runs.

Whoever comes first starts the servers; commands that come meanwhile use them too, and the first
waits for them before it stops what it started. While `up` runs, all of them use its servers.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand
from django.db import OperationalError, connections
from django.utils import translation

from arise_site import database, languages
from arise_site.embedded.accounts import EmbeddedError
from arise_site.embedded.servers import Servers
from arise_site.languages import early as _

# `up` runs the servers itself; the others look at code and files only.
NEEDS_NO_DATABASE = frozenset(
    {
        "up", "help", "version", "check", "makemigrations", "makemessages", "compilemessages",
        "collectstatic", "findstatic", "diffsettings", "startapp", "startproject", "sendtestemail",
    }
)  # fmt: skip
LOOKS_AT_MIGRATIONS = frozenset(
    {"migrate", "showmigrations", "sqlmigrate", "squashmigrations", "optimizemigration", "flush"}
)


class Commands(ManagementUtility):
    """Django's way in, in the language of the terminal."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        # Not before: the catalogue needs the apps, which are loaded by now.
        translation.activate(languages.of_terminal(os.environ))
        return super().fetch_command(subcommand)


def run(argv: list[str]) -> None:
    """Run a management command; what an operator can mend is said in one line, without a trace."""
    try:
        with database_for(argv):
            Commands(argv).execute()
    except (EmbeddedError, database.SetUpError, ImproperlyConfigured) as error:
        sys.exit(f"arise: {error}")
    except OperationalError as error:
        if "--traceback" in argv:
            raise
        told = _("the database does not answer: %(error)s") % {"error": database.one_line(error)}
        sys.exit(f"arise: {told}")
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; keep the interpreter from saying so.
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.exit(1)
    except OSError as error:
        if "--traceback" in argv or error.filename is None:
            raise
        told = _(
            "%(file)s: %(reason)s: run as the user who owns it, or set ARISE_HOME to a folder of"
            " your own"
        ) % {"file": error.filename, "reason": error.strerror}
        sys.exit(f"arise: {told}")
    except KeyboardInterrupt:
        sys.exit(130)


def database_for(argv: list[str]) -> contextlib.AbstractContextManager[None]:
    """What must be there while this command runs."""
    command = argv[1] if len(argv) > 1 else "help"
    if command in NEEDS_NO_DATABASE or {"-h", "--help", "--version"} & set(argv):
        return contextlib.nullcontext()
    django.setup()  # until then Django knows, and remembers, its own commands only
    translation.activate(languages.of_terminal(os.environ))
    if command not in get_commands():
        return contextlib.nullcontext()
    if not settings.EMBEDDED_DATABASE and command != "doctor":  # which tells it in its own way
        database.check_given_database(lambda _: "")
    if not (settings.EMBEDDED_DATABASE or settings.EMBEDDED_BROKER):
        return contextlib.nullcontext()
    return lent(migrate=command not in LOOKS_AT_MIGRATIONS)


@contextlib.contextmanager
def lent(*, migrate: bool, poll_seconds: float = 0.1) -> Iterator[None]:
    """Use the home's servers, started here where they do not run."""
    servers = Servers(
        settings.ARISE_HOME, database=settings.EMBEDDED_DATABASE, broker=settings.EMBEDDED_BROKER
    )
    settings.ARISE_HOME.mkdir(parents=True, exist_ok=True)
    if _join(servers, poll_seconds):
        with servers.users:
            yield
        return
    try:
        servers.start(say=say)
        if migrate and settings.EMBEDDED_DATABASE:
            database.migrate(say)
        servers.open_to_others()
        yield
    finally:
        connections.close_all()
        try:
            servers.close_to_others(give_up=lambda: False, say=say)
        finally:
            servers.stop()


def say(text: str) -> None:
    """Tell the person at the terminal; standard output belongs to the command."""
    sys.stderr.write(f"arise: {text}\n")
    sys.stderr.flush()


def _join(servers: Servers, poll_seconds: float) -> bool:
    """True: servers of another process, which waits for us; False: we hold the claim to start them."""
    told = time.monotonic() + 1
    while True:
        if servers.users.try_shared():
            if servers.answer():
                return True
            servers.users.release()
            if servers.try_claim():
                return False
        if told and time.monotonic() > told:
            say(_("waiting for the database, which another command is starting or stopping"))
            told = 0
        time.sleep(poll_seconds)
