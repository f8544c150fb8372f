"""`manage.py forget`: what it takes, what it says, and what it leaves alone."""

import io
import json
import sys

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from core.models import InboundItem
from tests.factories import make_bot, make_chat, make_item

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("forget", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def complaint(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_chat_is_forgotten_with_all_bots_or_with_one() -> None:
    mine, theirs = (make_chat(make_bot(self_id), external_id="20001") for self_id in "12")
    for chat in (mine, theirs):
        make_item(chat)
    told = run("group:20001", "--bot", "1")
    assert "group:20001" in told
    assert [item.chat for item in InboundItem.objects.all()] == [theirs]
    run("group:20001")
    assert not InboundItem.objects.exists()


def test_what_went_is_one_json_line_and_nothing_else() -> None:
    make_item(make_chat(external_id="20001"))
    (line,) = run("group:20001", "--json").splitlines()
    told = json.loads(line)
    assert (told["forgotten"], told["chats"], told["items"]) == ("group:20001", 1, 1)
    assert (told["stickers"], told["turns"]) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("group:20009",), "group:20009"),
        (("group:20001", "--bot", "9"), "9"),
        (("20001",), "20001"),
        ((), "--user"),
        (("group:20001", "--user", "10002"), "--user"),
        (("--user", "10009"), "10009"),
        (("--user", ""), "account"),
        (("--user", "30001", "--bot", "9"), "9"),
        (("--user", "1"), "--bot"),
    ],
)
def test_what_is_not_known_is_one_clear_line_and_changes_nothing(
    arguments: tuple[str, ...], named: str
) -> None:
    make_item(make_chat(make_bot("1"), external_id="20001"))
    assert named in complaint(*arguments)
    assert InboundItem.objects.exists()


def test_a_person_is_forgotten_with_all_bots_or_with_one() -> None:
    mine, theirs = (make_chat(make_bot(self_id), external_id="20001") for self_id in "12")
    for chat in (mine, theirs):
        make_item(chat, sender_id="10002")
    (line,) = run("--user", "10002", "--bot", "1", "--json").splitlines()
    assert json.loads(line)["items"] == 1
    assert [item.chat for item in InboundItem.objects.all()] == [theirs]
    assert "10002" in run("--user", "10002")
    assert not InboundItem.objects.exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    make_item(make_chat(external_id="20001"))
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    complaint("group:20001")
    assert InboundItem.objects.exists()
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
    run("group:20001")
    assert not InboundItem.objects.exists()


def test_with_yes_it_does_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    make_item(make_chat(external_id="20001"))
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    run("group:20001", "--yes")
    assert not InboundItem.objects.exists()
