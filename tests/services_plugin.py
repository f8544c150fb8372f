"""Loaded with `-p`, before anything reads the settings: real services for the tests, from the wheels.

One Postgres and one Valkey in a folder of their own serve all workers of a run. DATABASE_URL or
REDIS_URL name real ones instead. Nothing of the developer's own home or model is touched.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from arise_site.embedded import locations
from arise_site.embedded.servers import Servers

# Set by the run that started the services: workers, which inherit it, start none.
STARTED = "ARISE_TEST_SERVICES"


class TestServices:
    """The folder and the servers of one test run."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="arise-test-"))
        self.home.chmod(0o755)  # as root, Postgres runs under another account
        self.database_url = os.environ.get("DATABASE_URL", "")
        self.redis_url = os.environ.get("REDIS_URL", "")
        self.servers = Servers(
            self.home, database=not self.database_url, broker=not self.redis_url, fast=True
        )

    def start(self) -> None:
        os.environ[STARTED] = str(os.getpid())
        # Importing arise_site names the site's own settings where nothing is named.
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        os.environ["ARISE_HOME"] = str(self.home)
        os.environ["ARISE_ENV_FILE"] = os.devnull  # a developer's `.env` is not the tests' business
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            del os.environ[name]
        if self.servers.members:
            self.servers.claim()
            self.servers.start()
        os.environ["DATABASE_URL"] = self.database_url or locations.database_url(self.home)
        os.environ["REDIS_URL"] = self.redis_url or locations.redis_url(self.home)

    def stop(self) -> None:
        if self.servers.members:
            self.servers.stop()
        shutil.rmtree(self.home, ignore_errors=True)


def use_own_broker_database(worker: str) -> None:
    """Give an xdist worker (`gw0`, `gw1` …) a database of the broker for itself: the processes
    that it starts must not take the tasks of another one's."""
    address = urlsplit(os.environ["REDIS_URL"])
    number = int(worker.removeprefix("gw")) + 1
    if address.scheme == "unix":
        address = address._replace(query=f"db={number}")
    else:
        address = address._replace(path=f"/{number}")
    # Not urlunsplit, which writes unix:///path as unix:/path.
    query = f"?{address.query}" if address.query else ""
    os.environ["REDIS_URL"] = f"{address.scheme}://{address.netloc}{address.path}{query}"


if STARTED not in os.environ:
    _services = TestServices()
    # Not a hook: the end must come after all that could still fail, and after all workers.
    atexit.register(_services.stop)
    _services.start()
elif "PYTEST_XDIST_WORKER" in os.environ:
    use_own_broker_database(os.environ["PYTEST_XDIST_WORKER"])
