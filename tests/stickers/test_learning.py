"""A sticker is learned once: what is asked, what is kept, and what nothing is kept of."""

import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from arise_site.openai_server import Reply
from core import capabilities, inbound
from core.errors import ModelFailure
from core.forgetting import chats as forgotten_chats
from core.forgetting import people
from core.llm import client
from core.media import pictures, store
from core.models import Bot, Chat, InboundItem, ItemMedia, ModelCallCount, StoredMedia
from stickers import claims, embeddings, funnel, learning, recognition
from stickers.models import (
    Fingerprint,
    OpenSighting,
    Picture,
    PictureKey,
    Sighting,
    Sticker,
    StickerVector,
)
from tests.factories import make_bot, make_item
from tests.fakes.model import Script
from tests.stickers import drawing, scene
from tests.stickers.making import make_sticker

pytestmark = pytest.mark.django_db
CAT = drawing.sticker(1)
DOG = drawing.sticker(2)


@pytest.fixture
def chat(endpoint: Script) -> Chat:
    return scene.learning_chat()


def only_picture() -> Picture:
    return Picture.objects.get()


def spent(chat: Chat) -> tuple[int, int]:
    row = ModelCallCount.objects.filter(chat=chat, purpose="learning").first()
    return (row.calls, row.tokens) if row else (0, 0)


def files(settings: Settings) -> list[Path]:
    return [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()]


def test_a_sticker_is_learned_with_one_forced_call(chat: Chat, endpoint: Script) -> None:
    scene.answers(
        endpoint,
        scene.GOOD
        | {
            "use_when": "something is awkward",
            "avoid_when": "somebody is sad",
            "moods": ["尴尬", "embarrassed"],
            "words": "lol",
        },
    )
    scene.learn(chat, CAT)
    (asked,) = endpoint.requests
    assert asked["tools"] == [recognition.TOOL]
    assert asked["tool_choice"]["function"] == {"name": recognition.TOOL_NAME}
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    _text, shown = asked["messages"][1]["content"]
    assert base64.b64decode(shown["image_url"]["url"].partition(";base64,")[2])[:4] == b"\x89PNG"
    sticker = Sticker.objects.get()
    assert (sticker.chat, sticker.state, sticker.file_id) == (chat, "stored", drawing.md5_of(CAT))
    assert sticker.meaning == scene.GOOD["meaning"]
    assert (sticker.use_when, sticker.avoid_when) == ("something is awkward", "somebody is sad")
    assert (sticker.moods, sticker.words) == (["尴尬", "embarrassed"], "lol")
    picture = only_picture()
    assert (picture.verdict, picture.model, picture.tokens) == ("stored", endpoint.model, 110)
    assert picture.shareable
    assert StoredMedia.objects.get().sha256 == picture.sha256
    assert StickerVector.objects.get().sticker == sticker
    assert spent(chat) == (1, 110)
    assert scene.ended(chat) == {"paid": 1, "stored": 1}


def test_the_tool_needs_a_meaning_and_a_verdict_alone() -> None:
    parameters = recognition.TOOL["function"]["parameters"]
    assert parameters["required"] == ["meaning", "sensitive"]
    assert parameters["properties"]["sensitive"]["type"] == "boolean"


def test_a_known_sticker_costs_nothing(chat: Chat, endpoint: Script) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    scene.learn(chat, CAT)  # by its name
    scene.learn(chat, CAT, stable_id="")  # by its bytes
    scene.learn(chat, CAT, stable_id="md5:" + "0" * 32)  # by its bytes, under a name of its own
    scene.learn(chat, drawing.sticker(1, drawing.Encoding("JPEG", 60)))  # by what it looks like
    assert len(endpoint.requests) == 1
    assert Sticker.objects.count() == Picture.objects.count() == 1
    assert scene.counted(chat)[funnel.KNOWN] == 4


def test_a_re_encoded_sticker_is_not_even_fetched_the_second_time(
    chat: Chat, endpoint: Script
) -> None:
    scene.answers(endpoint)
    again = drawing.sticker(1, drawing.Encoding("JPEG", 60))
    scene.learn(chat, CAT)
    scene.learn(chat, again)
    gone = scene.shown(chat, again)
    gone.parts[0]["data"].pop("file")  # nothing could be fetched any more
    gone.save()
    learning.learn(gone.pk, 0)
    assert scene.counted(chat)[funnel.KNOWN] == 2


