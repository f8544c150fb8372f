"""Fixtures of the scripted model; a conftest takes them by
`pytest_plugins = ["tests.fakes.model_fixtures"]` (the top one) or by importing their names."""

import uuid
from collections.abc import Iterator

import pytest

from tests.fakes.model import Script, ScriptedModel


@pytest.fixture(scope="session")
def scripted_model() -> Iterator[ScriptedModel]:
    """One server for the whole run; point OPENAI_BASE_URL of a process at its `url`."""
    model = ScriptedModel()
    yield model
    model.stop()
    assert not model.strays, f"models that nobody scripted were asked: {model.strays[:3]}"


@pytest.fixture
def script(scripted_model: ScriptedModel, request: pytest.FixtureRequest) -> Iterator[Script]:
    """This test's own model (give its `model` to the bot); all of its replies must be asked for."""
    script = scripted_model.script(f"{request.node.name[:100]}-{uuid.uuid4().hex[:8]}")
    yield script
    script.assert_consumed()
