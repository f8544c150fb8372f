"""Finding stickers: what is near, what a chat may see, and what the floor keeps back."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from core.models import Chat
from stickers import candidates, embeddings, scale, search
from stickers.embeddings import BUILT_IN, Embedder
from stickers.models import Sticker, StickerVector
from stickers.search import Query
from tests.factories import make_chat
from tests.stickers.making import embedded, make_sticker

pytestmark = pytest.mark.django_db
TOY = Embedder("toy", is_built_in=False)


@pytest.fixture(autouse=True)
def toy(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_known", {})
    settings.ARISE_EMBEDDING_MODEL = TOY.model


@pytest.fixture
def chat() -> Chat:
    return make_chat()


def put(chat: Chat | None, *vector: float, meaning: str = "xx", **fields: object) -> Sticker:
    return embedded(make_sticker(chat, meaning, **fields), list(vector))


def found(chat: Chat, *vector: float, text: str = "?") -> list[Sticker]:
    return [hit.sticker for hit in search.find(chat, Query(text, TOY, list(vector)))]


def test_a_chat_finds_its_own_and_the_catalogues_stickers_nearest_first(chat: Chat) -> None:
    own, shared = put(chat, 1, 0.2), put(None, 1, 0.1)
    put(chat, -1, 0)
    assert found(chat, 1, 0) == [shared, own]


def test_a_picture_of_the_chat_and_of_the_catalogue_is_found_once(chat: Chat) -> None:
    own = put(chat, 1, 0)
    put(None, 1, 0, picture=own.picture)
    assert found(chat, 1, 0) == [own]


def test_nothing_of_another_chat_is_found(chat: Chat) -> None:
    for other in [make_chat(), make_chat(chat.bot)]:
        for _ in range(70):  # more than are ranked
            put(other, 1, 0)
            make_sticker(other, "hello there")
    own = put(chat, 1, 0.4)
    assert found(chat, 1, 0, text="hello there") == [own]


def test_a_vector_in_the_wrong_scope_betrays_nothing(chat: Chat) -> None:
    stray = put(make_chat(), 1, 0)
    StickerVector.objects.filter(sticker=stray).update(scope=chat.pk)
    assert found(chat, 1, 0) == []
    StickerVector.objects.filter(sticker=stray).update(scope=embeddings.CATALOGUE)
    assert found(chat, 1, 0) == []


@pytest.mark.parametrize("state", [state for state in Sticker.State if state != "stored"])
def test_only_stored_stickers_are_found(chat: Chat, state: str) -> None:
    put(chat, 1, 0, state=state)
    make_sticker(chat, "hello", state=state)
    assert found(chat, 1, 0, text="hello") == []


def test_vectors_of_another_model_or_size_are_not_compared(chat: Chat) -> None:
    other = embedded(make_sticker(chat, "aa"), [1.0, 0.0], "another-model")
    put(chat, 1, 0, 0, meaning="bb")
    assert found(chat, 1, 0) == []
    assert found(chat, 1, 0, text="aa") == [other]  # as one without a vector, by its letters


def test_what_has_no_vector_yet_is_found_by_its_letters(chat: Chat) -> None:
    night = make_sticker(chat, "祝你好梦", moods=["晚安"])
    make_sticker(None, "开心得转圈")
    put(chat, -1, 0)
    assert found(chat, 1, 0, text="晚安好梦") == [night]
    assert found(chat, 1, 0, text="100%_") == []


def test_the_floor_may_say_that_nothing_fits(chat: Chat) -> None:
    for _ in range(3):
        put(chat, 0.1, 1)
    assert found(chat, 1, 0) == []


def test_of_the_near_ones_those_far_behind_do_not_pass() -> None:
    assert search.least([1.0, 0.9, 0.2], 0.3) == pytest.approx(0.5)
    assert search.least([0.4, 0.35, 0.3], 0.3) == pytest.approx(0.2)
    assert search.least([0.4, 0.1, 0.1], 0.3) == pytest.approx(0.48)
    assert search.least([], 0.3) > 0


def test_the_floor_rises_with_what_there_is_to_find(chat: Chat) -> None:
    few = search._floor(chat, BUILT_IN)
    Sticker.objects.bulk_create(
        Sticker(picture=make_sticker(make_chat()).picture, chat=chat, state="stored", meaning="x")
        for _ in range(40)
    )
    assert search._floor(chat, BUILT_IN) > few


def test_what_a_query_says_in_the_stickers_own_words_counts(chat: Chat) -> None:
    named, other = put(chat, 1, 0.5, moods=["晚安"]), put(chat, 1, 0.4)
    assert found(chat, 1, 0) == [other, named]
    assert found(chat, 1, 0, text="晚安") == [named, other]


def test_what_was_sent_here_of_late_steps_back_and_stays(chat: Chat) -> None:
    now = timezone.now()
    first, second = put(chat, 1, 0, last_sent_at=now), put(chat, 1, 0.3)
    assert found(chat, 1, 0) == [second, first]
    Sticker.objects.filter(pk=first.pk).update(last_sent_at=now - timedelta(hours=2))
    assert found(chat, 1, 0) == [first, second]
    # Where a sticker of the catalogue was sent last may have been any chat.
    shared = put(None, 1, 0, last_sent_at=now)
    assert found(chat, 1, 0)[:2] == [first, shared]


def test_after_a_change_the_built_in_encoder_serves_until_the_new_vectors_are_there(
    chat: Chat, settings: Settings
) -> None:
    stickers = [embedded(make_sticker(chat), [1.0, 0.0], BUILT_IN.model) for _ in range(10)]
    assert search._embedder(chat) == BUILT_IN
    for sticker in stickers[:8]:
        embedded(sticker, [1.0, 0.0])
    assert search._embedder(chat) == BUILT_IN
    embedded(stickers[8], [1.0, 0.0])
    assert search._embedder(chat) == TOY
    assert search._embedder(make_chat()) == TOY


def test_the_console_sees_scores_and_what_the_floor_keeps_back(
    chat: Chat, settings: Settings
) -> None:
    settings.ARISE_EMBEDDING_MODEL = ""
    night = embedded(make_sticker(chat, "晚安，做个好梦"))
    angry = embedded(make_sticker(chat, "掀桌，气炸了"))
    shown = search.preview(chat, "\x00要睡觉了，晚安")
    assert shown.model == BUILT_IN.model
    assert [(hit.sticker, hit.passes) for hit in shown.hits] == [(night, True), (angry, False)]
    assert shown.hits[0].score > shown.floor > 0
    assert search.search(chat, "要睡觉了，晚安") == shown.hits[:1]
    assert search.preview(chat, " \n").hits == []


def plan(chat: Chat, vector: list[float], pieces: list[str]) -> str:
    sql, values = candidates.statement(chat.pk, TOY.model, vector, pieces)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN (COSTS OFF) {sql}", values)
        return "\n".join(row[0] for row in cursor.fetchall())


def test_every_look_at_vectors_or_stickers_has_the_scope_inside(chat: Chat) -> None:
    """Also where an index of another scope would be nearer at hand."""
    other = make_chat()
    for owner in (chat, other, None):
        put(owner, 1, 0)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for scope in (other.pk, embeddings.CATALOGUE):
            cursor.execute(
                f"CREATE INDEX near_{scope} ON stickers_stickervector USING hnsw"
                f" ((vector::vector(2)) vector_cosine_ops)"
                f" WHERE scope = {scope} AND model = 'toy' AND vector_dims(vector) = 2"
            )
    text = plan(chat, [1.0, 0.0], [])
    assert f"near_{other.pk}" not in text
    for scope, condition in ((chat.pk, f"chat_id = {chat.pk}"), (0, "chat_id IS NULL")):
        assert re.search(rf"scope = '?{scope}\b", text) or f"near_{scope}" in text, text
        assert condition in text


def test_there_is_no_approximate_index_over_the_vectors_of_all_chats() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexdef ~ 'hnsw|ivfflat'")
        assert all("WHERE" in row[0] and "scope =" in row[0] for row in cursor.fetchall())