def test_a_name_that_the_bytes_do_not_prove_counts_in_its_chat_alone(
    chat: Chat, endpoint: Script
) -> None:
    other = scene.learning_chat()
    forged = drawing.md5_of(DOG)  # the dog's name on a picture of a cat
    scene.answers(endpoint)
    scene.answers(endpoint, {"meaning": "good dog", "sensitive": False})
    scene.learn(chat, CAT, stable_id=forged)
    scene.learn(other, DOG)
    assert PictureKey.objects.get(key=forged, chat=chat).picture != only(other).picture
    assert only(other).meaning == "good dog"


def only(chat: Chat) -> Sticker:
    return Sticker.objects.get(chat=chat)


def test_a_market_face_keeps_what_it_is_sent_again_by(chat: Chat, endpoint: Script) -> None:
    face = {"emoji_id": "ab" * 16, "emoji_package_id": 7, "key": "k", "summary": "[贴贴]"}
    scene.answers(endpoint)
    scene.learn(chat, CAT, stable_id="mface:" + "ab" * 16, **face)
    assert only(chat).market_face == face
    assert only(chat).file_id == "mface:" + "ab" * 16
    scene.learn(scene.learning_chat(), DOG, stable_id="mface:" + "ab" * 16)
    assert len(endpoint.requests) == 1  # the platform's names hold everywhere


def test_an_animated_sticker_is_shown_as_one_sheet(chat: Chat, endpoint: Script) -> None:
    frames = [drawing.captioned(drawing.template(5, 200), words) for words in ("OK", "NO", "bye")]
    scene.answers(endpoint)
    scene.learn(chat, drawing.animated(*frames))
    (asked,) = endpoint.requests
    assert sum(one["type"] == "image_url" for one in asked["messages"][1]["content"]) == 1
    assert len(Fingerprint.objects.get().hashes) == 3


def test_a_sensitive_sticker_is_not_stored_at_all(
    chat: Chat, endpoint: Script, settings: Settings
) -> None:
    scene.answers(endpoint, {"meaning": "a private photograph", "sensitive": True})
    scene.learn(chat, CAT)
    picture, sticker = only_picture(), only(chat)
    assert (picture.verdict, picture.sha256, picture.learned) == ("sensitive", "", {})
    assert (sticker.state, sticker.meaning) == ("sensitive", "")
    assert "private photograph" not in json.dumps(list(Sticker.objects.values()), default=str)
    assert not StoredMedia.objects.exists()
    assert not files(settings)
    assert not StickerVector.objects.exists()
    assert set(PictureKey.objects.values_list("key", flat=True)) >= {drawing.md5_of(CAT)}
    assert scene.ended(chat) == {"paid": 1, "sensitive": 1}


@pytest.mark.parametrize(
    ("reply", "verdict", "reason"),
    [
        (
            Reply({"choices": [{"message": {"content": "I can't help with that."}}]}),
            "failed",
            "no_call",
        ),
        (Reply(raw=b"<html>"), "failed", "bad_answer"),
        (Reply({"error": {"message": "no"}}, 400), "failed", "refused"),
    ],
)
def test_an_answer_that_is_none_has_failed_for_good(
    chat: Chat, endpoint: Script, reply: Reply, verdict: str, reason: str
) -> None:
    endpoint.add(reply)
    assert not scene.learn(chat, CAT)
    assert (only_picture().verdict, only_picture().reason) == (verdict, reason)
    scene.learn(chat, CAT)
    scene.learn(scene.learning_chat(), CAT)  # by nobody else either
    assert len(endpoint.requests) == 1
    assert scene.counted(chat)[funnel.KNOWN_REJECTED] == 1


