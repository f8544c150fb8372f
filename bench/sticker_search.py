"""How well stickers are found: hit@5 over the set in bench/sticker_set, against a random draw.

The search is the site's own, over a real database: all stickers of the set are the catalogue, and a
chat searches it. `--server URL MODEL` asks an OpenAI-compatible endpoint for embeddings instead of
the built-in encoder. "Passing" counts what the floor lets pass, as the model is told it.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench import figures, house, sticker_set
from bench.sticker_set import Meaning, Situation

SMALLER = (10, 50, 300)
DRAWS = 5
OFFSETS = (-0.15, -0.10, -0.05, -0.02, 0.0, 0.02, 0.05, 0.10, 0.15)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first: whether each fits, and its score."""

    situation: Situation
    fits: list[bool]
    scores: list[float]
    floor: float

    def passing(self, offset: float = 0.0) -> list[bool]:
        """Whether each of the five best fits, of those that pass a floor moved by `offset`."""
        from stickers import search  # noqa: PLC0415

        least = search.least(self.scores, self.floor + offset)
        pairs = zip(self.fits[:5], self.scores[:5], strict=True)
        return [fits for fits, score in pairs if score >= least]


def main() -> None:
    parser = figures.parser("sticker_search", __doc__)
    parser.add_argument("--server", nargs=2, metavar=("URL", "MODEL"), help="base URL, with /v1")
    options = parser.parse_args()
    with house.services(fast=True):
        from django.conf import settings  # noqa: PLC0415

        if options.server:
            settings.ARISE_DEMO_MODEL = False
            settings.ARISE_MODEL_BASE_URL, settings.ARISE_EMBEDDING_MODEL = options.server
        _measure()


def _measure() -> None:
    from stickers import embeddings  # noqa: PLC0415

    print(f"embeddings: {embeddings.described()}")
    stickers = sticker_set.meanings()
    searches = sticker_set.situations()
    found = _search(stickers, searches)
    for half in (sticker_set.TUNING, sticker_set.HELD_OUT):
        _tell(half, [one for one in found if one.situation.half == half], stickers)
    _languages(stickers, searches)
    _curve(found)
    for size in SMALLER:
        _smaller(size, stickers, searches)


def _search(stickers: Sequence[Meaning], searches: Iterable[Situation]) -> list[Found]:
    """Search in a catalogue of these stickers, made anew."""
    from core.models import Bot, Chat  # noqa: PLC0415
    from stickers import search, upkeep  # noqa: PLC0415
    from stickers.models import Picture, Sticker  # noqa: PLC0415

    labels = _fill(stickers, Picture, Sticker)
    upkeep.embed_missing()
    bot, _ = Bot.objects.get_or_create(self_id="10000")
    chat, _ = Chat.objects.get_or_create(bot=bot, kind="group", external_id="20000")
    found = []
    for situation in searches:
        shown = search.preview(chat, situation.query)
        fits = [labels[hit.sticker.pk] in situation.fits for hit in shown.hits]
        found.append(Found(situation, fits, [hit.score for hit in shown.hits], shown.floor))
    return found


def _fill(stickers: Sequence[Meaning], picture: type, sticker: type) -> dict[int, str]:
    from django.utils import timezone  # noqa: PLC0415

    sticker.objects.all().delete()  # type: ignore[attr-defined]
    labels = {}
    for index, one in enumerate(stickers):
        seen = picture.objects.create(  # type: ignore[attr-defined]
            verdict="stored", sha256=f"{index:064x}", claimed_at=timezone.now()
        )
        made = sticker.objects.create(  # type: ignore[attr-defined]
            picture=seen,
            state="stored",
            meaning=one.meaning,
            moods=one.moods,
            use_when=one.use_when,
        )
        labels[made.pk] = one.label
    return labels


def _tell(name: str, found: Sequence[Found], stickers: Sequence[Meaning]) -> None:
    fitting = [one for one in found if one.situation.fits]
    nothing = [one for one in found if not one.situation.fits]
    draw = sticker_set.random_draw([one.situation for one in fitting], stickers)
    few = sticker_set.random_draw([one.situation for one in fitting], stickers, 5)
    hits = _share(fitting, lambda one: any(one.fits[:5]))
    passing = _share(fitting, lambda one: any(one.passing()))
    false = _share(nothing, lambda one: bool(one.passing()))
    print(
        f"{name}: {len(fitting)} situations, hit@5 {hits:.3f}, passing the floor {passing:.3f}; "
        f"a random draw of 25 {draw:.3f} (ratio {hits / draw:.1f} and {passing / draw:.1f}), "
        f"of 5 {few:.3f}; {len(nothing)} where nothing fits, false offers {false:.3f}"
    )


def _languages(stickers: Sequence[Meaning], searches: Sequence[Situation]) -> None:
    for wanted in ("zh", "en"):
        own = [one for one in stickers if one.language == wanted]
        found = [one for one in _search(own, searches) if one.situation.fits]
        draw = sticker_set.random_draw([one.situation for one in found], own)
        for asked in ("zh", "en"):
            some = [one for one in found if one.situation.language == asked]
            hits = _share(some, lambda one: any(one.fits[:5]))
            passing = _share(some, lambda one: any(one.passing()))
            print(
                f"{asked} -> {wanted} alone: {len(some)} situations, hit@5 {hits:.3f}, passing "
                f"{passing:.3f}; a random draw of 25 {draw:.3f}"
            )


def _curve(found: Sequence[Found]) -> None:
    fitting = [one for one in found if one.situation.fits]
    nothing = [one for one in found if not one.situation.fits]
    floor = found[0].floor
    print("the floor's curve: floor, false offers where nothing fits, hit@5 that passes")
    for offset in OFFSETS:
        false = _share(nothing, lambda one, at=offset: bool(one.passing(at)))  # type: ignore[misc]
        hits = _share(fitting, lambda one, at=offset: any(one.passing(at)))  # type: ignore[misc]
        print(f"  {floor + offset:.3f}{' *' if not offset else '  '} {false:.3f} {hits:.3f}")


def _smaller(size: int, stickers: Sequence[Meaning], searches: Sequence[Situation]) -> None:
    """The same with fewer stickers, drawn anew a few times."""
    draw = random.Random(size)
    hits, passing, false = [], [], []
    for _ in range(DRAWS):
        some = draw.sample(list(stickers), size)
        there = {one.label for one in some}
        found = _search(some, searches)
        fitting = [one for one in found if there & set(one.situation.fits)]
        nothing = [one for one in found if not one.situation.fits]
        hits.append(_share(fitting, lambda one: any(one.fits[:5])))
        passing.append(_share(fitting, lambda one: any(one.passing())))
        false.append(_share(nothing, lambda one: bool(one.passing())))
    print(
        f"{size} stickers, {DRAWS} draws, where one that fits is among them: hit@5 "
        f"{_mean(hits):.3f}, passing {_mean(passing):.3f}; false offers {_mean(false):.3f}"
    )


def _share(found: Sequence[Found], holds: Callable[[Found], bool]) -> float:
    return sum(map(holds, found)) / len(found)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
