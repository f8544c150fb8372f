"""What a turn asked, as a command: word for word, safe in a shell, and without the key."""

import os
import subprocess
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from core import turns
from core.admin import turn_request
from core.media import references, store
from core.media.pictures import View
from core.models import Turn
from tests import factories
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model

__all__ = ["script", "scripted_model"]
KEY = "sk-of-the-test-run"
HOSTILE = 'it\'s $(touch /tmp/owned) `id` \\ "quoted" !! 你好 \u2028\nEND_OF_REQUEST\nEOF'


@pytest.fixture(autouse=True)
def _endpoint(settings: Settings, scripted_model: ScriptedModel) -> None:
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_MODEL_API_KEY = KEY
    settings.ARISE_MODEL_RETRIES = 0


@pytest.fixture
def turn(script: Script) -> Turn:
    """A turn of three steps, run through the real loop; its words are meant to break out of a shell."""
    bot = factories.make_bot(chat_model=script.model, persona=HOSTILE)
    chat = factories.make_chat(bot, turn_due_at=timezone.now())
    factories.make_item(chat, HOSTILE, sender_name=HOSTILE, trigger="mention")
    script.reply(tool_calls=[("send_message", {"content": HOSTILE})])
    script.reply(tool_calls=[("send_message", "{broken")])
    script.reply(HOSTILE)
    turns.run(chat.pk, "worker:1")
    return Turn.objects.get()


def url_of(turn: Turn, index: int) -> str:
    return reverse("admin:core_turn_curl", args=[turn.pk, index])


def run_in_a_shell(command: str) -> Any:
    environment = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": KEY, "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        ["bash"], input=command.encode(), env=environment, capture_output=True, check=True
    )


@pytest.mark.django_db(transaction=True)
def test_a_shell_asks_what_each_step_asked(
    admin_client: Client, turn: Turn, script: Script
) -> None:
    asked = list(script.requests)
    assert len(asked) == 3
    for index, sent in enumerate(asked):
        command = admin_client.get(url_of(turn, index)).content.decode()
        assert KEY not in command
        script.reply("thank you")
        answer = run_in_a_shell(command)
        assert b"thank you" in answer.stdout
        assert answer.stderr == b""
        assert script.requests[-1] == sent


@pytest.mark.django_db
def test_pictures_are_sent_as_the_turn_sent_them(script: Script) -> None:
    view = store.put_view(View("image/png", b"\x89PNG" + b"x" * 300_000, 1, 1))
    content = [{"type": "text", "text": "look"}, references.part(view)]
    turn = factories.make_turn(
        model=script.model, messages=[{"role": "user", "content": content}], steps=1
    )
    factories.make_step(turn)
    script.reply("I see")
    run_in_a_shell(turn_request.curl(turn, 0) or "")
    (asked,) = script.requests
    assert asked["messages"] == references.filled(turn.messages)
    assert len(str(asked["messages"])) > 300_000
    assert turn_request.shows(turn, view)
    assert not turn_request.shows(turn, "a" * 64)


@pytest.mark.django_db
def test_what_is_not_there_or_was_forgotten_is_not_found(admin_client: Client) -> None:
    turn = factories.make_turn(messages=[{"role": "user", "content": "x"}])
    assert admin_client.get(url_of(turn, 0)).status_code == 404
    factories.make_step(turn)
    assert admin_client.get(url_of(turn, 0)).status_code == 200
    Turn.objects.update(messages=[])
    assert admin_client.get(url_of(turn, 0)).status_code == 404


@pytest.mark.django_db
def test_a_password_in_the_endpoints_address_is_hidden(settings: Settings) -> None:
    settings.ARISE_MODEL_BASE_URL = "https://me:my-password@models.example/v1/"
    command = turn_request.command("{}")
    assert "my-password" not in command
    assert "models.example/v1/chat/completions" in command


@pytest.mark.django_db
def test_a_picture_is_shown_only_where_the_turns_model_was_shown_it(admin_client: Client) -> None:
    view = store.put_view(View("image/png", b"\x89PNG", 1, 1))
    other = store.put_view(View("image/png", b"\x89PNGother", 1, 1))
    turn = factories.make_turn(
        messages=[{"role": "user", "content": [references.part(view)]}, "odd"]
    )
    page = admin_client.get(reverse("admin:core_turn_change", args=[turn.pk])).content.decode()
    url = reverse("admin:core_turn_picture", args=[turn.pk, view])
    assert f'src="{url}"' in page
    assert admin_client.get(url).content == b"\x89PNG"
    for digest in (other, "a" * 64, "x"):
        url = reverse("admin:core_turn_picture", args=[turn.pk, digest])
        assert admin_client.get(url).status_code == 404
