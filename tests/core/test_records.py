from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from datetime import timezone as fixed_zone

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import evidence, records, sending
from core.messages import PlatformId
from core.models import Chat, InboundItem, SentMessage, Turn
from tests.factories import (
    make_bot,
    make_chat,
    make_decision,
    make_entry,
    make_item,
    make_sent,
    make_turn,
)

pytestmark = pytest.mark.django_db

KEYS = {
    "sentlog": "handle chat send_state reason platform_message_id content held kind edits created_at"
    " sent_at turn error",
    "turns": "id chat state trigger model steps sends prompt_tokens completion_tokens started_at"
    " ended_at error",
    "items": "chat kind platform_message_id sender_id sender_name text mentions mentions_bot reply_to"
    " target_id emoji removed stickers images from_self recalled_at sent_at received_at decision"
    " decision_reason turn",
    "chats": "bot chat title enabled sticker_learning capabilities tags messages last_message_at"
    " delivery_mode",
}


def everything(name: str) -> list[records.Record]:
    match name:
        case "chats":
            return list(records.chats(Chat.objects.all()))
        case "items":
            return list(records.items(InboundItem.objects.all()))
        case "turns":
            return list(records.turns(Turn.objects.all()))
        case _:
            return list(records.sentlog(SentMessage.objects.all()))


def fill() -> None:
    chat = make_chat()
    turn = make_turn(chat)
    make_decision([make_item(chat, turn=turn)], turn=turn)
    make_sent(chat, turn=turn)
    chat.capability_settings.create(target="cap", name="recall", allowed=False)


@pytest.mark.parametrize("name", list(KEYS))
def test_the_keys_are_those_that_scripts_rely_on(name: str) -> None:
    fill()
    (record,) = everything(name)
    assert list(record) == KEYS[name].split()


@pytest.mark.parametrize("name", list(KEYS))
def test_queries_do_not_grow_with_the_rows(name: str) -> None:
    fill()
    few = count_queries(lambda: everything(name))
    for _ in range(19):
        fill()
    assert count_queries(lambda: everything(name)) == few
    assert len(everything(name)) == 20


