"""Forgetting a chat leaves nothing of it, and all of the others."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from core import capabilities, chatsettings, leases, sending
from core.capabilities import Ability, Platform
from core.database import give_back
from core.errors import LeaseLost
from core.forgetting import batches, chats, registry
from core.media import store as store_of_media
from core.media.pictures import View
from core.messages import Part
from core.models import (
    Bot,
    CapabilitySetting,
    Chat,
    InboundItem,
    ItemMedia,
    ModelCallCount,
    OutboxEntry,
    SentMessage,
    StoredMedia,
    Turn,
)
from skills.models import SkillReads
from stickers.models import Fingerprint, FunnelCount, Picture, PictureKey, Sighting, Sticker
from tests.core.forgetting import world
from tests.core.forgetting.world import answers, at, begin, chat_of, commit, item, says, store
from tests.factories import make_bot, make_skill

pytestmark = pytest.mark.django_db
ANN, BOB = ("10002", "Annika"), ("10003", "Bobby")
ABLE = ("poke_send", "reaction_send", "recall", "edit", "quote", "poke_receive")
GROUP = "group:20001"
SECRETS = ("Tea house", "10002", "Annika", "apples", "oranges", "plums", "s3cr3t.png", "Bear face")


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    able = Platform({name: Ability(True) for name in ABLE}, recall_seconds=120)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: able)


@pytest.fixture
def bot() -> Bot:
    return make_bot("10000", name="Bear", connection_number=7)


def fill(place: tuple[Bot, Any], first: int) -> Chat:
    """A chat in which much happened: words, pictures, a quote, a poke, turns, gestures."""
    picture = Part("sticker", {"id": "md5:" + "a" * 32, "url": "http://x/s3cr3t.png"})
    store(
        says(place, ANN, "@Bear apples", number=first, mentions_bot=True),
        says(place, BOB, "oranges", picture, number=first + 1, reply_to=str(first)),
        says(place, ANN, kind="poke", target_id="10000", is_at_bot=True),
    )
    chat = chat_of(place)
    ItemMedia.objects.create(item=item(first + 1), index=1, sha256="b" * 64, view="c" * 64)
    make_skill(f"skill {first}")
    answers(
        chat,
        ("send_message", {"content": "plums for Annika"}),
        ("poke_send", {"user_id": "10002"}),
        ("inject_skills", {"names": [f"skill {first}"], "level": "full"}),
        ("reaction_send", {"message_id": str(first), "emoji": "👍"}),
        silence="Annika has her apples",
    )
    return chat


def learn(chat: Chat | None, name: str, **fields: Any) -> Sticker:
    """A sticker as learning leaves it, with a picture of its own unless one is given."""
    picture = fields.pop("picture", None)
    if picture is None:
        verdict = fields.pop("verdict", Picture.Verdict.STORED)
        now = timezone.now()
        picture = Picture.objects.create(verdict=verdict, claimed_at=now, sha256=name * 64)
        PictureKey.objects.create(picture=picture, key=f"sha256:{name * 64}")
        Fingerprint.objects.create(picture=picture, hashes=[1], blocks=b"blocks")
    return Sticker.objects.create(
        chat=chat,
        picture=picture,
        state=Sticker.State.STORED,
        file_id=f"md5:{name * 32}",
        meaning="Bear face",
        **fields,
    )


def counts(chat: Chat) -> dict[str, int]:
    return {
        model.__name__: model._default_manager.filter(**{path: chat.pk}).count()
        for model, path in (
            (InboundItem, "chat"),
            (ItemMedia, "item__chat"),
            (Turn, "chat"),
            (SentMessage, "chat"),
            (OutboxEntry, "chat"),
            (SkillReads, "chat"),
            (Sticker, "chat"),
            (Sighting, "chat"),
            (FunnelCount, "chat"),
        )
    }


def test_nothing_of_a_forgotten_chat_is_left_in_the_database(bot: Bot) -> None:
    chat = fill(at(bot, GROUP, "Tea house"), 100)
    learn(chat, "d")
    Sighting.objects.create(chat=chat, key="md5:1", times=1, last_at=timezone.now())
    FunnelCount.objects.create(chat=chat, day="2026-01-01", name="seen", times=3)
    counted = FunnelCount.objects.count()
    user = User.objects.create(username="operator")
    sent = SentMessage.objects.get(chat=chat)
    assert sent.entry is not None
    for row in (chat, sent, sent.entry):
        LogEntry.objects.log_actions(user.pk, [row], CHANGE, "Settled by hand.")
    assert world.places_of(*SECRETS) >= {"core_inbounditem.text", "django_admin_log.object_repr"}
    before = world.places_of("apples", "Annika")
    assert before >= {"core_turn.messages", "core_turn.silence_reason", "core_toolcall.arguments"}
    went = chats.forget(chat)
    assert world.places_of(*SECRETS) == set()
    assert went == {
        "chats": 1, "items": 3, "media": 1, "decisions": 1, "turns": 1, "sent_messages": 1,
        "gestures": 2, "members": 2, "skill_reads": 1, "stickers": 1, "pictures": 1,
        "sightings": 1, "funnel_counts": counted,
    }  # fmt: skip
    assert set(counts(chat).values()) == {0}
    assert LogEntry.objects.count() == 3
    assert chats.forget(chat) == {"chats": 1}


def test_the_row_stays_with_what_operators_set_and_consent_ends(bot: Bot) -> None:
    chat = fill(at(bot, GROUP, "Tea house"), 100)
    by = User.objects.create(username="operator")
    chatsettings.apply(
        chat,
        chatsettings.parse(["sticker_learning=on", "daily_model_calls=7", "cap.voice=off"]),
    )
    chat.refresh_from_db()
    handle, judged = chat.next_handle, chat.judged_item_id
    calls = ModelCallCount.objects.get(chat=chat).calls
    chats.forget(chat, by=by)
    chat.refresh_from_db()
    assert (chat.enabled, chat.daily_model_calls, chat.sticker_learning) == (True, 7, False)
    assert (chat.sticker_learning_set_by, chat.title, chat.messages) == (by, "", 0)
    assert (chat.last_message_at, chat.turn_due_at, chat.addressed_by) == (None, None, [])
    assert (chat.next_handle, chat.lease_until) == (handle, None)
    assert chat.judged_item_id >= judged
    assert CapabilitySetting.objects.filter(chat=chat, name="voice", allowed=False).exists()
    assert ModelCallCount.objects.get(chat=chat).calls == calls


def test_other_chats_and_the_other_bot_in_the_group_keep_all(bot: Bot) -> None:
    other_bot = make_bot("10009", name="Bear")
    gone = fill(at(bot, GROUP, "Tea house"), 100)
    kept = [fill(at(bot, "group:20002"), 200), fill(at(other_bot, GROUP), 300)]
    before = [counts(chat) for chat in kept]
    chats.forget(gone)
    assert [counts(chat) for chat in kept] == before
    assert set(counts(gone).values()) == {0}


def test_a_picture_goes_where_nothing_else_uses_it(bot: Bot) -> None:
    chat, other = (chat_of(_heard(bot, key)) for key in (GROUP, "group:20002"))
    alone, shared = learn(chat, "1").picture, learn(chat, "2").picture
    catalogued = learn(chat, "3").picture
    kept = learn(other, "2", picture=shared)
    learn(None, "3", picture=catalogued)
    chats.forget(chat)
    assert set(Picture.objects.all()) == {shared, catalogued}
    assert not PictureKey.objects.filter(picture=alone.pk).exists()
    assert not Fingerprint.objects.filter(picture=alone.pk).exists()
    kept.refresh_from_db()
    assert kept.meaning == "Bear face"


def test_a_picture_that_was_taken_down_stays_blocked_without_a_link_to_the_chat(bot: Bot) -> None:
    chat = chat_of(_heard(bot, GROUP))
    picture = learn(chat, "1", verdict=Picture.Verdict.REMOVED).picture
    PictureKey.objects.create(picture=picture, key="md5:unproved", chat=chat)
    chats.forget(chat)
    picture.refresh_from_db()
    assert [(key.key, key.chat) for key in picture.keys.all()] == [("sha256:" + "1" * 64, None)]
    assert Fingerprint.objects.filter(picture=picture).exists()


def test_files_that_nothing_else_uses_go_once_it_is_committed(
    bot: Bot,
    settings: Settings,
    tmp_path: Path,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]],
) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    place, other = at(bot, GROUP), at(bot, "group:20002")
    spooled = store_of_media.spool(b"as it came")
    beside = tmp_path / "kept"
    beside.write_bytes(b"no file of the store")
    store(
        says(place, BOB, "", Part("sticker", {"url": f"media:{spooled}"}), number=100),
        says(place, BOB, "", Part("sticker", {"url": "media:../kept"}), number=101),
        says(other, BOB, "", number=102),
    )
    own, shared = (store_of_media.put_view(_view(content)) for content in (b"own", b"shared"))
    ItemMedia.objects.create(item=item(100), index=0, view=own)
    ItemMedia.objects.create(item=item(101), index=0, view=shared)
    ItemMedia.objects.create(item=item(102), index=0, view=shared)
    learn(chat_of(place), "1")
    learned = store_of_media.put_view(_view(b"learned"))
    Picture.objects.update(sha256=learned)
    with django_capture_on_commit_callbacks(execute=True):
        chats.forget(chat_of(place))
        assert store_of_media.read(own) is not None
    found = {name: store_of_media.read(name) for name in (own, shared, learned, spooled)}
    assert found == {own: None, shared: b"shared", learned: None, spooled: None}
    assert [row.sha256 for row in StoredMedia.objects.all()] == [shared]
    assert beside.exists()


def _view(content: bytes) -> View:
    return View("image/png", content, 1, 1)


def _heard(bot: Bot, key: str) -> tuple[Bot, Any]:
    place = at(bot, key)
    store(says(place, BOB, "oranges"))
    return place


def test_what_waits_to_be_sent_is_not_sent_any_more(bot: Bot) -> None:
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear apples", mentions_bot=True))
    answers(chat_of(place), ("send_message", {"content": "plums"}))
    OutboxEntry.objects.update(due_at=timezone.now(), draft_until=None)
    chats.forget(chat_of(place))
    assert sending.claim(bot.pk, 7) == []


def test_a_turn_that_runs_meanwhile_commits_nothing(bot: Bot) -> None:
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear apples", mentions_bot=True))
    chat = chat_of(place)
    lease, turn = begin(chat)
    chats.forget(chat)
    with pytest.raises(LeaseLost):
        commit(lease, turn, ("send_message", {"content": "plums for Annika"}))
    assert set(counts(chat).values()) == {0}
    store(says(place, ANN, "@Bear and now?", mentions_bot=True))
    assert answers(chat, ("send_message", {"content": "yes"})).sends == 1


def test_no_turn_begins_while_a_chat_is_half_forgotten(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = at(bot, GROUP)
    chat = fill(place, 100)
    claimed: list[object] = []
    sent = chats._sent

    def looks(chat_id: int) -> registry.Counts:
        if not claimed:
            store(says(place, ANN, "@Bear are you there?", mentions_bot=True))
            Chat.objects.filter(pk=chat_id).update(turn_due_at=timezone.now())
            claimed.append(leases.claim(chat_id, "worker:1"))
        return sent(chat_id)

    monkeypatch.setattr(chats, "_sent", looks)
    chats.forget(chat)
    assert claimed == [None]
    assert InboundItem.objects.filter(chat=chat).count() == 1  # said after it was to be forgotten
    assert leases.claim(chat.pk, "worker:1") is not None


def test_what_broke_off_is_finished_by_the_next_time(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = fill(at(bot, GROUP), 100)

    def breaks(chat_id: int) -> dict[str, int]:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(chats, "_turns", breaks)
        with pytest.raises(RuntimeError):
            chats.forget(chat)
    assert not SentMessage.objects.exists()
    assert Turn.objects.exists()
    chats.forget(chat)
    assert set(counts(chat).values()) == {0}


def test_where_it_breaks_off_nothing_leaves_and_no_turn_is_resumed(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear apples", mentions_bot=True))
    chat = chat_of(place)
    lease, turn = begin(chat)
    commit(lease, turn, ("send_message", {"content": "plums"}))
    OutboxEntry.objects.update(due_at=timezone.now(), draft_until=None)

    def breaks(chat_id: int) -> registry.Counts:
        raise RuntimeError

    monkeypatch.setattr(chats, "_sent", breaks)
    with pytest.raises(RuntimeError):
        chats.forget(chat)
    assert sending.claim(bot.pk, 7) == []
    assert not Turn.objects.filter(state=Turn.State.RUNNING).exists()
    assert leases.claim(chat.pk, "worker:1") is None  # nothing is due


def test_a_large_chat_goes_in_steps(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    place = at(bot, GROUP)
    store(*(says(place, BOB, f"oranges {number}") for number in range(7)))
    chat = chat_of(place)
    monkeypatch.setattr(batches, "MOST", 2)
    sizes: list[int] = []
    delete = chats.delete_items

    def counted(keys: list[int]) -> Any:
        sizes.append(len(keys))
        return delete(keys)

    monkeypatch.setattr(chats, "delete_items", counted)
    chats.forget(chat)
    assert sizes == [2, 2, 2, 1, 0]


@pytest.mark.django_db(transaction=True)
def test_a_chat_is_forgotten_beside_a_step_and_a_claim_that_are_under_way() -> None:
    bot = make_bot("10000", name="Bear", connection_number=7)
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear apples", mentions_bot=True))
    chat = chat_of(place)
    lease, turn = begin(chat)
    commit(lease, turn, ("send_message", {"content": "plums"}))
    OutboxEntry.objects.update(due_at=timezone.now(), draft_until=None)
    (entry,) = sending.claim(bot.pk, 7)
    is_in_step = threading.Event()

    def works() -> None:
        try:
            with transaction.atomic():
                commit(lease, turn, ("send_message", {"content": "plums for Annika"}))
                is_in_step.set()
                world.wait_until_somebody_waits()
        finally:
            give_back()

    worker = threading.Thread(target=works)
    worker.start()
    assert is_in_step.wait(10)
    chats.forget(chat)
    worker.join(10)
    assert not worker.is_alive()
    with pytest.raises(LeaseLost):
        commit(lease, turn, ("send_message", {"content": "plums for Annika"}))
    assert set(counts(chat).values()) == {0}
    assert not sending.mark_sent(entry.entry_id, None)
    assert set(counts(chat).values()) == {0}


def test_what_a_forgotten_chat_learned_of_a_picture_that_the_catalogue_keeps_goes(
    bot: Bot,
) -> None:
    chat = fill(at(bot, GROUP), 100)
    picture = learn(chat, "9").picture
    Picture.objects.filter(pk=picture.pk).update(claimed_in=chat, learned={"meaning": "ours"})
    kept = learn(None, "9", picture=picture)
    chats.forget(chat)
    assert Sticker.objects.get() == kept
    picture.refresh_from_db()
    assert (picture.learned, picture.claimed_in) == ({}, None)
