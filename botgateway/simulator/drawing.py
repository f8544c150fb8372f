"""Stickers that nobody drew: a picture of its own for each name, always the same."""

import hashlib
import io

from PIL import Image, ImageDraw

_CELLS = 6
_CELL = 20


def drawn(name: str) -> bytes:
    """A small PNG, mirrored as faces are, in colors that the name decides."""
    bits = hashlib.sha256(name.encode("utf-8", "replace")).digest()
    light, dark = (
        tuple(160 + byte % 96 for byte in bits[:3]),
        tuple(byte % 128 for byte in bits[3:6]),
    )
    side = _CELLS * _CELL
    picture = Image.new("RGB", (side, side), light)
    pen = ImageDraw.Draw(picture)
    for row in range(_CELLS):
        for column in range(_CELLS // 2):
            if bits[6 + row * (_CELLS // 2) + column] % 2:
                for place in (column, _CELLS - 1 - column):
                    corner = (place * _CELL, row * _CELL)
                    pen.rectangle((*corner, corner[0] + _CELL - 1, corner[1] + _CELL - 1), dark)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
