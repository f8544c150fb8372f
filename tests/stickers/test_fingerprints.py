"""What a picture looks like: re-encodings stay together, other words on one template stay apart."""

import io
import itertools
import random

import pytest
from django.utils import timezone
from PIL import Image

from core.media import pictures
from stickers import fingerprints
from stickers.fingerprints import Look
from stickers.models import Fingerprint
from tests.stickers import drawing
from tests.stickers.making import make_picture


def look(content: bytes) -> Look:
    return fingerprints.look_of(pictures.examine(content).samples)


def sampled(content: bytes) -> Look:
    """The same of a still picture, without a child process."""
    with Image.open(io.BytesIO(content)) as picture:
        shown = picture.convert("RGBA")
    ground = Image.new("RGBA", shown.size, "white")
    ground.alpha_composite(shown)
    grey = ground.convert("RGB").convert("L").resize((64, 64), Image.Resampling.BILINEAR)
    return fingerprints.look_of([grey.tobytes()])


def test_fifty_pairs_of_one_template_with_different_words_stay_apart() -> None:
    chance = random.Random("encodings")
    together = []
    for one, other in drawing.pairs(50):
        for _ in range(2):
            first, second = chance.sample(drawing.ENCODINGS, 2)
            looks = sampled(drawing.encoded(one, first)), sampled(drawing.encoded(other, second))
            if fingerprints.same(*looks):
                together.append((first, second, fingerprints.difference(*looks)))
    assert not together


def test_re_encodings_of_one_picture_stay_together() -> None:
    apart = []
    # A GIF has 256 colours: now and then it is another picture, which costs one more call.
    ways = [how for how in drawing.ENCODINGS if how.kind != "GIF"]
    for one, _other in drawing.pairs(12):
        looks = [sampled(drawing.encoded(one, how)) for how in ways]
        for (a, how), (b, other) in itertools.combinations(zip(looks, ways, strict=True), 2):
            if not fingerprints.same(a, b):
                apart.append((how, other, fingerprints.difference(a, b)))
    assert not apart


def test_the_samples_of_a_real_examination_tell_the_same() -> None:
    (one, other), *_ = drawing.pairs(1)
    first = look(drawing.encoded(one))
    assert fingerprints.difference(first, sampled(drawing.encoded(one))) < 1
    assert fingerprints.same(first, look(drawing.encoded(one, drawing.Encoding("JPEG", 60, 0.6))))
    assert not fingerprints.same(first, look(drawing.encoded(other)))


def test_an_animation_and_its_first_frame_are_two_pictures() -> None:
    (one, other), *_ = drawing.pairs(1)
    still, moving = look(drawing.encoded(one)), look(drawing.animated(one, other, one))
    assert len(moving.hashes) == 3
    assert not fingerprints.same(still, moving)


def test_animations_that_differ_in_one_frame_alone_are_two_pictures() -> None:
    (one, other), (third, _), *_ = drawing.pairs(2)
    third = third.resize(one.size)
    assert not fingerprints.same(
        look(drawing.animated(one, third, one)), look(drawing.animated(other, third, one))
    )
    assert fingerprints.same(
        look(drawing.animated(one, third, one)), look(drawing.animated(one, third, one))
    )


def test_what_is_kept_of_a_frame_is_no_picture() -> None:
    kept = sampled(drawing.sticker())
    assert len(kept.blocks) == 16 * 16
    assert all(-(2**63) <= bits < 2**63 for bits in kept.hashes)


@pytest.mark.parametrize("samples", [[], [b""], [bytes(64 * 63)]])
def test_samples_of_another_size_are_refused(samples: list[bytes]) -> None:
    with pytest.raises(ValueError, match="64×64"):
        fingerprints.look_of(samples)


@pytest.mark.django_db
def test_a_picture_is_found_among_others_by_what_it_looks_like() -> None:
    for seed in range(8):
        kept = sampled(drawing.sticker(seed))
        Fingerprint.objects.create(
            picture=make_picture(claimed_at=timezone.now()),
            hashes=list(kept.hashes),
            blocks=kept.blocks,
        )
    wanted = Fingerprint.objects.order_by("pk")[5]
    again = sampled(drawing.sticker(5, drawing.Encoding("JPEG", 60)))
    assert fingerprints.find(again) == wanted.pk
    assert fingerprints.find(sampled(drawing.sticker(99))) is None
