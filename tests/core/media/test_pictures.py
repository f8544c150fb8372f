"""What is made of strangers' bytes: bounded views and samples, or a refusal; never a crash."""

import hashlib
import io
import itertools
import resource
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from core.errors import MediaFailure
from core.media import pictures
from tests.core.media.drawing import animation, picture

MEBIBYTE = 1024 * 1024
SCRIPT = b"<script>alert(document.domain)</script>"


def code(content: bytes) -> str:
    with pytest.raises(MediaFailure) as failure:
        pictures.examine(content)
    assert failure.value.detail
    return failure.value.code


def outcome(content: bytes) -> str:
    """The code of the failure; empty where there is a good view."""
    try:
        view = pictures.examine(content).view
    except MediaFailure as failure:
        return failure.code
    shown(view)
    return ""


def shown(view: pictures.View) -> Image.Image:
    """What a model sees, decoded here: it is ours."""
    image = Image.open(io.BytesIO(view.content))
    assert f"image/{str(image.format).lower()}" == view.media_type
    assert image.size == (view.width, view.height)
    assert max(image.size) <= 768
    assert len(view.content) <= 500_000
    return image.convert("RGB")


def brightness_at(image: Image.Image, x: int, y: int) -> int:
    return image.convert("L").crop((x, y, x + 1, y + 1)).tobytes()[0]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_still_picture_is_one_sample_and_one_view(kind: str) -> None:
    examined = pictures.examine(picture(kind, (300, 200), "white"))
    assert examined.media_type == f"image/{kind.lower()}"
    assert (examined.width, examined.height, examined.frames) == (300, 200, 1)
    assert [len(sample) for sample in examined.samples] == [64 * 64]
    assert min(examined.samples[0]) > 250
    assert shown(examined.view).size == (300, 200)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animation_is_a_sheet_of_frames_in_order(kind: str) -> None:
    examined = pictures.examine(animation(kind, frames=50, size=(100, 100)))
    assert (examined.width, examined.height, examined.frames) == (100, 100, 50)
    means = [sum(sample) // len(sample) for sample in examined.samples]
    assert len(means) == 3
    assert means[0] < 10
    assert 60 < means[1] < 85  # the middle one, the 25th of 50
    assert 140 < means[2] < 152
    sheet = shown(examined.view)
    assert sheet.size == (312, 312)
    brightness = [
        brightness_at(sheet, column * 106 + 50, row * 106 + 50)
        for row in range(3)
        for column in range(3)
    ]
    assert brightness == sorted(brightness)
    assert len(set(brightness)) == 9


def test_two_frames_are_two_samples_side_by_side() -> None:
    examined = pictures.examine(animation(frames=2, size=(1000, 500)))
    assert len(examined.samples) == 2
    assert (examined.view.width, examined.view.height) == (768, 190)


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (picture("JPEG", (4000, 3000)), (768, 576)),
        (picture("PNG", (3000, 4000)), (576, 768)),
        (picture("PNG", (6300, 6300), (1, 2, 3, 4), "RGBA"), (768, 768)),
        (picture("PNG", (40_000, 1)), (768, 1)),
        (picture("PNG", (1, 1)), (1, 1)),
        (picture("PNG", (300, 200), 40_000, "I;16"), (300, 200)),
        (picture("PNG", (300, 200), 1, "1"), (300, 200)),
        (picture("PNG", (300, 200), (9, 9), "LA"), (300, 200)),
        (picture("JPEG", (300, 200), (0, 0, 0, 9), "CMYK"), (300, 200)),
        (picture("GIF", (300, 200), 3, "P", transparency=3), (300, 200)),
    ],
    ids=["jpeg", "tall", "alpha", "long", "one", "deep", "bits", "grey", "cmyk", "palette"],
)
def test_every_kind_of_picture_becomes_a_bounded_view(
    content: bytes, size: tuple[int, int]
) -> None:
    assert shown(pictures.examine(content).view).size == size


def test_noise_is_shown_within_the_bound() -> None:
    noise = Image.effect_noise((2000, 2000), 200).convert("RGB")
    file = io.BytesIO()
    noise.save(file, "PNG", compress_level=0)
    content = file.getvalue()[: 12 * MEBIBYTE]
    assert code(content) == "too_large"
    file = io.BytesIO()
    noise.resize((900, 900)).save(file, "PNG")
    shown(pictures.examine(file.getvalue()).view)


