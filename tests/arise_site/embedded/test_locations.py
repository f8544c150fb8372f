"""Addresses are the same in every process, survive every URL reader and stay short."""

import os
from pathlib import Path

import dj_database_url
import pytest
import redis

from arise_site.embedded import locations

ROOT = os.geteuid() == 0


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A folder that any account may enter (pytest's own are private)."""
    return Path("/srv") if ROOT else Path("/tmp")  # noqa: S108


def test_a_short_plain_home_holds_its_own_sockets(short: Path) -> None:
    assert locations.run_folder(short) == short / "run"


@pytest.mark.parametrize("name", ["Capitals", "with space", "机器人", "per%2fcent", "x" * 120])
def test_other_homes_get_a_folder_named_by_a_hash(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    run = locations.run_folder(home)
    assert run == locations.run_folder(home)
    assert run != locations.run_folder(tmp_path / f"{name}2")
    assert locations.PLAIN.fullmatch(str(run))
    assert len(os.fsencode(run / "pg" / locations.POSTGRES_SOCKET_NAME)) < 100


def test_the_addresses_are_read_as_they_were_meant(tmp_path: Path) -> None:
    home = tmp_path / "Mixed Case"
    parsed = dj_database_url.parse(locations.database_url(home))
    assert parsed["HOST"] == str(locations.postgres_folder(home))
    pool = redis.ConnectionPool.from_url(locations.redis_url(home))
    assert pool.connection_kwargs["path"] == str(locations.broker_socket(home))


def test_celery_spells_a_socket_in_its_own_way() -> None:
    assert (
        locations.celery_broker_url("unix:///run/v.sock?db=3")
        == "redis+socket:///run/v.sock?virtual_host=3"
    )
    assert locations.celery_broker_url("redis://host:6379/1") == "redis://host:6379/1"
