"""The set-up script, with installers that only note what they were asked: nothing is downloaded."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from arise_site import bootstrap
from arise_site.bootstrap import BootstrapError, Environment

SCRIPT = Path(bootstrap.__file__)


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    """Requirements that name nothing: pip is really run and needs no network."""
    path = tmp_path / "requirements.txt"
    path.write_text("# nothing yet\n", encoding="utf-8")
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment whose pip is the one of these tests: making a real one takes seconds."""
    found = Environment(tmp_path / ".venv")
    venv.create(found.folder, with_pip=False, system_site_packages=False)
    site = next((found.folder / "lib").glob("python*")) / "site-packages"
    (site / "pip").mkdir()
    (site / "pip" / "__init__.py").touch()
    (site / "pip" / "__main__.py").write_text(PIP, encoding="utf-8")
    found.made.touch()
    return found


# Notes what it was asked; the word "fail" in the requirements makes it fail half-way.
PIP = """
import sys
from pathlib import Path
asked = Path(sys.argv[-1])
with open(asked.with_name("asked.txt"), "a") as file:
    file.write(asked.name + "\\n")
print("Collecting something==1 (from -r)")
if "fail" in asked.read_text():
    print("ERROR: no network")
    sys.exit(1)
"""


def installed(environment: Environment, requirements: Path) -> None:
    """Mark it as finished for these requirements."""
    environment.note(requirements).write_text(environment.stamp(requirements), encoding="utf-8")


def asked(requirements: Path) -> list[str]:
    path = requirements.with_name("asked.txt")
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def test_a_finished_environment_is_left_alone(environment: Environment, requirements: Path) -> None:
    installed(environment, requirements)
    assert bootstrap.ensure(requirements, environment) is False
    assert asked(requirements) == []


def test_changed_requirements_are_installed_once(
    environment: Environment, requirements: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    installed(environment, requirements)
    requirements.write_text("# changed\n", encoding="utf-8")
    assert bootstrap.ensure(requirements, environment) is True
    assert bootstrap.ensure(requirements, environment) is False
    assert asked(requirements) == ["requirements.txt"]
    assert "something==1" in capfd.readouterr().err


def test_a_second_file_is_added_to_the_same_environment(
    environment: Environment, requirements: Path
) -> None:
    installed(environment, requirements)
    more = requirements.with_name("requirements-dev.txt")
    more.touch()
    assert bootstrap.ensure(more, environment) is True
    assert environment.is_ready(requirements)
    assert environment.is_ready(more)


def test_a_failed_install_is_not_taken_for_a_finished_one(
    environment: Environment, requirements: Path
) -> None:
    installed(environment, requirements)
    requirements.write_text("# fail\n", encoding="utf-8")
    with pytest.raises(BootstrapError, match="ERROR: no network"):
        bootstrap.ensure(requirements, environment)
    assert not environment.is_ready(requirements)
    assert not environment.is_usable()


def test_an_interrupted_environment_is_made_anew(
    environment: Environment, requirements: Path
) -> None:
    installed(environment, requirements)
    environment.unfinished.touch()
    (environment.folder / "half").touch()
    assert bootstrap.ensure(requirements, environment) is True
    assert environment.is_ready(requirements)
    assert not (environment.folder / "half").exists()


def test_an_environment_of_someone_elses_making_is_added_to_and_never_removed(
    environment: Environment, requirements: Path
) -> None:
    environment.made.unlink()
    (environment.folder / "theirs").touch()
    assert bootstrap.ensure(requirements, environment) is True
    assert bootstrap.ensure(requirements, environment) is False
    environment.python.unlink()
    with pytest.raises(BootstrapError, match="move it away"):
        bootstrap.ensure(requirements, environment)
    assert (environment.folder / "theirs").exists()


def test_an_environment_that_was_moved_is_not_used(
    environment: Environment, requirements: Path, tmp_path: Path
) -> None:
    installed(environment, requirements)
    moved = Environment(tmp_path / "elsewhere")
    environment.folder.rename(moved.folder)
    assert not moved.is_ready(requirements)
    assert not moved.is_usable()


def test_a_linked_environment_belongs_to_someone_else(
    environment: Environment, requirements: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(environment.folder)
    assert bootstrap.ensure(requirements, Environment(link)) is False
    assert asked(requirements) == []


def test_an_old_python_is_told_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    assert bootstrap.main([]) == 1
    told = capfd.readouterr().err
    assert "3.11 or later" in told
    assert told.count("\n") == 1


def test_a_python_that_can_make_no_environment_is_told_what_to_install(
    requirements: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare"
    bare.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BootstrapError, match="apt install python3-venv"):
        bootstrap.ensure(requirements, Environment(tmp_path / ".venv"))


def test_it_runs_by_path_with_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """Its own folder must not stand before the standard library, nor any package be needed."""
    copy = tmp_path / "arise_site" / "bootstrap.py"
    copy.parent.mkdir()
    copy.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "requirements.txt").touch()
    (tmp_path / ".venv").symlink_to(tmp_path / "nowhere")
    (copy.parent / "hashlib.py").touch()
    ran = subprocess.run(
        [sys.executable, "-S", str(copy)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "used as it is" in ran.stderr
