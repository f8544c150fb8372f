"""The scripted model fails a test that asks more or less than it scripted."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from core.errors import ModelFailure
from core.llm import client
from tests.fakes.model import ScriptedModel


@pytest.fixture
def model(settings: Settings) -> Iterator[ScriptedModel]:
    model = ScriptedModel()
    settings.ARISE_MODEL_BASE_URL = model.url
    yield model
    model.stop()


def ask(name: str) -> client.Answer:
    return client.complete(model=name, messages=[{"role": "user", "content": "hi"}], tools=[])


def test_each_model_name_has_a_script_of_its_own(model: ScriptedModel) -> None:
    first, second = model.script("first"), model.script("second")
    first.reply("one")
    second.reply("two")
    assert (ask("second").content, ask("first").content) == ("two", "one")
    first.assert_consumed()
    second.assert_consumed()


def test_a_reply_that_nobody_asked_for_fails(model: ScriptedModel) -> None:
    script = model.script("m")
    script.reply("one")
    with pytest.raises(AssertionError, match="1 replies were not asked for"):
        script.assert_consumed()


def test_a_request_too_many_fails_at_once(model: ScriptedModel) -> None:
    script = model.script("m")
    with pytest.raises(ModelFailure, match="no reply left"):
        ask("m")
    assert len(script.requests) == 1
    with pytest.raises(AssertionError, match="had no scripted reply"):
        script.assert_consumed()


def test_a_model_that_nobody_scripted_is_a_stray(model: ScriptedModel) -> None:
    with pytest.raises(ModelFailure, match="nobody scripted"):
        ask("who")
    assert [stray["model"] for stray in model.strays] == ["who"]


def test_importing_the_client_does_not_import_openai() -> None:
    program = "import sys, core.llm.client; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