def test_an_answer_that_does_not_come_in_time_is_lost(
    chat: Chat, endpoint: Script, settings: Settings
) -> None:
    settings.ARISE_MODEL_TIMEOUT_SECONDS = 0.3
    endpoint.reply("late", delay=3)
    assert not scene.learn(chat, CAT)
    assert (only_picture().verdict, only(chat).state) == ("lost", "lost")
    assert spent(chat) == (1, 0)
    scene.learn(chat, CAT)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_surely_cost_nothing_is_tried_again(chat: Chat, endpoint: Script, status: int) -> None:
    endpoint.reply("busy", status=status)
    assert scene.learn(chat, CAT)
    assert len(endpoint.requests) == 1  # the client itself does not ask again
    assert not Picture.objects.exists()
    assert not Sticker.objects.exists()
    assert spent(chat) == (0, 0)
    scene.answers(endpoint)
    assert not scene.learn(chat, CAT)
    assert only(chat).state == "stored"
    assert scene.ended(chat) == {"paid": 1, "stored": 1}


def test_a_refused_connection_costs_nothing(
    chat: Chat, endpoint: Script, settings: Settings
) -> None:
    settings.ARISE_MODEL_BASE_URL = "http://127.0.0.1:9/v1"
    assert scene.learn(chat, CAT)
    assert not Picture.objects.exists()
    assert spent(chat) == (0, 0)


def test_a_claim_without_an_outcome_ends_as_lost(chat: Chat, endpoint: Script) -> None:
    who = identity(CAT)
    item = scene.shown(chat, CAT)
    claimed = claims.claim(who, chat, calls=1, model="m", shareable=True)
    OpenSighting.objects.filter(item=item).update(sticker=claimed.sticker, is_paid=True)
    assert claims.settle_lost() == 0
    Picture.objects.update(claimed_at=timezone.now() - claims.longest() - timedelta(seconds=1))
    assert claims.settle_lost() == 1
    assert (only_picture().verdict, only(chat).state) == ("lost", "lost")
    assert scene.ended(chat) == {"paid": 1, "lost": 1}
    scene.learn(chat, CAT)
    assert not endpoint.requests
    # A worker that was merely slow answers after that: too late.
    assert claimed.picture is not None
    assert not claims.reject(claimed.picture, Picture.Verdict.VETOED, "late")
    assert not claims.release(claimed.picture, chat, calls=1)
    assert only_picture().verdict == "lost"


@pytest.mark.parametrize("guard_model", ["", "guard"])
def test_a_reuse_whose_worker_died_was_not_paid_for_but_with_a_guards_model(
    chat: Chat, endpoint: Script, settings: Settings, guard_model: str
) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    other = scene.learning_chat()
    Sticker.objects.create(chat=other, picture=only_picture(), file_id="md5:x")
    long_ago = timezone.now() - claims.longest() - timedelta(seconds=1)
    Sticker.objects.filter(chat=other).update(learned_at=long_ago)
    settings.ARISE_GUARD_MODEL = guard_model
    assert claims.settle_lost() == 1
    assert scene.ended(other) == {}
    if guard_model:
        assert only(other).state == "lost"
    else:
        scene.learn(other, CAT)
        assert (only(other).state, len(endpoint.requests)) == ("stored", 1)


def identity(content: bytes, name: str = "") -> claims.Identity:
    return claims.identity(content, name, pictures.examine(content).samples)


