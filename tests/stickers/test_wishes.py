"""`forget_sticker`: what a member wants forgotten by quoting it, and what nobody may have forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from core import capabilities
from core.models import Chat, InboundItem, ItemMedia, Turn
from core.toolcalls import ToolContext
from core.tools import execution, registry
from stickers.models import Picture, PictureKey, Sticker
from tests.factories import make_chat, make_item, make_sent, make_turn
from tests.stickers.making import make_sticker

pytestmark = pytest.mark.django_db
KEY = "md5:" + "1" * 32


@pytest.fixture(autouse=True)
def _store(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def chat() -> Chat:
    return make_chat()


@pytest.fixture
def sticker(chat: Chat) -> Sticker:
    """A sticker that the chat has learned, known by a name."""
    made = make_sticker(chat)
    PictureKey.objects.create(picture=made.picture, key=KEY)
    return made


def sent_by_somebody(chat: Chat, key: str = KEY) -> InboundItem:
    """A message of a person with a sticker, that a decision covers already."""
    parts = [{"type": "sticker", "data": {"id": key}}]
    item = make_item(chat, "", parts=parts)
    chat.judged_item_id = item.pk
    chat.save(update_fields=["judged_item_id"])
    return item


def quoting(chat: Chat, message_id: str) -> InboundItem:
    return make_item(chat, "forget that please", reply_to=message_id)


def is_offered(chat: Chat) -> bool:
    tools = registry.offered(chat, capabilities.in_chat(chat))
    return "forget_sticker" in {tool.name for tool in tools}


def ask(chat: Chat, message_id: str, *items: InboundItem) -> dict[str, Any]:
    """What a call in the turn over these items is told."""
    first, last = (items[0].pk, items[-1].pk) if items else (0, 0)
    turn = make_turn(chat, state="running", first_item_id=first, last_item_id=last)
    tools: dict[str, registry.Tool | None] = {
        tool.name: tool for tool in registry.offered(chat, capabilities.in_chat(chat))
    }
    context = ToolContext(chat, turn, 0, 0, timezone.now())
    with transaction.atomic():
        arguments = json.dumps({"message_id": message_id})
        result = execution.execute(tools, context, name="forget_sticker", arguments=arguments)
    Turn.objects.filter(pk=turn.pk).update(state="done", ended_at=timezone.now())
    return dict(result.values)


def test_a_quoted_sticker_is_forgotten_everywhere(chat: Chat, sticker: Sticker) -> None:
    elsewhere = make_sticker(make_chat(), picture=sticker.picture)
    said = sent_by_somebody(chat)
    wish = quoting(chat, said.platform_message_id)
    assert is_offered(chat)
    assert ask(chat, said.platform_message_id, wish) == {"ok": True, "forgotten": 1}
    assert not Sticker.objects.filter(pk__in=[sticker.pk, elsewhere.pk]).exists()
    picture = Picture.objects.get(pk=sticker.picture_id)
    assert (picture.verdict, picture.reason, picture.removed_by) == ("removed", "member_wish", None)
    assert not is_offered(chat)


def test_it_is_found_by_its_bytes_where_it_has_no_name(chat: Chat, sticker: Sticker) -> None:
    PictureKey.objects.create(picture=sticker.picture, key="sha256:" + "a" * 64)
    said = sent_by_somebody(chat, key="")
    ItemMedia.objects.create(item=said, index=0, sha256="a" * 64)
    wish = quoting(chat, said.platform_message_id)
    assert ask(chat, said.platform_message_id, wish)["ok"]


@pytest.mark.parametrize("named_by", ["handle", "id"])
def test_the_bots_own_sticker_is_forgotten(chat: Chat, sticker: Sticker, named_by: str) -> None:
    part = {"type": "sticker", "data": {"ref": sticker.ref, "sha256": sticker.picture.sha256}}
    sent = make_sent(chat, "", "sent", handle="m5", kind="sticker", entry={"parts": [part]})
    assert sent.entry is not None
    wish = quoting(chat, sent.entry.platform_message_id)
    assert is_offered(chat)
    named = "m5" if named_by == "handle" else sent.entry.platform_message_id
    assert ask(chat, named, wish)["ok"]
    assert not Sticker.objects.exists()


def test_without_a_quote_nothing_is_forgotten(chat: Chat, sticker: Sticker) -> None:
    said = sent_by_somebody(chat)
    wish = make_item(chat, f"forget {said.platform_message_id}")
    assert not is_offered(chat)
    assert ask(chat, said.platform_message_id, wish)["error"] == "unknown_tool"
    other = sent_by_somebody(chat)
    quote = quoting(chat, other.platform_message_id)
    assert ask(chat, said.platform_message_id, quote)["error"] == "not_quoted"
    assert Sticker.objects.filter(pk=sticker.pk).exists()


def test_a_quote_of_an_earlier_turn_does_not_count(chat: Chat, sticker: Sticker) -> None:
    said = sent_by_somebody(chat)
    quoting(chat, said.platform_message_id)
    now = make_item(chat, "do it now")
    assert ask(chat, said.platform_message_id, now)["error"] == "unknown_tool"


def test_a_wish_that_was_taken_back_does_not_count(chat: Chat, sticker: Sticker) -> None:
    said = sent_by_somebody(chat)
    wish = quoting(chat, said.platform_message_id)
    InboundItem.objects.filter(pk=wish.pk).update(recalled_at=timezone.now())
    assert not is_offered(chat)


def test_the_operators_own_is_not_a_members_to_take(chat: Chat, sticker: Sticker) -> None:
    make_sticker(None, picture=sticker.picture)
    said = sent_by_somebody(chat)
    wish = quoting(chat, said.platform_message_id)
    told = ask(chat, said.platform_message_id, wish)
    assert told["error"] == "catalogue_sticker"
    assert "operator" in told["message"]
    assert Sticker.objects.count() == 2


def test_another_chats_messages_and_names_are_nothing_here(chat: Chat, sticker: Sticker) -> None:
    other = make_chat()
    said = sent_by_somebody(other)
    assert not is_offered(other)
    wish = quoting(chat, said.platform_message_id)
    assert not is_offered(chat)
    assert ask(chat, said.platform_message_id, wish)["error"] == "unknown_tool"
    PictureKey.objects.update(chat=make_chat())
    here = sent_by_somebody(chat)
    quoting(chat, here.platform_message_id)
    assert not is_offered(chat)


def test_a_quoted_message_without_a_sticker_offers_nothing(chat: Chat, sticker: Sticker) -> None:
    said = make_item(chat, "hello")
    quoting(chat, said.platform_message_id)
    assert not is_offered(chat)
