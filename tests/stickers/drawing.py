"""Stickers drawn for tests: templates with captions, encoded as platforms and people re-encode them.

Chinese captions are drawn with invented signs of as many strokes, since no machine is sure to have
a font of Chinese.
"""

import hashlib
import io
import random
from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

CHINESE = (
    "好的",
    "不行",
    "谢谢",
    "再见",
    "笑死",
    "无语",
    "加油",
    "睡了",
    "救命",
    "尴尬",
    "收到",
    "抱抱",
)
ENGLISH = ("OK", "NO", "thanks", "bye", "lol", "wtf", "go!", "sleep", "help", "hugs", "wow", "nope")


def template(seed: int, size: int = 0) -> Image.Image:
    """A picture to write a caption on: plain, coloured or transparent ground, and some shapes."""
    chance = random.Random(f"template {seed}")
    width = size or chance.randrange(120, 600)
    height = int(width * chance.choice((1, 1, 0.8, 1.2)))
    colour = (*(chance.randrange(120, 256) for _ in range(3)), 255)
    ground = chance.choice(((255, 255, 255, 255), colour, (0, 0, 0, 0)))
    picture = Image.new("RGBA", (width, height), ground)
    pen = ImageDraw.Draw(picture)
    for _ in range(chance.randrange(3, 9)):
        x, y = chance.randrange(width), chance.randrange(int(height * 0.7))
        radius = chance.randrange(width // 12, width // 3)
        box = (x - radius, y - radius, x + radius, y + radius)
        fill = (*(chance.randrange(256) for _ in range(3)), 255)
        draw = pen.ellipse if chance.random() < 0.7 else pen.rectangle
        draw(box, fill=fill, outline=(0, 0, 0, 255), width=max(1, width // 80))
    return picture


def captioned(picture: Image.Image, words: str, share: float = 0.16) -> Image.Image:
    """The picture with words at its foot, `share` of its height high."""
    written = picture.copy()
    height = max(8, int(picture.height * share))
    left, top = picture.width // 12, picture.height - height - picture.height // 30
    if words.isascii():
        font = ImageFont.load_default(height)
        edge = max(1, picture.width // 100)
        ImageDraw.Draw(written).text(
            (left, top - height // 6), words, "black", font, stroke_width=edge, stroke_fill="white"
        )
        return written
    for place, sign in enumerate(words):
        _draw_sign(written, sign, left + place * height, top, height)
    return written


def _draw_sign(picture: Image.Image, sign: str, left: int, top: int, side: int) -> None:
    """An invented sign of seven strokes, always the same for one character."""
    chance = random.Random(f"sign {sign}")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((left, top, left + side - 1, top + side - 1), fill=(255, 255, 255, 255))
    for _ in range(7):
        across = chance.random() < 0.5
        start = chance.randrange(side // 2)
        at = chance.randrange(side // 10, side - side // 10)
        end = start + side // 2
        box = (start, at, end, at) if across else (at, start, at, end)
        moved = tuple(value + (left, top)[place % 2] for place, value in enumerate(box))
        pen.line(moved, fill=(0, 0, 0, 255), width=max(2, side // 10))


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a picture is encoded: Pillow's name, its quality, and scaled by how much before."""

    kind: str = "PNG"
    quality: int = 80
    scale: float = 1


ENCODINGS = (
    Encoding(),
    Encoding("JPEG", 50),
    Encoding("JPEG", 70),
    Encoding("JPEG", 90),
    Encoding("WEBP", 50),
    Encoding("WEBP", 85),
    Encoding("GIF"),
    Encoding(scale=0.5),
    Encoding(scale=1.5),
    Encoding("JPEG", 60, 0.6),
)


def encoded(picture: Image.Image, how: Encoding = ENCODINGS[0]) -> bytes:
    """The picture as bytes; never scaled to less than 100 pixels a side, which nobody could read."""
    scale = max(how.scale, min(1.0, 100 / min(picture.size)))
    size = (int(picture.width * scale), int(picture.height * scale))
    drawn = picture.resize(size, Image.Resampling.LANCZOS) if scale != 1 else picture
    if how.kind == "JPEG":
        ground = Image.new("RGBA", drawn.size, "white")
        ground.alpha_composite(drawn)
        drawn = ground.convert("RGB")
    file = io.BytesIO()
    options = {"quality": how.quality} if how.kind in ("JPEG", "WEBP") else {}
    drawn.save(file, how.kind, **options)
    return file.getvalue()


def animated(*pictures: Image.Image) -> bytes:
    """A GIF of these frames."""
    first, *others = (picture.convert("RGB") for picture in pictures)
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=80, loop=0)
    return file.getvalue()


def padded(content: bytes, note: str) -> bytes:
    """The same picture in other bytes: a note after its end, which decoders do not read."""
    return content + note.encode()


def sticker(seed: int = 1, how: Encoding = ENCODINGS[0]) -> bytes:
    """Some sticker; another seed is another one."""
    return encoded(captioned(template(seed, 160), ENGLISH[seed % len(ENGLISH)]), how)


def pairs(count: int) -> Iterator[tuple[Image.Image, Image.Image]]:
    """Pairs of one template with two captions, in turns Chinese and English."""
    for seed in range(count):
        chance = random.Random(f"pair {seed}")
        one, other = chance.sample(ENGLISH if seed % 2 else CHINESE, 2)
        share = chance.uniform(0.15, 0.25)
        ground = template(seed)
        yield captioned(ground, one, share), captioned(ground, other, share)


def md5_of(content: bytes) -> str:
    """The stable id that a platform gives a picture: `md5:<hex>`."""
    return f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}"
