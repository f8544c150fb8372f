import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import translation
from pytest_django import Settings

from core import outbox, tokens
from core.management.tables import printable, shortened, table, width
from core.models import Bot, Chat
from tests.core.test_records import KEYS, fill
from tests.factories import (
    make_bot,
    make_chat,
    make_decision,
    make_item,
    make_sent,
    make_turn,
)

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def lines(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--json").splitlines()]


def complaint(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# addbot


def test_addbot_prints_the_token_once_and_stores_its_hash() -> None:
    told = run("addbot", "10000", "--name", "小艾")
    token = told.splitlines()[-1]
    bot = Bot.objects.get()
    assert (bot.self_id, bot.name) == ("10000", "小艾")
    assert told.count(token) == 1
    assert token not in bot.token_hash
    assert tokens.matches(bot.token_hash, token)


def test_addbot_takes_a_token() -> None:
    assert run("addbot", "10000", "--token", "s3cret").splitlines()[-1] == "s3cret"
    assert tokens.matches(Bot.objects.get().token_hash, "s3cret")


def test_addbot_again_is_an_error_that_names_rotate() -> None:
    run("addbot", "10000", "--token", "first")
    assert "--rotate" in complaint("addbot", "10000", "--token", "second")
    assert tokens.matches(Bot.objects.get().token_hash, "first")


def test_rotate_replaces_the_token_and_keeps_the_name() -> None:
    run("addbot", "10000", "--name", "Ann", "--token", "first")
    token = run("addbot", "10000", "--rotate").splitlines()[-1]
    bot = Bot.objects.get()
    assert bot.name == "Ann"
    assert tokens.matches(bot.token_hash, token)
    assert not tokens.matches(bot.token_hash, "first")


@pytest.mark.parametrize(
    "arguments",
    [
        ("10 00",),
        ("",),
        ("1" * 65,),
        ("10000", "--rotate"),
        ("10000", "--token", ""),
        ("10000", "--token", "with space"),
        ("10000", "--name", "x" * 101),
    ],
)
def test_addbot_refuses(arguments: tuple[str, ...]) -> None:
    assert complaint("addbot", *arguments)
    assert not Bot.objects.exists()


# chatset


def test_chatset_makes_the_chat_and_prints_it() -> None:
    make_bot("10000")
    told = json.loads(run("chatset", "10000", "group:20001", "enabled=off", "cap.recall=off"))
    assert (told["chat"], told["enabled"], told["bot"]) == ("group:20001", False, "10000")
    chat = Chat.objects.get()
    assert chat.external_id_is_number
    assert chat.capability_settings.count() == 1


def test_chatset_keeps_an_id_that_is_no_number_a_string() -> None:
    make_bot("10000", new_private_chats_enabled=False)
    run("chatset", "10000", "private:u-1", "sticker_learning=on")
    chat = Chat.objects.get()
    assert not chat.external_id_is_number
    assert not chat.enabled


@pytest.mark.parametrize("model", ["", "seeing"])
def test_chatset_says_where_learning_comes_to_nothing(settings: Settings, model: str) -> None:
    settings.ARISE_VISION_MODEL, settings.ARISE_CHAT_MODEL_KINDS = model, []
    make_bot("10000")
    for setting, warns in (("off", False), ("on", not model)):
        err = io.StringIO()
        pair = f"sticker_learning={setting}"
        call_command("chatset", "10000", "group:20001", pair, stdout=io.StringIO(), stderr=err)
        assert ("ARISE_VISION_MODEL" in err.getvalue()) == warns


def test_chatset_changes_a_known_chat() -> None:
    chat = make_chat(make_bot("10000"), external_id="20001")
    run("chatset", "10000", "group:20001", "daily_model_calls=3")
    chat.refresh_from_db()
    assert chat.daily_model_calls == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("10000", "group:20001", "enabled=off", "fly=on"),
        ("10000", "group:20001", "enabled=maybe"),
        ("10000", "guild:20001", "enabled=off"),
        ("10000", "20001", "enabled=off"),
        ("10000", "group:", "enabled=off"),
        ("99999", "group:20001", "enabled=off"),
        ("10000", "group:20001"),
    ],
)
def test_chatset_refuses_and_changes_nothing(arguments: tuple[str, ...]) -> None:
    make_bot("10000")
    assert complaint("chatset", *arguments)
    assert not Chat.objects.exists()


