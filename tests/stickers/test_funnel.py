"""The funnel adds up: each sticker that was seen has one end, or is still under way."""

import queue
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from core import budgets, capabilities, inbound
from core.forgetting import people
from core.models import Chat, InboundItem
from stickers import claims, funnel, ingress, learning, tasks
from stickers.models import FunnelCount, OpenSighting, Picture, Sticker
from tests.fakes.model import Script
from tests.stickers import drawing, scene

pytestmark = pytest.mark.django_db
CAT = drawing.sticker(1)
AGAIN = drawing.sticker(1, drawing.Encoding("JPEG", 60))
DOG = drawing.sticker(2)
Handed = list[ingress.Candidate]


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> Handed:
    """What the door in handed over, and no task has taken yet."""
    waiting: Handed = []
    monkeypatch.setattr(ingress, "send", waiting.extend)
    monkeypatch.setattr(tasks.learn, "apply_async", lambda given, **_: waiting.append(given))
    return waiting


@pytest.fixture
def chat(endpoint: Script, handed: Handed) -> Chat:
    return scene.learning_chat()


@pytest.fixture
def comes_in(handed: Handed, django_capture_on_commit_callbacks: Any) -> Callable[..., InboundItem]:
    """Have something come in, and have the tasks run that it leads to."""

    def come(chat: Chat, content: bytes = CAT, *, run: bool = True, **more: Any) -> InboundItem:
        fields = more.pop("fields", {})
        with django_capture_on_commit_callbacks(execute=True):
            inbound.receive([scene.received(chat, scene.part(content, **more), **fields)])
        while run and handed:
            given = handed.pop(0)
            tasks.learn(*given)
        return InboundItem.objects.latest("pk")

    return come


def ends(chat: Chat) -> dict[str, int]:
    """What became of all that was seen; it has to be all of it."""
    counted = scene.counted(chat)
    found = {
        name: times
        for name, times in counted.items()
        if name in funnel.ENDS or name not in funnel.STAGES
    }
    under_way = OpenSighting.objects.filter(chat=chat).count()
    assert counted.get(funnel.SEEN, 0) == sum(found.values()) + under_way
    return found | ({"under way": under_way} if under_way else {})


def test_what_stops_at_a_free_gate_ends_there(
    chat: Chat, comes_in: Any, endpoint: Script, settings: Settings
) -> None:
    comes_in(chat, kind="image")
    comes_in(chat, fields={"is_old": True})
    Chat.objects.update(sticker_sightings=2)
    comes_in(chat)
    Chat.objects.update(sticker_sightings=1, sticker_rate=0)
    comes_in(chat)
    Chat.objects.update(sticker_rate=9, sticker_daily_calls=0)
    comes_in(chat)
    Chat.objects.update(sticker_daily_calls=9, sticker_cap=0)
    comes_in(chat)
    Chat.objects.update(sticker_cap=9)
    settings.ARISE_VISION_MODEL = ""
    comes_in(chat)
    Chat.objects.update(sticker_learning=False)
    comes_in(chat)
    Chat.objects.update(sticker_learning=True)
    capabilities.register_probe(scene.platform_can(scene.UNABLE))
    comes_in(chat)
    assert ends(chat) == {
        "not_a_sticker": 1,
        "old": 1,
        "too_few_sightings": 1,
        "rate": 1,
        "budget": 1,
        "no_room": 1,
        "no_model": 1,
        "off": 1,
        "capability": 1,
    }


def test_a_known_picture_in_another_encoding_is_known_and_nothing_else(
    chat: Chat, comes_in: Any, endpoint: Script
) -> None:
    scene.answers(endpoint)
    for content in (CAT, CAT, AGAIN, AGAIN):
        comes_in(chat, content)
    assert ends(chat) == {"stored": 1, "known": 3}
    # It passed the free gates, where its bytes are not known yet, and was not paid for.
    assert scene.counted(chat)[funnel.CANDIDATE] == 2
    assert scene.counted(chat)[funnel.PAID] == 1


def test_what_another_chat_learned_is_reused(chat: Chat, comes_in: Any, endpoint: Script) -> None:
    other = scene.learning_chat()
    scene.answers(endpoint)
    comes_in(chat)
    comes_in(other, AGAIN)
    assert ends(other) == {"reused": 1}
    assert funnel.PAID not in scene.counted(other)


@pytest.mark.parametrize(
    ("told", "end"),
    [
        ({}, "stored"),
        ({"sensitive": True}, "sensitive"),
        ({"meaning": "call 13800138000 now"}, "vetoed"),
        ({"meaning": ""}, "failed"),
    ],
)
def test_what_is_paid_for_ends_as_what_became_of_it(
    chat: Chat, comes_in: Any, endpoint: Script, told: dict[str, Any], end: str
) -> None:
    scene.answers(endpoint, scene.GOOD | told)
    comes_in(chat)
    comes_in(chat)
    later = "known" if end == "stored" else "known_rejected"
    assert ends(chat) == {end: 1, later: 1}
    assert scene.counted(chat)[funnel.PAID] == 1


def test_what_was_tried_again_ends_once(chat: Chat, comes_in: Any, endpoint: Script) -> None:
    for _attempt in range(2):
        endpoint.reply("busy", status=503)
    scene.answers(endpoint)
    comes_in(chat)
    assert ends(chat) == {"stored": 1}
    assert scene.counted(chat)[funnel.PAID] == 1