def test_a_picture_is_turned_as_its_camera_was_held() -> None:
    image = Image.new("RGB", (400, 200), "white")
    image.paste("black", (0, 0, 200, 200))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held so that the left side is the top
    file = io.BytesIO()
    image.save(file, "JPEG", exif=exif)
    examined = pictures.examine(file.getvalue())
    assert (examined.width, examined.height) == (200, 400)
    view = shown(examined.view)
    assert brightness_at(view, 100, 50) < 10
    assert brightness_at(view, 100, 350) > 240
    assert max(examined.samples[0][:64]) < 10
    assert min(examined.samples[0][-64:]) > 245


def test_what_is_transparent_is_white() -> None:
    examined = pictures.examine(picture("PNG", (64, 64), (0, 0, 0, 0), "RGBA"))
    assert set(examined.samples[0]) == {255}
    assert shown(examined.view).getpixel((3, 3)) == (255, 255, 255)


def test_the_same_picture_gives_the_same_answer() -> None:
    content = animation()
    assert pictures.examine(content) == pictures.examine(content)


def test_many_at_once_are_looked_at_two_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noting, log = tmp_path / "decoder.py", tmp_path / "log"
    noting.write_text(
        "import os, time\n"
        f"log = os.open({str(log)!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY)\n"
        "os.write(log, b'+'); time.sleep(0.2); os.write(log, b'-')\n"
    )
    monkeypatch.setattr(pictures, "_DECODER", noting)
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(code, [picture()] * 6)) == ["broken"] * 6
    steps = [1 if sign == "+" else -1 for sign in log.read_text()]
    assert len(steps) == 12
    assert max(itertools.accumulate(steps)) <= pictures.MOST_AT_ONCE
    assert not [one for one in threading.enumerate() if isinstance(one, threading.Timer)]


def test_who_would_wait_for_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_children", threading.BoundedSemaphore(1))
    with pictures._children, pytest.raises(MediaFailure) as failure:
        pictures.examine(picture(), wait_seconds=0.01)
    assert failure.value.code == "timeout"


# Bombs and forgeries


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes, data: bytes = b"") -> bytes:
    """A PNG that says what it likes of its size."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", data or zlib.compress(bytes(100)))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + body + chunk(b"IEND", b"")


def gif_of(width: int, height: int, frames: int, extent: tuple[int, int] = (1, 1)) -> bytes:
    head = b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\0\0" + bytes(6)
    frame = b"," + struct.pack("<HHHH", 0, 0, *extent) + b"\0" + b"\x02\x02\x44\x01\0"
    return head + frame * frames + b";"


def jpeg_of(width: int, height: int) -> bytes:
    """A real one, whose frame header then says another size."""
    content = bytearray(picture("JPEG", (16, 16)))
    place = content.index(b"\xff\xc0")
    content[place + 5 : place + 9] = struct.pack(">HH", height, width)
    return bytes(content)


def webp_of(width: int, height: int) -> bytes:
    """An animation's canvas of any size, with one small frame."""
    content = bytearray(animation("WEBP", 2, (16, 16)))
    assert content[12:16] == b"VP8X"
    content[24:27] = struct.pack("<I", width - 1)[:3]
    content[27:30] = struct.pack("<I", height - 1)[:3]
    return bytes(content)


def packed_text() -> bytes:
    """64 MiB of nothing in a text of some kilobytes."""
    return chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(64 * MEBIBYTE), 9))


def packed_profile() -> bytes:
    return chunk(b"iCCP", b"name\0\0" + zlib.compress(bytes(200 * MEBIBYTE), 9))


def animated_png(frames: int) -> bytes:
    control = chunk(b"acTL", struct.pack(">II", frames, 0))
    first = chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, 10, 10, 0, 0, 1, 10, 0, 0))
    return png(10, 10, control, first)