# chats, items, turns, sentlog


@pytest.mark.parametrize("name", list(KEYS))
def test_json_lines_have_the_keys_that_scripts_rely_on(name: str) -> None:
    fill()
    (record,) = lines(name)
    assert set(record) == set(KEYS[name].split())


@pytest.mark.parametrize("name", list(KEYS))
def test_an_empty_list_is_no_line_of_json(name: str) -> None:
    assert run(name, "--json") == ""


@pytest.mark.parametrize("name", list(KEYS))
def test_the_table_has_a_line_a_row(name: str) -> None:
    fill()
    fill()
    assert len(run(name).splitlines()) == 3


@pytest.mark.parametrize("name", ["items", "sentlog", "chats"])
def test_lists_are_narrowed_to_a_bot_and_a_chat(name: str) -> None:
    ann, bob = make_bot("10000"), make_bot("10001")
    for chat in (
        make_chat(ann, external_id="20001"),
        make_chat(ann, external_id="20002"),
        make_chat(bob, external_id="20001"),
    ):
        make_item(chat)
        make_sent(chat)
    assert len(lines(name)) == 3
    assert len(lines(name, "--bot", "10000")) == 2
    assert len(lines(name, "--chat", "group:20001")) == 2
    assert len(lines(name, "--chat", "group:20001", "--bot", "10001")) == 1


@pytest.mark.parametrize("name", list(KEYS))
@pytest.mark.parametrize(
    "arguments",
    [("--bot", "99999"), ("--chat", "group:99999"), ("--chat", "20001"), ("--chat", "x:1")],
)
def test_an_unknown_bot_or_chat_is_told(name: str, arguments: tuple[str, ...]) -> None:
    make_chat(make_bot("10000"), external_id="20001")
    assert complaint(name, *arguments)


def test_tables_tell_codes_in_words_and_json_lines_keep_them() -> None:
    chat = make_chat()
    turn = make_turn(chat, state="failed", trigger="mention", error="timeout")
    make_decision([make_item(chat)], "skip", reason="not_addressed")
    make_sent(chat, state="discarded", entry={"reason": outbox.BY_OPERATOR})
    assert turn.pk
    with translation.override("zh-hans"):
        tables = {name: run(name) for name in ("turns", "items", "sentlog")}
    for name, words in {
        "turns": ("失败", "提及", "没有及时回答"),
        "items": ("跳过：没有人在跟机器人说话", "消息"),
        "sentlog": ("已丢弃", "文本"),
    }.items():
        for word in words:
            assert word in tables[name]
    for code in ("failed", "timeout", "not_addressed", "discarded", outbox.BY_OPERATOR):
        assert code not in "".join(tables.values())
    assert lines("turns")[0]["error"] == "timeout"
    assert lines("items")[0]["decision_reason"] == "not_addressed"


HOSTILE = "\x1b[31mAnn\x1b]0;owned\x07\u202ebob\x9b2J\nline"


def test_nothing_hostile_reaches_the_terminal() -> None:
    chat = make_chat(title=HOSTILE)
    make_item(chat, HOSTILE, sender_name=HOSTILE)
    make_sent(chat, HOSTILE)
    for arguments in (("items",), ("chats",), ("sentlog",), ("items", "--json")):
        told = run(*arguments)
        for sign in "\x1b\x07\u202e\x9b":
            assert sign not in told


# tables


def test_wide_characters_take_two_columns() -> None:
    assert width("小a") == 3
    assert width("e\u0301") == 1
    assert list(table(["A", "B"], [["小艾", "x"], ["ann", "y"]])) == [
        "A     B",
        "小艾  x",
        "ann   y",
    ]


def test_long_cells_are_cut() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("小小小", 4) == "小…"
    assert shortened("abcd", 4) == "abcd"


def test_control_characters_are_replaced() -> None:
    assert printable("a\tb\u2066c") == "a\ufffdb\ufffdc"
