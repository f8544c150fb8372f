"""The child process that decodes a picture: bytes on standard input, an answer on standard output.

It is run by its path, alone and isolated: nothing of arise is imported here. The answer is a line
of JSON (what core.media.pictures.Examined has, or `failure` and `detail`), then the samples and the
view, whose `lengths` the line tells.
"""

import contextlib
import io
import json
import math
import resource
import sys
import warnings
from collections.abc import Sequence
from typing import Any

ADDRESS_SPACE = 512 * 1024 * 1024
CPU_SECONDS = 5
MOST_PIXELS = 40_000_000
MOST_FRAMES = 200
MOST_PIXELS_OF_ALL_FRAMES = 200_000_000
LONGEST_SIDE = 768
MOST_VIEW_BYTES = 500_000
SHEET_FRAMES = 9
SHEET_GAP = 6
SAMPLES = 3
SAMPLE_SIDE = 64
_ORIENTATION = 0x0112


class Refused(Exception):
    """A picture that is not taken: one of the codes of core.errors.MediaFailure, and why."""


def bound() -> None:
    """Leave this process little to do harm with."""
    for kind, most in (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # not every system has every bound
            resource.setrlimit(kind, (most, most))


def forbid_files() -> None:
    """No further file, once all that may be needed is imported: decoders load parts of themselves
    when they first need them, so each decodes a picture of our own before."""
    Image.preinit()
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "green")]
    for kind in FORMATS:
        more = {} if kind == "JPEG" else {"save_all": True, "append_images": frames[1:]}
        examine(saved(frames[0], kind, **more))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def magic(content: bytes) -> str:
    """Pillow's name of the format that the first bytes tell; Refused for any other."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if content.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "WEBP"
    raise Refused("not_a_picture", "neither PNG nor JPEG, GIF or WebP by its first bytes")


bound()

from PIL import Image, MpoImagePlugin, WebPImagePlugin  # noqa: E402 - after the bounds

PLUGINS = (MpoImagePlugin, WebPImagePlugin)  # those that Pillow loads only when it needs them
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# Pillow refuses what has more than twice as many before it makes room for it, a later frame too.
Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2
warnings.simplefilter("ignore")


def examine(content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """What the first line tells, and the bytes that follow it."""
    kind = magic(content)
    # As this and nothing else, whatever else it may pass as.
    picture = Image.open(io.BytesIO(content), formats=(kind,))
    width, height = picture.size
    # A JPEG may carry further ones (MPO, of telephones): it is its first one.
    frames = 1 if kind == "JPEG" else int(getattr(picture, "n_frames", 1))
    if frames > MOST_FRAMES:
        raise Refused("too_many_frames", f"{frames} frames")
    if width * height * frames > MOST_PIXELS_OF_ALL_FRAMES:
        raise Refused("too_many_pixels", f"{frames} frames of {width} × {height} pixels")
    turn = orientation(picture)
    if kind == "JPEG":
        picture.draft("RGB", (LONGEST_SIDE * 2, LONGEST_SIDE * 2))
    shown = {place: flat(frame, turn) for place, frame in decoded(picture, frames).items()}
    samples = [sample(shown[place]) for place in spread(SAMPLES, frames)]
    view = shown[0] if frames == 1 else sheet([shown[one] for one in spread(SHEET_FRAMES, frames)])
    view_type, body = encoded(view, exact=kind != "JPEG")
    if turn in (5, 6, 7, 8):
        width, height = height, width
    told = {
        "media_type": f"image/{kind.lower()}",
        "width": width,
        "height": height,
        "frames": frames,
        "view_type": view_type,
        "view_width": view.width,
        "view_height": view.height,
    }
    return told, [*samples, body]


def orientation(picture: Image.Image) -> int:
    """How a camera was held (EXIF); 1 where nothing usable is told."""
    try:
        told = picture.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - whatever stands there, the picture is read without it
        return 1
    return told if told in TURNS else 1


def spread(most: int, count: int) -> list[int]:
    """At most so many places among `count`, the first and the last among them, in order."""
    if count <= most:
        return list(range(count))
    return sorted({round(place * (count - 1) / (most - 1)) for place in range(most)})


def decoded(picture: Image.Image, frames: int) -> dict[int, Image.Image]:
    """The frames that are looked at, by their places; each is scaled down before the next is read."""
    kept = {}
    for place in sorted({*spread(SHEET_FRAMES, frames), *spread(SAMPLES, frames)}):
        if frames > 1:
            picture.seek(place)
        picture.load()
        kept[place] = small(picture)
    return kept


def small(picture: Image.Image) -> Image.Image:
    """Scaled to LONGEST_SIDE at most, in a mode that can be scaled."""
    side = max(picture.size)
    if side > LONGEST_SIDE * 4 and picture.mode in ("L", "RGB", "RGBA"):
        picture = picture.reduce(side // (LONGEST_SIDE * 2))
    if picture.mode.startswith(("I", "F")):  # grey in more than 8 bits
        picture = picture.convert("L")
    has_alpha = "A" in picture.getbands() or "transparency" in picture.info
    picture = picture.convert("RGBA" if has_alpha else "RGB")
    scale = LONGEST_SIDE / max(picture.size)
    if scale >= 1:
        return picture
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS)


def flat(picture: Image.Image, turn: int) -> Image.Image:
    """On white, and the right way up."""
    if picture.mode == "RGBA":
        ground = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(ground, picture).convert("RGB")
    return picture.transpose(TURNS[turn]) if turn in TURNS else picture


def sample(picture: Image.Image) -> bytes:
    """64×64 bytes of grey."""
    size = (SAMPLE_SIDE, SAMPLE_SIDE)
    return picture.convert("L").resize(size, Image.Resampling.BILINEAR).tobytes()


def sheet(frames: Sequence[Image.Image]) -> Image.Image:
    """Frames in reading order on one picture."""
    columns = math.ceil(math.sqrt(len(frames)))
    rows = math.ceil(len(frames) / columns)
    side = (LONGEST_SIDE - SHEET_GAP * (columns - 1)) // columns
    scale = min(1.0, side / max(frames[0].size))
    width = max(1, round(frames[0].width * scale))
    height = max(1, round(frames[0].height * scale))
    whole = (columns * (width + SHEET_GAP) - SHEET_GAP, rows * (height + SHEET_GAP) - SHEET_GAP)
    paper = Image.new("RGB", whole, (128, 128, 128))
    for index, frame in enumerate(frames):
        place = (index % columns * (width + SHEET_GAP), index // columns * (height + SHEET_GAP))
        paper.paste(frame.resize((width, height), Image.Resampling.LANCZOS), place)
    return paper


def encoded(picture: Image.Image, *, exact: bool) -> tuple[str, bytes]:
    """As PNG where that is small enough and the original was exact, else as JPEG."""
    if exact and len(body := saved(picture, "PNG")) <= MOST_VIEW_BYTES // 2:
        return "image/png", body
    body = b""
    for quality in (88, 75, 60, 40, 20):
        body = saved(picture, "JPEG", quality=quality)
        if len(body) <= MOST_VIEW_BYTES:
            break
    return "image/jpeg", body


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def answer(content: bytes) -> bytes:
    """All that is written to standard output."""
    try:
        told, pieces = examine(content)
    except Refused as refused:
        told, pieces = {"failure": refused.args[0], "detail": refused.args[1]}, []
    except Image.DecompressionBombError as error:
        told, pieces = {"failure": "too_many_pixels", "detail": str(error)}, []
    except MemoryError:
        told, pieces = {"failure": "too_many_pixels", "detail": "it needs too much memory"}, []
    except Exception as error:  # noqa: BLE001 - whatever a decoder meets, the picture is broken
        told, pieces = {"failure": "broken", "detail": f"{type(error).__name__}: {error}"}, []
    told["lengths"] = [len(piece) for piece in pieces]
    return b"\n".join([json.dumps(told).encode(), b"".join(pieces)])


def main() -> None:
    content = sys.stdin.buffer.read()
    forbid_files()
    sys.stdout.buffer.write(answer(content))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
