"""Who embeds, and what is kept of it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from pytest_django import Settings

from core.errors import ModelFailure
from stickers import candidates, checks, embeddings, scale, upkeep
from stickers.embeddings import BUILT_IN, Embedder
from stickers.models import Sticker, StickerVector
from tests.factories import make_chat
from tests.fakes.model import EMBEDDING_MODEL, Script, ScriptedModel
from tests.fakes.model import embeddings as reply
from tests.fakes.model_fixtures import script, scripted_model
from tests.stickers.making import embedded, make_sticker

__all__ = ["script", "scripted_model"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _endpoint(settings: Settings, scripted_model: ScriptedModel) -> None:
    scripted_model.embedded.clear()
    settings.ARISE_DEMO_MODEL = False
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_MODEL_RETRIES = 0
    settings.ARISE_EMBEDDING_MODEL = EMBEDDING_MODEL


def models() -> list[tuple[int, str]]:
    return list(StickerVector.objects.order_by("sticker_id").values_list("sticker_id", "model"))


def test_without_a_model_the_built_in_encoder_serves_and_says_so(
    settings: Settings, scripted_model: ScriptedModel
) -> None:
    settings.ARISE_EMBEDDING_MODEL = ""
    assert embeddings.active() == BUILT_IN
    assert "use-multilingual-v3" in embeddings.described()
    (finding,) = checks.search()
    assert (finding.state, "use-multilingual-v3" in finding.message) == ("ok", True)
    near, far = embeddings.embed(["好累", "晚安"]), embeddings.embed(["so tired"] * 40)
    assert {len(vector) for vector in near + far} == {512}
    assert not scripted_model.embedded


def test_the_built_in_encoder_says_the_same_to_many_at_once(settings: Settings) -> None:
    settings.ARISE_EMBEDDING_MODEL = ""
    texts = [f"text {number}" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda text: embeddings.embed([text])[0], texts * 3))
    assert made[:8] == made[8:16] == made[16:]
    assert made[0] != made[1]


def test_an_endpoint_is_asked_for_512_numbers_and_named(scripted_model: ScriptedModel) -> None:
    (vector,) = embeddings.embed(["hello"])
    assert len(vector) == 512
    assert scripted_model.embedded == [
        {"model": EMBEDDING_MODEL, "input": ["hello"], "dimensions": 512}
    ]
    assert embeddings.described() == f"{EMBEDDING_MODEL} at {scripted_model.url}"


def test_an_endpoint_that_takes_no_size_is_asked_without_from_then_on(script: Script) -> None:
    embedder = Embedder(script.model, is_built_in=False)
    script.reply("no `dimensions` here", status=400)
    script.add(reply([[1.0, 2.0]]))
    script.add(reply([[3.0, 4.0]]))
    assert embeddings.embed(["a"], embedder) == [[1.0, 2.0]]
    assert embeddings.embed(["b"], embedder) == [[3.0, 4.0]]
    assert ["dimensions" in request for request in script.requests] == [True, False, False]


def test_that_an_endpoint_takes_no_size_is_not_believed_for_ever(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One refusal may have had another reason."""
    monkeypatch.setattr(embeddings, "_BELIEVED_SECONDS", 0.0)
    embedder = Embedder(script.model, is_built_in=False)
    script.reply("out of money", status=400)
    script.add(reply([[1.0, 2.0]]))
    script.add(reply([[3.0] * 512]))
    embeddings.embed(["a"], embedder)
    assert len(embeddings.embed(["b"], embedder)[0]) == 512


def test_a_wrong_key_is_not_tried_twice(script: Script) -> None:
    script.reply("who are you", status=401)
    with pytest.raises(ModelFailure):
        embeddings.embed(["a"], Embedder(script.model, is_built_in=False))


def test_a_failure_of_embedding_is_none_of_learning(script: Script, settings: Settings) -> None:
    settings.ARISE_EMBEDDING_MODEL = script.model
    script.reply("busy", status=500)
    assert embeddings.prepare("a") is None
    embeddings.write(make_sticker(make_chat()), None)
    assert models() == []


def test_a_stored_meaning_is_embedded_once(scripted_model: ScriptedModel) -> None:
    sticker = make_sticker(make_chat(), "thanks", use_when="after help", moods=["谢谢", "thanks"])
    embedded(sticker)
    embedded(sticker, [1.0])
    (request,) = scripted_model.embedded
    assert request["input"] == ["thanks\nafter help\n谢谢 thanks"]
    assert models() == [(sticker.pk, EMBEDDING_MODEL)]


def test_a_changed_text_leaves_no_vector_of_the_old_one() -> None:
    sticker = embedded(embedded(make_sticker(make_chat(), "old")), [1.0], "another-model")
    late = embeddings.prepare(embeddings.text_of(sticker))
    sticker.meaning = "new"
    embeddings.write(sticker, late)
    assert models() == []
    embedded(sticker)
    assert models() == [(sticker.pk, EMBEDDING_MODEL)]


