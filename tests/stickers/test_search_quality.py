"""How well the search finds what fits, over a part of the fixed set in bench/sticker_set."""

import pytest
from pytest_django import Settings

from bench import sticker_set
from stickers import embeddings, search
from stickers.models import Sticker, StickerVector
from tests.factories import make_chat
from tests.stickers.making import make_picture

pytestmark = pytest.mark.django_db
EVERY = 3  # of the situations


def fill(stickers: list[sticker_set.Meaning]) -> dict[int, str]:
    """The stickers as the catalogue; the label of each by its key."""
    made = [
        Sticker(
            picture=make_picture(),
            state=Sticker.State.STORED,
            meaning=one.meaning,
            moods=one.moods,
            use_when=one.use_when,
        )
        for one in stickers
    ]
    Sticker.objects.bulk_create(made)
    texts = [embeddings.text_of(sticker) for sticker in made]
    StickerVector.objects.bulk_create(
        StickerVector(
            sticker=sticker,
            scope=embeddings.CATALOGUE,
            model=embeddings.BUILT_IN.model,
            vector=vector,
            text_digest=embeddings.digest(text),
        )
        for sticker, text, vector in zip(made, texts, embeddings.embed(texts), strict=True)
    )
    return {sticker.pk: one.label for sticker, one in zip(made, stickers, strict=True)}


def test_it_beats_a_random_draw_twice_over_and_offers_little_where_nothing_fits(
    settings: Settings,
) -> None:
    settings.ARISE_EMBEDDING_MODEL = ""
    stickers = sticker_set.meanings()[::2]
    labels, chat = fill(stickers), make_chat()
    asked = sticker_set.situations(sticker_set.HELD_OUT)[::EVERY]
    fitting = [one for one in asked if one.fits]
    nothing = [one for one in asked if not one.fits]
    hits = sum(
        any(labels[hit.sticker.pk] in one.fits for hit in search.search(chat, one.query))
        for one in fitting
    )
    assert hits / len(fitting) >= 2 * sticker_set.random_draw(fitting, stickers)
    false = sum(bool(search.search(chat, one.query)) for one in nothing)
    assert false / len(nothing) <= 0.15  # of a third of them; the bench has the figure


def test_the_set_is_as_large_as_it_says() -> None:
    stickers, searches = sticker_set.meanings(), sticker_set.situations()
    labels = {one.label for one in stickers}
    assert len(stickers) >= 1000
    assert len({one.meaning for one in stickers}) == len(stickers)
    assert len([one for one in searches if one.fits]) >= 200
    assert len([one for one in searches if not one.fits]) >= 60
    assert {label for one in searches for label in one.fits} == labels
    assert {one.language for one in stickers} == {one.language for one in searches} == {"zh", "en"}
