from pathlib import Path

import pytest
from django.core.management import call_command

from core import chatsettings
from core.models import CapabilitySetting, Chat
from tests.factories import make_chat

pytestmark = pytest.mark.django_db
OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


def rows(chat: Chat) -> dict[str, bool]:
    return {f"{row.target}.{row.name}": row.allowed for row in chat.capability_settings.all()}


def test_every_kind_of_pair_is_applied() -> None:
    chat = make_chat()
    pairs = ["enabled=off", "sticker_learning=on", "patience_seconds=30", "daily_model_calls=0"]
    chatsettings.apply(chat, chatsettings.parse([*pairs, "cap.recall=off", "tag.user=on"]))
    chat.refresh_from_db()
    assert (chat.enabled, chat.sticker_learning) == (False, True)
    assert (chat.patience_seconds, chat.daily_model_calls) == (30, 0)
    assert rows(chat) == {"cap.recall": False, "tag.user": True}


def test_inherit_takes_a_setting_away_and_a_second_one_replaces_it() -> None:
    chat = make_chat()
    chatsettings.apply(chat, chatsettings.parse(["cap.recall=off", "cap.quote=off"]))
    chatsettings.apply(chat, chatsettings.parse(["cap.recall=inherit", "cap.quote=on"]))
    assert rows(chat) == {"cap.quote": True}


def test_only_what_is_set_is_written() -> None:
    chat = make_chat()
    Chat.objects.filter(pk=chat.pk).update(lease_token=7)
    chatsettings.apply(chat, chatsettings.parse(["enabled=off"]))
    chat.refresh_from_db()
    assert (chat.lease_token, chat.enabled) == (7, False)


@pytest.mark.parametrize(
    ("pair", "complaint"),
    [
        ("enabled", "'enabled' is not KEY=VALUE."),
        ("enabled=yes", "enabled is on or off, not 'yes'."),
        ("enabled=inherit", "enabled is on or off, not 'inherit'."),
        ("delivery_mode=on", "delivery_mode is live, review or shadow, not 'on'."),
        ("title=x", "There is no setting 'title'."),
        ("lease_token=1", "There is no setting 'lease_token'."),
        ("cap.fly=on", "There is no setting 'cap.fly'."),
        ("tag.recall=on", "There is no setting 'tag.recall'."),
        ("fly=soon", "There is no setting 'fly'."),
        ("cap.recall=maybe", "cap.recall is on, off or inherit, not 'maybe'."),
        (
            "patience_seconds=soon",
            "patience_seconds is a whole number up to 2147483647, not 'soon'.",
        ),
        ("patience_seconds=-1", "patience_seconds is a whole number up to 2147483647, not '-1'."),
        ("patience_seconds=１", "patience_seconds is a whole number up to 2147483647, not '１'."),
        ("patience_seconds=0", "patience_seconds: Ensure this value is greater than or equal"),
        ("daily_model_calls=9999999999", "daily_model_calls: Ensure this value is less than"),
    ],
)
def test_a_wrong_pair_is_told(pair: str, complaint: str) -> None:
    with pytest.raises(chatsettings.BadSetting) as caught:
        chatsettings.parse(["sticker_learning=on", pair])
    assert str(caught.value).startswith(complaint)


def test_a_key_given_twice_is_told() -> None:
    with pytest.raises(chatsettings.BadSetting, match="enabled is given twice"):
        chatsettings.parse(["enabled=on", "enabled=off"])


def test_nothing_is_changed_when_the_last_row_can_not_be_written() -> None:
    chat = make_chat()
    change = chatsettings.Change({"enabled": False}, {("cap", "x" * 41): True})
    with pytest.raises(Exception, match="too long"):
        chatsettings.apply(chat, change)
    chat.refresh_from_db()
    assert chat.enabled
    assert not CapabilitySetting.objects.exists()


def test_every_setting_of_a_chat_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = OPERATIONS.read_text().split("## Settings of a chat")[1].split("\n## ")[0]
    rows = {
        line.split("|")[1].strip(): line.split("|")[4].strip()
        for line in told.splitlines()[6:]
        if line
    }
    with pytest.raises(SystemExit):
        call_command("chatset", "--help")
    told_by_help = capsys.readouterr().out
    for key in (*chatsettings.SWITCHES, *chatsettings.NUMBERS, chatsettings.MODE):
        assert f"`{key}`" in rows
        assert key in told_by_help
        if key == "enabled":
            continue
        default = getattr(Chat(), key)
        words = ("on" if default else "off") if isinstance(default, bool) else str(default)
        assert rows[f"`{key}`"] == words
