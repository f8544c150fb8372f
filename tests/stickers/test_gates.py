"""The free gates: in their order, before any download; and what is handed to the queue behind them."""

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.conf import settings as site
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from arise_site.celery import app
from arise_site.programs import worker
from core import capabilities, inbound
from core.database import give_back
from core.models import Chat, InboundItem, ItemMedia, ModelCallCount
from stickers import funnel, ingress, tasks
from stickers.models import FunnelCount, LearningPace, Picture, PictureKey, Sighting, Sticker
from tests.factories import make_bot
from tests.fakes.model import Script
from tests.stickers import drawing, scene
from tests.stickers.making import make_picture, make_sticker

pytestmark = pytest.mark.django_db(transaction=True)
CAT = drawing.sticker(1)
NAME = drawing.md5_of(CAT)
CAT_PART = scene.part(CAT)
PHOTO = scene.part(CAT, kind="image")
Sent = Callable[[], list[list[int]]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    """What was sent to the broker: the arguments of each task that waits in this test's own queue."""
    queue = f"stickers-{uuid.uuid4().hex}"
    monkeypatch.setattr(tasks.learn, "queue", queue, raising=False)
    monkeypatch.setattr(tasks.learn, "_exec_options", None, raising=False)
    client = redis.Redis.from_url(site.REDIS_URL)

    def look() -> list[list[int]]:
        ingress._waiting.join()
        waiting: Any = client.lrange(queue, 0, -1)
        return [json.loads(base64.b64decode(json.loads(one)["body"]))[0] for one in waiting][::-1]

    yield look
    client.delete(queue)
    client.close()
    monkeypatch.undo()


@pytest.fixture
def chat(endpoint: Script) -> Chat:
    return scene.learning_chat()


def receive(chat: Chat, *parts: Any, **fields: Any) -> InboundItem:
    inbound.receive([scene.received(chat, *parts, **fields)])
    return InboundItem.objects.latest("pk")


def test_a_sticker_of_a_chat_that_learns_is_handed_over(chat: Chat, sent: Sent) -> None:
    item = receive(chat, {"type": "text", "data": {"text": "look"}}, CAT_PART)
    assert sent() == [[item.pk, 1]]
    assert scene.counted(chat) == {funnel.SEEN: 1, funnel.CANDIDATE: 1}


def test_a_message_without_a_sticker_sends_no_task_at_all(chat: Chat, sent: Sent) -> None:
    receive(chat, {"type": "text", "data": {"text": "hello"}})
    receive(chat, PHOTO)
    assert sent() == []
    assert scene.counted(chat) == {funnel.SEEN: 1, funnel.NOT_A_STICKER: 1}
    item = receive(chat, CAT_PART)  # else "no task" could be because none is ever sent
    assert sent() == [[item.pk, 0]]


def test_a_chat_with_learning_off_sends_no_task_and_keeps_a_count_alone(
    chat: Chat, sent: Sent
) -> None:
    Chat.objects.update(sticker_learning=False)
    receive(chat, CAT_PART)
    assert sent() == []
    assert scene.counted(chat) == {funnel.SEEN: 1, funnel.OFF: 1}
    for model in (Sighting, LearningPace, Picture, PictureKey, Sticker, ItemMedia):
        assert not model._default_manager.exists()


def test_learning_is_off_until_somebody_switches_it_on(endpoint: Script, sent: Sent) -> None:
    bot = make_bot()
    inbound.receive([scene.received(Chat(bot=bot, external_id="1"), CAT_PART)])
    assert sent() == []
    assert not Chat.objects.get().sticker_learning


def test_where_no_sticker_can_be_sent_none_is_learned(chat: Chat, sent: Sent) -> None:
    capabilities.register_probe(scene.platform_can(scene.UNABLE))
    receive(chat, CAT_PART)
    assert sent() == []
    assert scene.counted(chat) == {funnel.SEEN: 1, funnel.CAPABILITY: 1}


def test_what_was_old_when_it_came_in_is_not_learned(chat: Chat, sent: Sent) -> None:
    receive(chat, CAT_PART, is_old=True)
    assert (sent(), scene.counted(chat)[funnel.OLD]) == ([], 1)


def test_what_is_known_is_not_handed_over(chat: Chat, sent: Sent) -> None:
    for verdict, reason in [("learning", funnel.KNOWN), ("sensitive", funnel.KNOWN_REJECTED)]:
        picture = make_picture(verdict=verdict)
        PictureKey.objects.update_or_create(key=NAME, defaults={"picture": picture})
        receive(chat, CAT_PART)
        assert (sent(), scene.counted(chat)[reason]) == ([], 1)
    make_sticker(chat, picture=make_picture())
    PictureKey.objects.update(picture=Picture.objects.latest("pk"))
    receive(chat, CAT_PART)
    assert (sent(), scene.counted(chat)[funnel.KNOWN]) == ([], 2)
    assert not Sighting.objects.exists()


def test_what_another_chat_calls_it_is_not_known_here(chat: Chat, sent: Sent) -> None:
    other = scene.learning_chat()
    PictureKey.objects.create(key=NAME, picture=make_picture(verdict="sensitive"), chat=other)
    receive(chat, CAT_PART)
    assert len(sent()) == 1


def test_a_meaning_that_may_be_shared_is_handed_over_to_a_further_chat(
    chat: Chat, sent: Sent, settings: Settings
) -> None:
    settings.ARISE_VISION_MODEL = ""  # no model is needed for it, nor a budget
    Chat.objects.update(sticker_daily_calls=0)
    picture = make_picture(learned={"meaning": "hi"})
    PictureKey.objects.create(key=NAME, picture=picture)
    receive(chat, CAT_PART)
    assert len(sent()) == 1


def test_it_is_learned_once_it_was_seen_often_enough(chat: Chat, sent: Sent) -> None:
    Chat.objects.update(sticker_sightings=3)
    for _ in range(2):
        receive(chat, CAT_PART, CAT_PART)  # one message that repeats it is one sighting
    assert sent() == []
    assert Sighting.objects.get().times == 2
    receive(chat, CAT_PART)
    assert len(sent()) == 1
    assert scene.counted(chat)[funnel.TOO_FEW_SIGHTINGS] == 2


def test_a_chats_rate_is_not_passed(chat: Chat, sent: Sent) -> None:
    Chat.objects.update(sticker_rate=2)
    for number in range(4):
        receive(chat, scene.part(CAT, stable_id=f"md5:{number:032x}"))
    assert len(sent()) == 2
    assert scene.counted(chat)[funnel.RATE] == 2
    LearningPace.objects.update(minute=timezone.now() - timedelta(minutes=1))
    receive(chat, scene.part(CAT, stable_id=f"md5:{9:032x}"))
    assert len(sent()) == 3


def test_a_budget_that_is_plainly_spent_hands_over_nothing(chat: Chat, sent: Sent) -> None:
    day = timezone.localdate()
    ModelCallCount.objects.create(chat=chat, day=day, purpose="learning", calls=300)
    receive(chat, CAT_PART)
    assert (sent(), scene.counted(chat)[funnel.BUDGET]) == ([], 1)


def test_without_a_model_that_takes_stickers_nothing_is_handed_over(
    chat: Chat, sent: Sent, settings: Settings
) -> None:
    settings.ARISE_VISION_MODEL = ""
    receive(chat, CAT_PART)
    assert (sent(), scene.counted(chat)[funnel.NO_MODEL]) == ([], 1)


def test_the_gates_are_asked_in_their_order(chat: Chat, sent: Sent, settings: Settings) -> None:
    """Every gate is closed; each that is opened shows the next one."""
    settings.ARISE_VISION_MODEL = ""
    capabilities.register_probe(scene.platform_can(scene.UNABLE))
    Chat.objects.update(
        sticker_learning=False, sticker_sightings=9, sticker_rate=0, sticker_daily_calls=0,
        sticker_cap=0,
    )  # fmt: skip
    picture = make_picture(verdict="vetoed")
    PictureKey.objects.create(key=NAME, picture=picture)
    openings: list[tuple[str, Callable[[], object]]] = [
        (funnel.OFF, lambda: Chat.objects.update(sticker_learning=True)),
        (funnel.CAPABILITY, lambda: capabilities.register_probe(scene.platform_can())),
        (funnel.KNOWN_REJECTED, picture.delete),
        (funnel.TOO_FEW_SIGHTINGS, lambda: Chat.objects.update(sticker_sightings=1)),
        (funnel.RATE, lambda: Chat.objects.update(sticker_rate=60)),
        (funnel.NO_ROOM, lambda: Chat.objects.update(sticker_cap=300)),
        (funnel.BUDGET, lambda: Chat.objects.update(sticker_daily_calls=9)),
        (funnel.NO_MODEL, lambda: setattr(settings, "ARISE_VISION_MODEL", "sees")),
    ]
    for reason, opening in openings:
        receive(chat, CAT_PART)
        assert scene.counted(chat).get(reason) == 1, reason
        opening()
    assert sent() == []
    receive(chat, CAT_PART)
    assert len(sent()) == 1


def test_a_batch_costs_a_chat_that_does_not_learn_one_statement(
    chat: Chat, sent: Sent, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Chat.objects.update(sticker_learning=False)
    receive(chat, CAT_PART)
    items = list(InboundItem.objects.select_related("chat__bot")) * 20
    with django_assert_num_queries(1):
        ingress.told(items)
    assert scene.counted(chat)[funnel.OFF] == 21


def test_a_broker_that_is_away_holds_up_nobody_and_loses_no_message(
    chat: Chat, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks.learn, "delay", away)
    receive(chat, CAT_PART)
    ingress._waiting.join()
    assert InboundItem.objects.count() == 1


def test_a_rolled_back_batch_hands_over_nothing(chat: Chat, sent: Sent) -> None:
    with transaction.atomic():
        inbound.receive([scene.received(chat, CAT_PART)])
        transaction.set_rollback(True)
    assert sent() == []


def test_learning_has_a_queue_of_its_own_that_the_worker_consumes() -> None:
    for name in ("learn", "embed_missing"):
        route = app.amqp.router.route({}, f"stickers.tasks.{name}")
        assert route["queue"].name == "stickers"
    line = worker({}).line
    assert "stickers" in line[line.index("--queues") + 1].split(",")
    assert "celery" in line[line.index("--queues") + 1].split(",")


def test_what_surely_cost_nothing_is_sent_again_a_few_times_later(
    chat: Chat, endpoint: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[tuple[tuple[int, ...], float]] = []
    monkeypatch.setattr(
        tasks.learn, "apply_async", lambda args, countdown: again.append((args, countdown))
    )
    item = scene.shown(chat, CAT)
    for tries in range(1, tasks.MOST_TRIES + 1):
        endpoint.reply("busy", status=503)
        tasks.learn(item.pk, 0, tries)
    assert again == [((item.pk, 0, 2), 10), ((item.pk, 0, 3), 40), ((item.pk, 0, 4), 90)]
    assert not Picture.objects.exists()


def test_every_name_of_the_funnel_has_a_label() -> None:
    names = [
        value for name, value in vars(funnel).items() if name.isupper() and isinstance(value, str)
    ]
    assert len(set(names)) == len(names)
    assert set(names) - {funnel.DOWNLOAD} == {*funnel.STAGES, *funnel.DROPS}
    assert funnel.label(funnel.download("too_large")) == "not downloaded: it is too large"


def test_counts_are_told_by_chat_and_since_a_day(chat: Chat) -> None:
    other = scene.learning_chat()
    funnel.count(chat.pk, funnel.SENT, 3)
    funnel.count(other.pk, funnel.SENT)
    funnel.count(0, funnel.SENT)  # of a chat that was forgotten: nothing
    today = timezone.localdate()
    assert funnel.counts(chat.pk, today) == {funnel.SENT: 3}
    assert funnel.counts(None, today) == {funnel.SENT: 4}
    assert funnel.counts(None, today + timedelta(days=1)) == {}


def test_a_message_full_of_stickers_is_looked_at_up_to_a_bound(chat: Chat) -> None:
    most = ingress.MOST_OF_A_MESSAGE
    parts = [scene.part(CAT, stable_id=f"md5:{number:032x}") for number in range(most + 5)]
    inbound.receive([scene.received(chat, *parts)])
    assert scene.counted(chat) == {"seen": most + 5, "candidate": most, "rate": 5}


@pytest.mark.django_db(transaction=True)
def test_counting_waits_for_nobody_who_holds_the_chat(chat: Chat) -> None:
    """Whoever counts holds an entry of the Outbox; whoever holds the chat may wait for that one."""

    def counts() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '3s'")
                funnel.count(chat.pk, funnel.SENT)
        finally:
            give_back()

    with transaction.atomic(), ThreadPoolExecutor(1) as threads:
        Chat.objects.select_for_update().get(pk=chat.pk)
        threads.submit(counts).result(timeout=20)
    assert scene.counted(chat)["sent"] == 1


def test_counts_that_have_outlived_their_chat_are_pruned(chat: Chat) -> None:
    funnel.count(chat.pk, funnel.SENT)
    FunnelCount.objects.create(chat_id=0, day=timezone.localdate(), name=funnel.SENT, times=1)
    assert funnel.prune() == 1
    assert scene.counted(chat) == {"sent": 1}