def test_an_answer_after_the_claim_was_ended_stores_nothing(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    real = client.complete

    def slow(**asked: Any) -> client.Answer:
        answer = real(**asked)
        Picture.objects.update(claimed_at=timezone.now() - timedelta(hours=1))
        claims.settle_lost()
        return answer

    monkeypatch.setattr(client, "complete", slow)
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    assert (only_picture().verdict, only(chat).state, only(chat).meaning) == ("lost", "lost", "")
    assert not StickerVector.objects.exists()
    assert only_picture().sha256 == ""


def test_a_claim_is_not_given_up_while_a_slow_embedding_is_waited_for(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """It is asked twice at most, after the recognition and the guard."""
    settings.ARISE_MODEL_TIMEOUT_SECONDS = 600.0

    def slow(text: str) -> None:
        Picture.objects.update(claimed_at=timezone.now() - timedelta(seconds=4 * 600))
        claims.settle_lost()

    monkeypatch.setattr(embeddings, "prepare", slow)
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    assert only(chat).state == "stored"


@pytest.mark.parametrize("taken", ["switched_off", "bot_off", "forgotten"])
def test_consent_that_ends_during_the_call_is_heeded(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    real = client.complete

    def meanwhile(**asked: Any) -> client.Answer:
        answer = real(**asked)
        if taken == "switched_off":
            Chat.objects.update(sticker_learning=False)
        elif taken == "bot_off":
            Bot.objects.update(enabled=False)
        else:
            Sticker.objects.all().delete()
        return answer

    monkeypatch.setattr(client, "complete", meanwhile)
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    picture = only_picture()
    assert (picture.verdict, picture.reason, picture.learned) == ("failed", "learning_off", {})
    assert not Sticker.objects.exclude(meaning="").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("taken", ["recalled", "chat", "person"])
@pytest.mark.parametrize("place", [(pictures, "examine"), (claims, "find")])
def test_an_item_that_goes_before_the_claim_is_not_learned(
    place: tuple[Any, str], taken: str, endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever forgets it looked for its sticker when there was none yet."""
    chat = scene.learning_chat()
    item = scene.shown(chat, CAT)
    real = getattr(*place)

    def meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(*place, real)
        if taken == "recalled":
            InboundItem.objects.update(recalled_at=timezone.now())
        elif taken == "chat":
            forgotten_chats.forget(chat)
            Chat.objects.update(sticker_learning=True)
        else:
            people.forget(item.sender_id)
        return real(*given)

    monkeypatch.setattr(*place, meanwhile)
    assert not learning.learn(item.pk, 0)
    assert not endpoint.requests
    assert not Picture.objects.exists()
    # With a chat its counts go.
    ends = {"recalled": {"recalled": 1}, "person": {"forgotten": 1}, "chat": {}}
    assert scene.counted(chat) == ends[taken]


@pytest.mark.django_db(transaction=True)
def test_an_item_that_goes_before_its_meaning_is_reused_is_not_learned(
    endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.answers(endpoint)
    scene.learn(scene.learning_chat(), CAT)
    other = scene.learning_chat()
    item = scene.shown(other, CAT)
    real = claims.remember

    def meanwhile(*given: Any) -> None:
        real(*given)
        people.forget(item.sender_id, within=Chat.objects.filter(pk=other.pk))

    monkeypatch.setattr(claims, "remember", meanwhile)
    learning.learn(item.pk, 0)
    assert not other.stickers.exists()


def test_a_chat_that_was_switched_off_meanwhile_fetches_nothing(
    chat: Chat, endpoint: Script
) -> None:
    item = scene.shown(chat, CAT)
    Chat.objects.update(sticker_learning=False)
    learning.learn(item.pk, 0)
    assert scene.counted(chat) == {funnel.OFF: 1}
    assert not ItemMedia.objects.exists()
    assert not endpoint.requests


def test_a_platform_that_can_not_send_stickers_any_more_learns_none(
    chat: Chat, endpoint: Script
) -> None:
    capabilities.register_probe(scene.platform_can(scene.UNABLE))
    scene.learn(chat, CAT)
    assert scene.counted(chat) == {funnel.CAPABILITY: 1}
    assert not ItemMedia.objects.exists()


def test_what_was_taken_back_is_not_learned(chat: Chat, endpoint: Script) -> None:
    item = scene.shown(chat, CAT)
    InboundItem.objects.update(recalled_at=timezone.now())
    learning.learn(item.pk, 0)
    assert scene.counted(chat) == {funnel.RECALLED: 1}


def test_an_item_that_is_gone_is_no_failure(chat: Chat) -> None:
    assert not learning.learn(0, 0)
    assert not learning.learn(scene.shown(chat, CAT).pk, 7)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("", "download_no_address"),
        ("base64://%%%", "download_broken"),
        ("base64://PHN2Zz4=", "download_not_a_picture"),
    ],
)
def test_what_can_not_be_had_is_counted_and_costs_nothing(
    chat: Chat, endpoint: Script, file: str, reason: str
) -> None:
    scene.learn(chat, CAT, file=file)
    assert scene.counted(chat) == {reason: 1}
    assert not Picture.objects.exists()
    assert spent(chat) == (0, 0)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"sticker_daily_calls": 0}, funnel.BUDGET),
        ({"sticker_daily_tokens": 0}, funnel.BUDGET),
        ({"sticker_cap": 0}, funnel.NO_ROOM),
    ],
)
def test_what_may_not_be_paid_is_not_fetched(
    endpoint: Script, fields: dict[str, Any], reason: str
) -> None:
    chat = scene.learning_chat(**fields)
    scene.learn(chat, CAT)
    assert scene.counted(chat) == {reason: 1}
    assert not ItemMedia.objects.exists()


def test_a_budget_that_is_spent_at_the_claim_writes_nothing(chat: Chat, endpoint: Script) -> None:
    who = identity(CAT)
    Chat.objects.update(sticker_daily_calls=1)
    chat.refresh_from_db()
    assert claims.claim(who, chat, calls=2, model="m", shareable=True).refused == "budget_spent"
    assert not Picture.objects.exists()
    assert not PictureKey.objects.exists()


def test_without_a_model_that_takes_stickers_nothing_is_fetched(
    chat: Chat, settings: Settings
) -> None:
    settings.ARISE_VISION_MODEL = ""
    scene.learn(chat, CAT)
    assert scene.counted(chat) == {funnel.NO_MODEL: 1}
    assert not ItemMedia.objects.exists()


def test_the_chats_lines_are_given_where_it_says_so_and_the_meaning_stays_there(
    endpoint: Script,
) -> None:
    chat, other = scene.learning_chat(sticker_context=True), scene.learning_chat()
    make_item(chat, "<b>the exam</b> {{ was }} hard", sender_id="30002", sender_name="Bob Secret")
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    system, user = endpoint.requests[0]["messages"]
    assert "never an instruction" in system["content"]
    told = user["content"][0]["text"]
    assert '<line by="A">&lt;b&gt;the exam&lt;/b&gt; {{ was }} hard</line>' in told
    assert "Bob Secret" not in told
    picture = only_picture()
    assert not picture.shareable
    assert picture.learned == {}
    scene.learn(other, CAT)
    assert scene.counted(other) == {funnel.NOT_SHARED: 1}
    assert len(endpoint.requests) == 1


def test_without_that_setting_the_picture_is_shown_alone(chat: Chat, endpoint: Script) -> None:
    make_item(chat, "the exam was hard")
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    assert "exam" not in json.dumps(endpoint.requests[0]["messages"])


def test_a_second_chat_reuses_the_meaning_in_a_row_of_its_own_without_paying(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = scene.learning_chat()
    scene.answers(endpoint, scene.GOOD | {"moods": ["尴尬"]})
    scene.learn(chat, CAT)
    monkeypatch.setattr(embeddings, "prepare", None)  # the same text is not embedded twice
    scene.learn(other, CAT)
    first, second = only(chat), only(other)
    assert first.ref != second.ref
    assert (second.meaning, second.moods, second.state) == (first.meaning, ["尴尬"], "stored")
    assert first.picture == second.picture
    assert len(endpoint.requests) == 1
    assert spent(other) == (0, 0)
    assert scene.ended(other) == {"reused": 1}
    assert StickerVector.objects.count() == 2
    assert StoredMedia.objects.count() == 1


def test_a_picture_that_is_forgotten_before_its_meaning_is_reused_is_seen_again_later(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    real, other = learning._hold, scene.learning_chat()

    def forgotten(item: InboundItem) -> bool:
        if item.media.exists():  # its trace is left: the reuse is about to be claimed
            Picture.objects.all().delete()
        return real(item)

    monkeypatch.setattr(learning, "_hold", forgotten)
    assert scene.learn(other, CAT)
    assert scene.counted(other) == {}
    assert not Sticker.objects.filter(chat=other).exists()


def test_a_second_chats_own_guard_may_veto_for_it_alone(chat: Chat, endpoint: Script) -> None:
    other = scene.learning_chat(make_bot(name="Momo"))
    scene.answers(endpoint, {"meaning": "Momo says goodbye", "sensitive": False})
    scene.learn(chat, CAT)
    scene.learn(other, CAT)
    assert (only(other).state, only(other).reason, only(other).meaning) == (
        "vetoed",
        "impersonation",
        "",
    )
    assert (only_picture().verdict, only(chat).state) == ("stored", "stored")


def test_a_chat_without_consent_reuses_nothing(chat: Chat, endpoint: Script) -> None:
    other = scene.learning_chat(sticker_learning=False)
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    scene.learn(other, CAT)
    assert not Sticker.objects.filter(chat=other).exists()


def test_what_the_catalogue_has_is_not_learned_again(chat: Chat, endpoint: Script) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    other = scene.learning_chat()
    make_sticker(None, picture=only_picture())
    scene.learn(other, CAT)
    assert scene.counted(other) == {funnel.KNOWN: 1}


def test_what_an_operator_rejected_stays_rejected_in_its_chat(chat: Chat, endpoint: Script) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    Sticker.objects.update(state=Sticker.State.REJECTED, meaning="")
    scene.learn(chat, CAT)
    assert scene.counted(chat)[funnel.KNOWN_REJECTED] == 1
    assert only(chat).state == "rejected"


def test_what_was_taken_down_is_never_learned_again(chat: Chat, endpoint: Script) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    Sticker.objects.all().delete()
    Picture.objects.update(verdict=Picture.Verdict.REMOVED, sha256="", learned={})
    scene.learn(chat, drawing.sticker(1, drawing.Encoding("WEBP", 70)))
    assert scene.counted(chat)[funnel.KNOWN_REJECTED] == 1
    assert len(endpoint.requests) == 1


def test_with_review_it_waits_for_an_operator(endpoint: Script) -> None:
    chat = scene.learning_chat(sticker_review=True)
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    assert only(chat).state == "review"
    assert not StickerVector.objects.exists()


def test_what_has_no_stable_id_is_counted_by_its_bytes(endpoint: Script) -> None:
    chat = scene.learning_chat(sticker_sightings=2)
    scene.answers(endpoint)
    scene.learn(chat, CAT, stable_id="")
    assert scene.counted(chat) == {funnel.TOO_FEW_SIGHTINGS: 1}
    assert Sighting.objects.get().key.startswith("sha256:")
    scene.learn(chat, CAT, stable_id="")
    assert only(chat).file_id == drawing.md5_of(CAT)


def test_whose_sticker_it_was_is_found_by_the_items_alone(chat: Chat, endpoint: Script) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    trace = ItemMedia.objects.get()
    assert (trace.item.sender_id, trace.index) == ("30001", 0)
    assert PictureKey.objects.filter(key=f"sha256:{trace.sha256}").exists()
    assert "30001" not in json.dumps(list(Sticker.objects.values()), default=str)


def test_an_embedding_that_fails_is_no_failure_of_learning(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise ModelFailure("unreachable", "no endpoint")

    monkeypatch.setattr(embeddings, "embed", fail)
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    assert only(chat).state == "stored"
    assert not StickerVector.objects.exists()


def test_braces_and_huge_titles_do_not_break_the_call(endpoint: Script) -> None:
    bot = make_bot(name="{{ name }}{% if %}" * 5, persona="{% endautoescape %}{0}{x!r}")
    chat = scene.learning_chat(bot, title="{%" * 100, sticker_context=True)
    make_item(chat, "{% load x %}{{ 1 }} %s %(a)s </lines>" * 50)
    scene.answers(endpoint, {"meaning": "so {funny} 100%", "sensitive": False})
    scene.learn(chat, CAT)
    assert only(chat).meaning == "so {funny} 100%"


def test_stickers_make_room_and_pinned_ones_stay(endpoint: Script) -> None:
    chat = scene.learning_chat(sticker_cap=3)
    old = [make_sticker(chat, f"old {number}") for number in range(3)]
    Sticker.objects.filter(pk=old[0].pk).update(pinned=True)
    Sticker.objects.filter(pk=old[1].pk).update(times_sent=4, last_sent_at=timezone.now())
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    left = set(Sticker.objects.filter(chat=chat).values_list("meaning", flat=True))
    assert left == {"old 0", "old 1", scene.GOOD["meaning"]}  # the one that was never sent went
    assert scene.counted(chat)[funnel.EVICTED] == 1


def test_bytes_go_with_the_last_sticker_of_their_picture(
    endpoint: Script, django_capture_on_commit_callbacks: Any, settings: Settings
) -> None:
    chat = scene.learning_chat(sticker_cap=1)
    scene.answers(endpoint)
    scene.answers(endpoint, {"meaning": "good dog", "sensitive": False})
    scene.learn(chat, CAT)
    cat = only_picture()
    kept = cat.sha256
    with django_capture_on_commit_callbacks(execute=True):
        scene.learn(chat, DOG)
    cat.refresh_from_db()
    assert (cat.verdict, cat.sha256) == ("stored", "")
    assert [path.name for path in files(settings)] == [only(chat).picture.sha256]
    assert kept not in StoredMedia.objects.values_list("sha256", flat=True)


def test_what_made_room_comes_back_without_paying(endpoint: Script) -> None:
    chat = scene.learning_chat(sticker_cap=1)
    scene.answers(endpoint)
    scene.answers(endpoint, {"meaning": "good dog", "sensitive": False})
    for content in (CAT, DOG, CAT):
        scene.learn(chat, content)
    assert only(chat).meaning == scene.GOOD["meaning"]
    assert only(chat).picture.sha256
    assert len(endpoint.requests) == 2
    assert scene.ended(chat) == {"paid": 2, "stored": 2, "reused": 1}


@pytest.mark.parametrize("by", ["chat", "person"])
def test_what_made_room_is_forgotten_with_its_chat_and_its_sender(
    endpoint: Script, by: str
) -> None:
    chat, other = scene.learning_chat(sticker_cap=1), scene.learning_chat()
    for one, content in ((other, CAT), (chat, DOG), (chat, drawing.sticker(3))):
        scene.answers(endpoint)
        items = [scene.received(one, scene.part(content))]
        inbound.receive(items)
        learning.learn(InboundItem.objects.latest("pk").pk, 0)
    assert Picture.objects.filter(stickers=None).count() == 1
    if by == "chat":
        forgotten_chats.forget(chat)
    else:
        people.forget("30001", within=Chat.objects.filter(pk=chat.pk))
    assert [sticker.chat for sticker in Sticker.objects.all()] == [other]
    assert Picture.objects.count() == 1
    assert not Sighting.objects.filter(chat=chat).exists()


def test_where_every_place_is_pinned_nothing_is_paid(endpoint: Script) -> None:
    chat = scene.learning_chat(sticker_cap=1)
    make_sticker(chat, pinned=True)
    scene.learn(chat, CAT)
    assert scene.counted(chat) == {funnel.NO_ROOM: 1}
    assert not endpoint.requests


def test_where_the_last_place_was_pinned_meanwhile_the_new_one_leaves(
    endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = scene.learning_chat(sticker_cap=1)
    real = client.complete

    def meanwhile(**asked: Any) -> client.Answer:
        make_sticker(chat, "pinned", pinned=True)
        return real(**asked)

    monkeypatch.setattr(client, "complete", meanwhile)
    scene.answers(endpoint)
    scene.learn(chat, CAT)
    assert [sticker.meaning for sticker in Sticker.objects.filter(chat=chat)] == ["pinned"]
    picture = Picture.objects.get(model=endpoint.model)
    assert (picture.verdict, picture.sha256) == ("stored", "")
    assert picture.learned["meaning"] == scene.GOOD["meaning"]


def test_a_full_disk_is_found_before_anything_is_paid(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LEAST_FREE", 2**62)
    assert not scene.learn(chat, CAT)
    assert endpoint.requests == []
    assert scene.counted(chat)["disk_full"] == 1


def test_what_was_paid_for_and_can_not_be_kept_has_failed(
    chat: Chat, endpoint: Script, settings: Settings, tmp_path: Path
) -> None:
    scene.answers(endpoint)
    item = scene.shown(chat, CAT)
    (tmp_path / "file").touch()
    settings.MEDIA_ROOT = tmp_path / "file"  # no folder: nothing can be written there
    assert not learning.learn(item.pk, 0)
    assert (only_picture().verdict, only_picture().reason) == ("failed", "not_kept")
    assert only(chat).state == "failed"


def test_a_forged_id_of_a_market_face_takes_no_other_bytes_with_it(
    chat: Chat, endpoint: Script
) -> None:
    scene.answers(endpoint)
    scene.learn(chat, CAT, stable_id="mface:abc")
    scene.learn(scene.learning_chat(), DOG, stable_id="mface:abc")
    scene.answers(endpoint)
    scene.learn(scene.learning_chat(), DOG)
    assert Picture.objects.count() == 2
    assert len(endpoint.requests) == 2
