"""Pictures for tests, as bytes."""

import io
from typing import Any

from PIL import Image

Color = tuple[int, ...] | str | int


def picture(
    kind: str = "PNG",
    size: tuple[int, int] = (30, 20),
    color: Color = "red",
    mode: str = "RGB",
    **options: Any,
) -> bytes:
    """One frame of one color; `kind` as Pillow names it."""
    file = io.BytesIO()
    Image.new(mode, size, color).save(file, kind, **options)
    return file.getvalue()


def animation(kind: str = "GIF", frames: int = 12, size: tuple[int, int] = (90, 60)) -> bytes:
    """So many frames, the first black, each brighter than the one before."""
    drawn = [Image.new("RGB", size, (3 * place % 256,) * 3) for place in range(frames)]
    # A dot in another place each time: encoders leave out a frame that changes nothing.
    for place, frame in enumerate(drawn):
        frame.putpixel((place % size[0], place // size[0] % size[1]), (255, 0, 0))
    file = io.BytesIO()
    drawn[0].save(file, kind, save_all=True, append_images=drawn[1:], duration=50, loop=0)
    return file.getvalue()