BOMBS: list[tuple[str, Callable[[], bytes], set[str]]] = [
    ("png of 4 Gpx", lambda: png(65535, 65535), {"too_many_pixels"}),
    ("png of 2^62 px", lambda: png(2**31 - 1, 2**31 - 1), {"too_many_pixels", "broken"}),
    ("png just above", lambda: png(8000, 5001), {"too_many_pixels"}),
    ("png of no width", lambda: png(0, 10), {"broken", "not_a_picture"}),
    ("png that packs 200 MiB", lambda: png(10, 10, data=zlib.compress(bytes(200 * MEBIBYTE), 9)), set()),
    ("png with a packed text", lambda: png(10, 10, packed_text()), {"broken"}),
    ("png with a packed profile", lambda: png(10, 10, packed_profile()), {"broken"}),
    ("apng of 4 G frames", lambda: animated_png(2**32 - 1), {"too_many_frames", "broken"}),
    ("apng of 201 frames", lambda: animated_png(201), {"too_many_frames"}),
    ("apng that lacks its frames", lambda: animated_png(5), {"broken"}),
    ("gif of 4 Gpx", lambda: gif_of(65535, 65535, 1), {"too_many_pixels"}),
    ("gif whose frame is larger", lambda: gif_of(10, 10, 1, (65535, 65535)), {"too_many_pixels"}),
    ("gif whose later frame is larger", lambda: gif_of(10, 10, 1)[:-1] + gif_of(9, 9, 1, (65000, 65000))[19:], {"too_many_pixels", "broken"}),
    ("gif of 201 frames", lambda: gif_of(10, 10, 201), {"too_many_frames"}),
    ("gif of 300,000 frames", lambda: gif_of(10, 10, 300_000), {"too_many_frames", "broken"}),
    ("gif of 200 large frames", lambda: gif_of(6000, 6000, 200), {"too_many_pixels"}),
    ("gif without a frame", lambda: gif_of(10, 10, 0), {"broken"}),
    ("jpeg of 4 Gpx", lambda: jpeg_of(65500, 65500), {"too_many_pixels"}),
    ("webp of 268 Mpx", lambda: webp_of(16384, 16384), {"too_many_pixels"}),
    ("webp of 2^48 px", lambda: webp_of(2**24, 2**24), {"too_many_pixels", "broken"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "make", "codes"), BOMBS, ids=[bomb[0] for bomb in BOMBS])
def test_a_bomb_does_not_go_off(name: str, make: Callable[[], bytes], codes: set[str]) -> None:
    content = make()
    assert len(content) <= pictures.MOST_BYTES
    found = outcome(content)
    assert found in codes if codes else found == ""
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert most < 600 * 1024  # kilobytes, of the largest child so far


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://127.0.0.1/"/></svg>'
FORGERIES = {
    "nothing": b"",
    "a byte": b"\x89",
    "svg": SVG,
    "svg with a declaration": b'<?xml version="1.0"?>' + SVG,
    "html": b"<!DOCTYPE html><html>" + SCRIPT,
    "html after a line": b"\n<html>" + SCRIPT,
    "json": b'{"error": "expired"}',
    "text": "没有权限".encode(),
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "zip": b"PK\x03\x04" + bytes(100),
    "elf": b"\x7fELF" + bytes(100),
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) run\n",
    "bmp": picture("BMP"),
    "tiff": picture("TIFF"),
    "ico": picture("ICO"),
    "ppm": picture("PPM"),
    "icns": picture("ICNS", (32, 32)),
    "jpeg 2000": picture("JPEG2000", (32, 32)),
    "avi in riff": b"RIFF" + struct.pack("<I", 100) + b"AVI LIST" + bytes(100),
    "html and a png": SCRIPT + picture("PNG"),
    "pdf and a jpeg": b"%PDF-1.7\n" + picture("JPEG"),
    "png with line ends of text": picture("PNG").replace(b"\r\n", b"\n"),
}
MAGIC_ALONE = {
    "webp of an unknown kind": b"RIFF" + struct.pack("<I", 100) + b"WEBPVP9 " + bytes(100),
    "png magic alone": b"\x89PNG\r\n\x1a\n",
    "png magic and a jpeg": b"\x89PNG\r\n\x1a\n" + picture("JPEG"),
    "png magic and html": b"\x89PNG\r\n\x1a\n" + SCRIPT,
    "gif magic and html": b"GIF89a" + SCRIPT,
    "gif magic and javascript": b"GIF89a=1;alert(1)//",
    "gif magic and a jpeg": b"GIF89a" + picture("JPEG"),
    "jpeg magic and php": b"\xff\xd8\xff\xe0<?php system($_GET[0]); ?>",
    "jpeg magic and a png": b"\xff\xd8\xff" + picture("PNG"),
    "webp magic and html": b"RIFF\x00\x00\x00\x00WEBP" + SCRIPT,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_is_no_picture_is_refused_whatever_it_is_called(name: str) -> None:
    assert code(FORGERIES[name]) == "not_a_picture"


@pytest.mark.parametrize("name", MAGIC_ALONE)
def test_what_only_begins_like_a_picture_is_broken(name: str) -> None:
    # A header that is none may well say a size that is too large.
    assert code(MAGIC_ALONE[name]) in {"broken", "too_many_pixels"}


def test_a_picture_of_several_is_its_first_one() -> None:
    """As telephones write them: a JPEG that carries others."""
    file = io.BytesIO()
    others = [Image.new("RGB", (10, 10), "blue")]
    Image.new("RGB", (40, 30), "red").save(file, "MPO", save_all=True, append_images=others)
    examined = pictures.examine(file.getvalue())
    assert (examined.media_type, examined.width, examined.frames) == ("image/jpeg", 40, 1)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_truncated_file_is_broken(kind: str, part: float) -> None:
    image = Image.effect_noise((100, 80), 90).convert("RGB")
    file = io.BytesIO()
    image.save(file, kind)
    content = file.getvalue()
    assert code(content[: int(len(content) * part)]) in {"broken", "not_a_picture"}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_hangs_behind_a_picture_is_not_in_its_view(kind: str) -> None:
    content = picture(kind) + b"PK\x03\x04" + SCRIPT
    examined = pictures.examine(content)
    assert examined.media_type == f"image/{kind.lower()}"
    assert b"PK\x03\x04" not in examined.view.content
    assert SCRIPT not in examined.view.content


def test_what_a_picture_says_of_itself_is_not_in_its_view() -> None:
    exif = Image.Exif()
    exif[0x010E] = "at home, 31.2304 N 121.4737 E"
    for kind in ("JPEG", "PNG", "WEBP"):
        content = picture(kind, exif=exif)
        assert b"31.2304" in content
        assert b"31.2304" not in pictures.examine(content).view.content


def test_broken_directions_of_a_camera_are_passed_over() -> None:
    content = picture("JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff" + bytes(20))
    assert pictures.examine(content).frames == 1


def test_random_damage_never_crashes() -> None:
    for kind in ("PNG", "JPEG", "GIF", "WEBP"):
        content = bytearray(animation(kind, 3) if kind != "JPEG" else picture(kind))
        digest = hashlib.sha256(kind.encode()).digest()
        for byte in digest[:4]:
            content[20 + byte * (len(content) - 20) // 256] ^= 0xFF
        usual = {"", "broken", "not_a_picture", "too_many_pixels", "too_many_frames"}
        assert outcome(bytes(content)) in usual


# The child itself


def in_decoder(program: str) -> str:
    """What a few lines print in a process that is bounded as a decoder is."""
    folder = str(Path(pictures.__file__).parent)
    start = f"import sys; sys.path.insert(0, {folder!r}); import decoder\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", start + program], capture_output=True, text=True, env={}
    )
    return done.stdout + done.stderr