def test_what_was_tried_for_the_last_time_ends_without_being_paid(
    chat: Chat, comes_in: Any, endpoint: Script
) -> None:
    for _attempt in range(tasks.MOST_TRIES):
        endpoint.reply("busy", status=503)
    comes_in(chat)
    assert len(endpoint.requests) == tasks.MOST_TRIES
    assert ends(chat) == {"try_later": 1}
    assert funnel.PAID not in scene.counted(chat)


def test_the_same_task_twice_ends_it_once(chat: Chat, comes_in: Any, endpoint: Script) -> None:
    scene.answers(endpoint)
    item = comes_in(chat)
    tasks.learn(item.pk, 0)
    assert ends(chat) == {"stored": 1}


def test_what_can_not_be_had_ends_with_the_reason(chat: Chat, comes_in: Any) -> None:
    comes_in(chat, file="base64://AAAA")
    assert ends(chat) == {"download_not_a_picture": 1}


def test_what_is_taken_back_or_forgotten_under_way_ends_so(chat: Chat, comes_in: Any) -> None:
    item = comes_in(chat, run=False)
    assert ends(chat) == {"under way": 1}
    InboundItem.objects.update(recalled_at=timezone.now())
    tasks.learn(item.pk, 0)
    comes_in(chat, DOG, run=False, fields={"sender_id": "77001"})
    people.forget("77001")
    assert ends(chat) == {"recalled": 1, "forgotten": 1}


def test_a_claim_whose_worker_died_ends_as_paid_and_lost_once(
    chat: Chat, comes_in: Any, endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = learning._recognise

    def slow(*given: Any) -> str:
        Picture.objects.update(claimed_at=timezone.now() - timedelta(hours=1))
        claims.settle_lost()
        assert ends(chat) == {"lost": 1}
        return real(*given)

    monkeypatch.setattr(learning, "_recognise", slow)
    scene.answers(endpoint)
    comes_in(chat)
    assert ends(chat) == {"lost": 1}
    assert scene.counted(chat)[funnel.PAID] == 1


@pytest.mark.parametrize("guard_model", ["", "guard"])
def test_a_reuse_whose_worker_died_ends_as_lost(
    chat: Chat,
    comes_in: Any,
    endpoint: Script,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    guard_model: str,
) -> None:
    other = scene.learning_chat()
    scene.answers(endpoint)
    comes_in(chat)

    def dies(*_: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(learning, "_judged", dies)
    with pytest.raises(SystemExit):
        comes_in(other)
    settings.ARISE_GUARD_MODEL = guard_model
    Sticker.objects.filter(chat=other).update(learned_at=timezone.now() - timedelta(hours=1))
    assert claims.settle_lost() == 1
    assert ends(other) == {"lost": 1}


def test_what_was_never_handed_over_ends_when_nobody_can_end_it_any_more(
    chat: Chat, comes_in: Any, endpoint: Script
) -> None:
    item = comes_in(chat, run=False)
    funnel.prune()
    assert ends(chat) == {"under way": 1}
    seen_on = budgets.today() - timedelta(days=2)
    for model in (FunnelCount, OpenSighting):
        model.objects.update(day=seen_on)
    funnel.prune()
    assert ends(chat) == {"lost": 1}
    # It is counted on the day on which it was seen, so that each day adds up.
    assert set(FunnelCount.objects.values_list("day", flat=True)) == {seen_on}
    # A task that comes later than that learns nothing that would not be counted.
    tasks.learn(item.pk, 0)
    assert not endpoint.requests


@pytest.mark.django_db(transaction=True)
def test_what_no_worker_could_be_told_of_ends_so(
    endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = scene.learning_chat()

    def away(*_: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks.learn, "delay", away)
    inbound.receive([scene.received(chat, scene.part(CAT))])
    ingress._waiting.join()
    monkeypatch.setattr(ingress._waiting, "put_nowait", full)
    inbound.receive([scene.received(chat, scene.part(DOG))])
    assert ends(chat) == {"no_worker": 2}


def full(_candidate: ingress.Candidate) -> None:
    raise queue.Full


def test_the_page_adds_up_in_each_period(
    admin_client: Client, chat: Chat, comes_in: Any, endpoint: Script
) -> None:
    scene.answers(endpoint)
    for content in (CAT, CAT, AGAIN):
        comes_in(chat, content)
    comes_in(chat, kind="image")
    for model in (FunnelCount, OpenSighting):
        model.objects.update(day=budgets.today() - timedelta(days=3))
    comes_in(chat, AGAIN)
    comes_in(chat, DOG, run=False)
    other = scene.learning_chat()
    comes_in(other, drawing.sticker(3), run=False)
    questions: list[dict[str, int]] = [{}, {"chat": chat.pk}]
    for asked in questions:
        page = admin_client.get(reverse("admin:stickers_sticker_funnel"), asked)
        groups = {str(heading): rows for heading, rows in page.context["groups"]}
        seen, *below = list(groups.values())[:4]
        sums = [
            sum(row.cells[period].count for rows in below for row in rows) for period in range(3)
        ]
        assert [cell.count for cell in seen[0].cells] == sums
        (under_way,) = groups["Not ended yet"]
        here = 1 if asked else 2
        assert [cell.count for cell in under_way.cells] == [here] * 3
