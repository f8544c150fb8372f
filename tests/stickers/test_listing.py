"""`manage.py stickers`: what operators and scripts read of stickers."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core.models import Chat
from tests.factories import make_bot, make_chat
from tests.stickers.making import make_sticker

pytestmark = pytest.mark.django_db


@pytest.fixture
def chats() -> tuple[Chat, Chat]:
    """Two chats of two bots with a sticker each, and one in the catalogue."""
    one = make_chat(make_bot("10001"), external_id="20001")
    other = make_chat(make_bot("10002"), external_id="20002", kind="private")
    make_sticker(one, "well done", file_id="mface:a1")
    make_sticker(other, "", state="vetoed", file_id="md5:" + "0" * 32)
    make_sticker(None, "good night", times_sent=3)
    return one, other


def listed(*arguments: str) -> list[dict[str, Any]]:
    out = io.StringIO()
    call_command("stickers", *arguments, "--json", stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.usefixtures("chats")
def test_each_sticker_is_a_line_with_exactly_its_keys() -> None:
    one, other, common = listed()
    assert list(one) == ["ref", "chat", "file_id", "meaning", "times_sent", "learned_at", "state"]
    assert (one["chat"], one["file_id"], one["meaning"], one["state"]) == (
        "group:20001",
        "mface:a1",
        "well done",
        "stored",
    )
    assert (other["chat"], other["meaning"], other["state"]) == ("private:20002", None, "vetoed")
    assert (common["chat"], common["times_sent"]) == (None, 3)
    assert one["learned_at"].endswith("Z")


@pytest.mark.usefixtures("chats")
@pytest.mark.parametrize(
    ("arguments", "meanings"),
    [
        (["--chat", "group:20001"], ["well done"]),
        (["--bot", "10002"], [None]),
        (["--bot", "10001", "--chat", "group:20001"], ["well done"]),
        (["--state", "stored"], ["well done", "good night"]),
        (["--state", "lost"], []),
    ],
)
def test_filters(arguments: list[str], meanings: list[str | None]) -> None:
    assert [one["meaning"] for one in listed(*arguments)] == meanings


@pytest.mark.usefixtures("chats")
def test_people_read_a_table() -> None:
    out = io.StringIO()
    call_command("stickers", stdout=out)
    header, *lines = out.getvalue().splitlines()
    assert header.split()[:3] == ["LEARNED", "(UTC)", "CHAT"]
    assert len(lines) == 3
    assert "well done" in lines[0]


@pytest.mark.parametrize("arguments", [["--chat", "nowhere"], ["--bot", "404"], ["--state", "x"]])
def test_what_names_nothing_is_an_error(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        listed(*arguments)
