"""The embedded servers themselves: started, killed, started again; one process at a time."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from arise_site import database
from arise_site.embedded import locations
from arise_site.embedded.accounts import EmbeddedError, postgres_account
from arise_site.embedded.postgres import Postgres, reason
from arise_site.embedded.servers import Servers
from tests.arise_site.running import CHECKOUT, processes_of, temporary_home, wait_until


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as folder:
        yield folder


@pytest.fixture
def servers(home: Path) -> Iterator[Servers]:
    running = Servers(home)  # not the fast kind, which may lose the last rows
    running.claim()
    running.start()
    try:
        yield running
    finally:
        running.stop()


def connect(home: Path) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(
        f"host={locations.postgres_folder(home)} user=postgres dbname=arise", autocommit=True
    )


def count(home: Path) -> object:
    with connect(home) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
        return row and row[0]


def test_it_has_pgvector_a_broker_and_no_port(servers: Servers, home: Path) -> None:
    with connect(home) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE kept (id int, v vector(2))")
        connection.execute("INSERT INTO kept VALUES (1, '[1,2]')")
        # Trigrams of Chinese need a locale that knows its letters.
        connection.execute("CREATE EXTENSION pg_trgm")
        shown = connection.execute("SELECT show_trgm('尴尬')").fetchone()
    assert shown
    assert shown[0]
    with redis.Redis.from_url(locations.redis_url(home)) as client:
        assert client.ping() is True
    for process in processes_of(home):
        assert not [c for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]


def test_a_role_that_may_not_make_pgvector_is_given_the_sql(servers: Servers, home: Path) -> None:
    """As on a real server: the embedded one has a superuser only."""
    with connect(home) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute("CREATE DATABASE plain")
    address = f"host={locations.postgres_folder(home)} dbname=plain"
    with psycopg.connect(f"{address} user=plain", autocommit=True) as plain:
        assert "CREATE EXTENSION vector;" in database.database_trouble(plain)
        with psycopg.connect(f"{address} user=postgres", autocommit=True) as superuser:
            superuser.execute("CREATE EXTENSION vector")
            told = database.database_trouble(plain)
            assert 'GRANT CREATE ON SCHEMA public TO "plain";' in told
            superuser.execute(told.rpartition("run there:")[2].encode())
        assert database.database_trouble(plain) == ""
    with psycopg.connect(f"{address} user=postgres", autocommit=True) as superuser:
        superuser.execute("DROP EXTENSION vector")
        assert database.database_trouble(superuser) == ""
        left = superuser.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone()
        assert left is None  # tried, and undone


def test_a_stop_leaves_no_process_and_no_socket(home: Path) -> None:
    assert processes_of(home) == []
    assert not locations.run_folder(home).exists()


def test_rows_survive_a_kill_of_the_postmaster_beside_busy_backends(
    servers: Servers, home: Path
) -> None:
    postgres, broker = servers.members
    assert postgres.process
    assert broker.process
    with connect(home) as busy:
        busy.execute("INSERT INTO kept VALUES (2, '[3,4]')")
        postgres.process.kill()
        broker.process.kill()
        postgres.process.wait()
        broker.process.wait()
        servers.restart(postgres)
        servers.restart(broker)
    assert count(home) == 2
    assert servers.answer()


def test_a_stale_pid_file_that_names_a_living_process_is_no_hindrance(home: Path) -> None:
    data = Postgres(home).data.resolve()
    account = postgres_account(data)
    bystander = subprocess.Popen(["sleep", "60"], **account.popen_arguments())
    try:
        pid_file = data / "postmaster.pid"
        pid_file.write_text(f"{bystander.pid}\n{data}\n1\n5432\n\n\n", encoding="ascii")
        account.own(pid_file)
        running = Servers(home, fast=True)
        running.claim()
        running.start()
        running.stop()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_only_one_process_runs_them_and_it_says_so(servers: Servers, home: Path) -> None:
    other = Servers(home, fast=True)
    assert other.try_claim() is False
    servers.open_to_others()
    assert other.try_claim() is False
    assert other.claim(cancelled=lambda: True, poll_seconds=0) is False
    assert other.answer()


HOLDER = """
import sys, time
from pathlib import Path
from arise_site.embedded.servers import Servers
servers = Servers(Path(sys.argv[1]), fast=True)
servers.claim()
servers.start()
print("started", flush=True)
time.sleep(600)
"""


def test_a_killed_holder_takes_its_servers_along_and_the_next_start_works(home: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home)], cwd=CHECKOUT, stdout=subprocess.PIPE
    )
    assert holder.stdout
    with holder, holder.stdout:
        assert holder.stdout.readline() == b"started\n"
        holder.kill()
    again = Servers(home, fast=True)
    again.claim()
    again.start()
    try:
        assert count(home) == 2
    finally:
        again.stop()
    wait_until(lambda: not processes_of(home), "the end of all servers")


def test_a_first_start_that_was_cut_off_is_begun_anew() -> None:
    with temporary_home() as fresh:
        (fresh / "pg.new").mkdir()
        (fresh / "pg.new" / "half").touch()
        running = Servers(fresh, broker=False, fast=True)
        running.claim()
        running.start()
        assert running.answer()
        running.stop()
        assert not (fresh / "pg.new").exists()


def test_data_of_another_release_is_refused_in_words() -> None:
    with temporary_home() as other:
        (other / "pg").mkdir()
        (other / "pg" / "PG_VERSION").write_text("17\n", encoding="ascii")
        postgres = Postgres(other, fast=True)
        postgres.account.own(other / "pg")
        postgres = Postgres(other, fast=True)
        with pytest.raises(EmbeddedError, match="made by Postgres 17"):
            postgres.prepare(lambda _: None)


def test_a_private_home_of_root_is_left_private(tmp_path: Path) -> None:
    """Postgres runs elsewhere then: data and programs in a system folder, the home untouched."""
    if os.geteuid() != 0:
        return  # an ordinary user's Postgres is the user's own process
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    with temporary_home() as system:
        servers = Servers(private / "home", broker=False, fast=True)
        servers.members = [Postgres(private / "home", fast=True, system=system)]
        servers.claim()
        servers.start()
        assert servers.answer()
        servers.stop()
        assert private.stat().st_mode & 0o777 == 0o700
        assert (private / "home" / "pg").resolve().is_relative_to(system)
        assert servers.try_claim()
        servers.start()
        assert servers.answer()
        servers.stop()
        assert len(list(system.glob("home-*"))) == 1


def test_the_reason_of_a_failed_set_up_is_the_trouble_and_not_the_tidying_up() -> None:
    said = "2026 FATAL:  could not write to file: No space left on device\nchild exited\ninitdb: removing"
    assert reason(said) == "2026 FATAL:  could not write to file: No space left on device"
    assert reason("initdb: odd") == "initdb: odd"
    assert reason("") == "no reason given"
