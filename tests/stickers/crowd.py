"""Many sightings of few pictures, renamed and re-encoded, and what must hold after them."""

import random
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from core import inbound
from core.media import store
from core.models import Chat
from stickers.models import Picture, PictureKey, Sticker
from tests.stickers import drawing, scene
from tests.stickers.drawing import Encoding

WAYS = (
    Encoding(),
    Encoding("JPEG", 60),
    Encoding("JPEG", 90),
    Encoding("WEBP", 80),
    Encoding(scale=0.8),
)
NAMED, NAMELESS = 0.9, 0.05
"""Shares of sightings under the platform's name, and under none; the others have a new one each."""


@dataclass(frozen=True)
class Drawn:
    """One picture and its encodings."""

    number: int

    @cached_property
    def encodings(self) -> list[bytes]:
        # Two captions to a template.
        ground = drawing.template(self.number // 2, 160 + self.number)
        words = drawing.CHINESE if self.number // 2 % 2 else drawing.ENGLISH
        word = words[self.number % len(words)]
        picture = drawing.captioned(ground, word, 0.2)
        return [drawing.encoded(picture, how) for how in WAYS]

    @cached_property
    def spooled(self) -> list[str]:
        """References to the bytes, as the gateway puts them in place of those in a frame."""
        return [f"media:{store.spool(content)}" for content in self.encodings]

    @cached_property
    def names(self) -> list[str]:
        return [drawing.md5_of(content) for content in self.encodings]


def sightings(pictures: Sequence[Drawn], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """(address, stable id) of so many sightings; each picture is seen at least once."""
    chance = random.Random(seed)
    order = [*pictures, *chance.choices(pictures, k=count - len(pictures))]
    chance.shuffle(order)
    for picture in order:
        way = chance.randrange(len(WAYS))
        draw = chance.random()
        name = picture.names[way] if draw < NAMED else ""
        if draw >= NAMED + NAMELESS:
            name = f"md5:{uuid.UUID(int=chance.getrandbits(128)).hex}"
        yield picture.spooled[way], name


def feed(chats: Sequence[Chat], seen: Sequence[tuple[str, str]], *, batch: int = 50) -> None:
    """Have people show them, many to a transaction as when many arrive at once."""
    for start in range(0, len(seen), batch):
        received = []
        for index, (address, name) in enumerate(seen[start : start + batch]):
            data = {"url": address} | ({"id": name} if name else {})
            chat = chats[(start + index) % len(chats)]
            received.append(scene.received(chat, {"type": "sticker", "data": data}))
        inbound.receive(received)


def broken(pictures: Sequence[Drawn], asked: int) -> list[str]:
    """What does not hold, in words: more calls than pictures, one picture in two rows, two in one."""
    faults = []
    if asked > len(pictures):
        faults.append(f"{asked} calls for {len(pictures)} pictures")
    found: Counter[int] = Counter()
    for picture in pictures:
        keys = [f"sha256:{address.removeprefix('media:')}" for address in picture.spooled]
        rows = PictureKey.objects.filter(chat=None, key__in=keys)
        of = set(rows.values_list("picture", flat=True))
        if len(of) != 1:
            faults.append(f"picture {picture.number} has {len(of)} rows")
        found.update(of)
    faults += [f"row {row} is of {times} pictures" for row, times in found.items() if times > 1]
    pairs = Counter(Sticker.objects.values_list("chat", "picture"))
    faults += [f"{pair} has {times} stickers" for pair, times in pairs.items() if times > 1]
    if (rows_made := Picture.objects.count()) != len(pictures):
        faults.append(f"{rows_made} rows for {len(pictures)} pictures")
    return faults