def count_queries(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as queries:
        act()
    return len(queries)


@pytest.mark.parametrize("name", list(KEYS))
def test_the_oldest_comes_first(name: str) -> None:
    for _ in range(3):
        fill()
    times = {"chats": None, "items": "received_at", "turns": "started_at"}.get(name, "created_at")
    if times:
        found = [record[times] for record in everything(name)]
        assert found == sorted(found)
    else:
        keys = [record["chat"] for record in everything(name)]
        assert keys == [chat.key for chat in Chat.objects.order_by("pk")]


def test_times_are_utc_with_a_z() -> None:
    east = fixed_zone(timedelta(hours=8))
    told = records.time(datetime(2026, 11, 30, 16, 0, 0, 123456, tzinfo=east))
    assert told == "2026-11-30T08:00:00.123Z"
    assert records.time(datetime(2026, 11, 30, tzinfo=UTC)) == "2026-11-30T00:00:00.000Z"
    assert records.time(None) is None


def test_an_item_has_its_decision_and_its_media() -> None:
    chat = make_chat(external_id="20001")
    first, second, third = (make_item(chat, text) for text in ("a", "b", ""))
    make_item(make_chat(), "elsewhere")
    third.parts = [
        {"type": "image", "data": {"id": "md5:ab", "url": "http://x/y"}},
        {"type": "image", "data": {"file": "z"}},
        {"type": "sticker", "data": {"id": "mface:1"}},
        {"type": "sticker", "data": {}},
    ]
    third.save()
    make_decision([first], "skip")
    make_decision([second], "answer")
    told = everything("items")
    assert [record["decision"] for record in told] == ["skip", "answer", None, None]
    assert told[0]["decision_reason"] == "not_addressed"
    assert told[0]["chat"] == "group:20001"
    assert told[2]["stickers"] == ["mface:1"]
    assert told[2]["images"] == [{"id": "md5:ab", "url": "http://x/y"}, {"id": None, "url": None}]


def test_what_is_missing_is_null() -> None:
    make_item(make_chat(), "", platform_message_id="", sender_name="", kind="poke")
    (record,) = everything("items")
    for key in ("platform_message_id", "sender_name", "reply_to", "target_id", "turn"):
        assert record[key] is None
    assert record["text"] == ""
    assert record["emoji"] == record["mentions"] == record["images"] == []


def test_a_message_tells_the_state_of_its_current_entry() -> None:
    chat = make_chat()
    make_sent(chat, "gone", "sent", entry={"platform_message_id": "77"})
    make_sent(chat, "lost", "failed", entry={"reason": "refused", "error": "retcode 1200"})
    make_sent(chat, "held", "pending", entry={"held": "muted"})
    make_sent(chat, "back", "recalled")
    sent, failed, held, recalled = everything("sentlog")
    assert (sent["send_state"], sent["platform_message_id"]) == ("sent", "77")
    assert sent["sent_at"] is not None
    assert (failed["reason"], failed["error"], failed["sent_at"]) == (
        "refused",
        "retcode 1200",
        None,
    )
    assert (held["send_state"], held["held"], held["sent_at"]) == ("pending", "muted", None)
    assert recalled["sent_at"] is not None


def test_an_edited_message_tells_its_current_version() -> None:
    message = make_sent(make_chat(), "old", edits=1, entry={"platform_message_id": "77"})
    recall = make_entry(message, action="recall", target=message.entry, content="", state="sending")
    new = make_entry(message, content="new", waits_for=recall)
    (before,) = everything("sentlog")
    assert (before["content"], before["send_state"]) == ("old", "sent")
    sending.confirm(recall.pk)
    (between,) = everything("sentlog")
    assert (between["content"], between["send_state"], between["edits"]) == ("new", "pending", 1)
    assert (between["platform_message_id"], between["sent_at"]) == (None, None)
    new.state = "sending"
    new.save()
    sending.mark_sent(new.pk, PlatformId("78"))
    (after,) = everything("sentlog")
    assert (after["send_state"], after["platform_message_id"]) == ("sent", "78")
    assert after["sent_at"] > before["sent_at"]
    assert [after[key] for key in ("handle", "created_at")] == [
        before[key] for key in ("handle", "created_at")
    ]


@pytest.mark.parametrize("by", ["bot", "admin"])
def test_a_recalled_message_keeps_when_it_was_sent(by: str) -> None:
    earlier = timezone.now() - timedelta(minutes=1)
    message = make_sent(make_chat(), "back", entry={"settled_at": earlier})
    assert message.entry is not None
    if by == "bot":
        recall = make_entry(message, action="recall", target=message.entry, state="sending")
        sending.confirm(recall.pk)
    else:
        sending.recalled_on_platform(message.entry, by_bot=False)
    (record,) = everything("sentlog")
    assert (record["send_state"], record["content"]) == ("recalled", "back")
    assert record["sent_at"] == records.time(earlier)
    assert record["reason"] == (None if by == "bot" else "recalled_by_admin")


def test_a_message_was_sent_when_it_left_whenever_that_became_known() -> None:
    earlier = timezone.now() - timedelta(hours=1)
    message = make_sent(make_chat(), state="unknown", entry={"settled_at": earlier})
    assert message.entry is not None
    assert everything("sentlog")[0]["sent_at"] is None
    evidence.settle_by_hand(message.entry, was_sent=True)
    assert everything("sentlog")[0]["sent_at"] == records.time(earlier)


def test_a_chat_tells_what_holds_in_it() -> None:
    make_chat(make_bot("10000"), external_id="20001", title="Book club")
    (record,) = everything("chats")
    assert (record["bot"], record["chat"], record["title"]) == (
        "10000",
        "group:20001",
        "Book club",
    )
    assert len(record["capabilities"]) == 11
    assert set(record["tags"]) == {"all", "user", "face"}