def test_a_sticker_that_goes_into_the_catalogue_takes_its_vector_along() -> None:
    sticker = embedded(make_sticker(make_chat()))
    sticker.chat = None
    embeddings.write(sticker, None)
    assert StickerVector.objects.get().scope == embeddings.CATALOGUE


def test_what_has_no_vector_gets_one_in_the_background_and_others_go() -> None:
    chat = make_chat()
    fresh = [make_sticker(chat, f"meaning {number}") for number in range(70)]
    old = embedded(make_sticker(None, "an old one"), [1.0, 0.0], "another-model")
    make_sticker(chat, "rejected", state="rejected")
    assert next(iter(checks.search())).state == "warning"
    assert upkeep.embed_missing() == 71
    assert models() == [(sticker.pk, EMBEDDING_MODEL) for sticker in [*fresh, old]]
    assert upkeep.embed_missing() == 0
    assert next(iter(checks.search())).state == "ok"


def test_vectors_of_another_size_are_found_by_their_letters_and_made_anew(
    scripted_model: ScriptedModel,
) -> None:
    chat = make_chat()
    embedded(make_sticker(chat, "thank you"))
    other = embedded(make_sticker(chat, "good night"), [1.0, 0.0])
    found = candidates.find(chat.pk, EMBEDDING_MODEL, [1.0] + [0.0] * 511, ["night"])
    assert found[other.pk] is None
    assert upkeep.embed_missing() == 0
    assert upkeep.embed_missing() == 1
    found = candidates.find(chat.pk, EMBEDDING_MODEL, [1.0] + [0.0] * 511, [])
    assert found[other.pk] is not None
    scripted_model.embedded.clear()
    assert upkeep.embed_missing() == 0
    assert scripted_model.embedded == []


def test_old_vectors_stay_until_all_are_there(script: Script, settings: Settings) -> None:
    settings.ARISE_EMBEDDING_MODEL = script.model
    embedded(make_sticker(None), [1.0, 0.0], "another-model")
    for _ in range(3):
        script.reply("busy", status=500)
    assert upkeep.embed_missing() == 0
    assert [model for _, model in models()] == ["another-model"]


def test_one_text_that_is_refused_does_not_hold_up_the_others(
    script: Script, settings: Settings
) -> None:
    settings.ARISE_EMBEDDING_MODEL = script.model
    bad = make_sticker(None, "refused")
    good = [make_sticker(None, f"good {number}") for number in range(6)]

    def answer(request: dict[str, list[str]]) -> object:
        if any("refused" in text for text in request["input"]):
            return reply([])
        return reply([[1.0, 0.0]] * len(request["input"]))

    script.always(answer)  # type: ignore[arg-type]
    for _ in range(40):
        upkeep.embed_missing()
    assert {key for key, _ in models()} == {sticker.pk for sticker in good}
    assert upkeep.waiting() == 1
    assert bad.pk not in {key for key, _ in models()}


def test_two_workers_do_not_do_the_same(scripted_model: ScriptedModel) -> None:
    make_sticker(None)
    with upkeep._alone("stickers.embed_missing") as alone:
        assert alone
        assert upkeep.embed_missing() == 0
    assert not scripted_model.embedded
    assert upkeep.embed_missing() == 1


def test_a_text_that_changed_meanwhile_keeps_no_old_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    sticker = make_sticker(None, "old")
    asked = embeddings.embed

    def embed(texts: list[str], embedder: Embedder) -> list[list[float]]:
        Sticker.objects.filter(pk=sticker.pk, meaning="old").update(meaning="new")
        return asked(texts, embedder)

    monkeypatch.setattr(embeddings, "embed", embed)
    upkeep.embed_missing()
    vector = StickerVector.objects.get()
    assert vector.text_digest == embeddings.digest("new")


def test_cosines_of_a_model_are_read_by_what_it_gives_to_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scale, "_known", {})
    crowded = Embedder("crowded", is_built_in=False)
    for number in range(49):
        embedded(make_sticker(None), [10.0, *(float(number == at) for at in range(60))], "crowded")
    assert scale.stretch(crowded, 61) == 1
    embedded(make_sticker(None), [10.0] + [0.0] * 59 + [1.0], "crowded")
    assert scale.stretch(crowded, 61) == 6.0
    assert scale.stretch(BUILT_IN, 512) == 1


@pytest.mark.django_db(transaction=True)
def test_a_large_scope_gets_an_index_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "LARGE", 3)
    for number in range(5):
        embedded(make_sticker(None), [1.0, number / 10])
    embedded(make_sticker(make_chat()), [1.0, 0.0])
    (name,) = upkeep.index_large_scopes()
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [name])
        (made,) = cursor.fetchone()
    assert "hnsw" in made
    assert "(scope = 0)" in made
    assert upkeep.index_large_scopes() == [name]
    StickerVector.objects.filter(vector__isnull=False).all()[:1].get().sticker.delete()
    StickerVector.objects.order_by("pk")[:1].get().sticker.delete()
    assert upkeep.index_large_scopes() == []