def test_a_decoder_opens_no_file_and_no_socket() -> None:
    said = in_decoder("decoder.forbid_files(); open('/etc/hostname')")
    assert "Too many open files" in said
    said = in_decoder("import socket; decoder.forbid_files(); socket.socket()")
    assert "Too many open files" in said


def test_a_decoder_has_little_memory_and_time() -> None:
    assert "MemoryError" in in_decoder("bytearray(600 << 20)")
    said = in_decoder("import resource; print(resource.getrlimit(resource.RLIMIT_CPU))")
    assert "(5, 5)" in said


def test_a_decoder_that_dies_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    dying = tmp_path / "decoder.py"
    monkeypatch.setattr(pictures, "_DECODER", dying)
    for program in (
        "import os; os.abort()",
        "print('{}')",
        "print('not json')",
        "print('[1]')",
        "print('{\"lengths\": [99]}')",
        "raise SystemExit(3)",
    ):
        dying.write_text(program)
        assert code(picture()) == "broken"


def test_a_decoder_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hanging = tmp_path / "decoder.py"
    hanging.write_text("import time; time.sleep(600)")
    monkeypatch.setattr(pictures, "_DECODER", hanging)
    monkeypatch.setattr(pictures, "SECONDS", 0.3)
    assert code(picture()) == "broken"


def test_an_answer_without_an_end_is_not_read_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    endless = tmp_path / "decoder.py"
    endless.write_text("import sys, time; sys.stdout.write('x' * (5 << 20)); time.sleep(600)")
    monkeypatch.setattr(pictures, "_DECODER", endless)
    monkeypatch.setattr(pictures, "SECONDS", 600)
    assert code(picture()) == "broken"
