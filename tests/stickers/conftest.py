"""Fixtures of sticker tests: an endpoint that answers what a test scripted, a store of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from core import capabilities
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model
from tests.stickers import scene

__all__ = ["script", "scripted_model"]


@pytest.fixture
def endpoint(
    settings: Settings, scripted_model: ScriptedModel, script: Script, tmp_path: Path
) -> Iterator[Script]:
    """The test's own model takes pictures, and platforms can send stickers."""
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_MODEL_TIMEOUT_SECONDS = 5.0
    settings.ARISE_VISION_MODEL = script.model
    settings.ARISE_GUARD_MODEL = ""
    settings.ARISE_EMBEDDING_MODEL = ""
    settings.MEDIA_ROOT = tmp_path
    probe = capabilities._probe
    capabilities.register_probe(scene.platform_can())
    yield script
    capabilities._probe = probe
