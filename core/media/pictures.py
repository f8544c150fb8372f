"""Looking at a picture that somebody sent: what it is, how large, and what a model is shown of it.

Decoders are large and the bytes are strangers', so they run in a child process that may use little
memory and time and open nothing (core/media/decoder.py). A child a picture: some 150 ms.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import MediaFailure

MOST_BYTES = 8 * 1024 * 1024
MOST_AT_ONCE = 2
SECONDS = 10.0
WAIT_SECONDS = 60.0
_MOST_ANSWERED = 4 * 1024 * 1024
_DECODER = Path(__file__).with_name("decoder.py")
_children = threading.BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class View:
    """The one bounded picture that a model is shown; an animation's is a sheet of its frames."""

    media_type: str
    content: bytes
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Examined:
    """What a picture is. `width` and `height` in pixels as it is shown (turned as its EXIF says);
    `samples`: 64×64 bytes of grey, of one frame or of an animation's first, middle and last,
    transparency on white. They are compared, never stored."""

    media_type: str
    width: int
    height: int
    frames: int
    samples: tuple[bytes, ...]
    view: View


def examine(content: bytes, *, wait_seconds: float = WAIT_SECONDS) -> Examined:
    """Decode a PNG, JPEG, GIF or WebP picture in a bounded child process.

    Where MOST_AT_ONCE are being looked at it waits, so long at most. Raises MediaFailure.
    """
    if len(content) > MOST_BYTES:
        raise MediaFailure("too_large", f"larger than {MOST_BYTES} bytes")
    if not _children.acquire(timeout=wait_seconds):
        raise MediaFailure("timeout", "too many pictures are being looked at")
    try:
        answer = _decoded(content)
    finally:
        _children.release()
    return _read(answer)


def _decoded(content: bytes) -> bytes:
    command = [sys.executable, "-I", "-B", str(_DECODER)]
    with tempfile.TemporaryFile() as given:
        # Of a file, and not through a pipe: nothing is left to be written while the answer is read.
        given.write(content)
        given.seek(0)
        with (
            subprocess.Popen(  # noqa: S603 - our own interpreter and file
                command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
            ) as child,
            _killed_after(child, SECONDS),
        ):
            assert child.stdout is not None  # noqa: S101 - told to the type checker
            answer = child.stdout.read(_MOST_ANSWERED + 1)
            child.kill()
    if len(answer) > _MOST_ANSWERED:
        raise MediaFailure("broken", "the decoder answered without an end")
    return answer


@contextlib.contextmanager
def _killed_after(child: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, child.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read(answer: bytes) -> Examined:
    """The child's answer: one line of JSON, then the bytes whose lengths it tells.

    It is distrusted as the picture is.
    """
    head, _, rest = answer.partition(b"\n")
    try:
        told = json.loads(head)
        if "failure" in told:
            raise MediaFailure(str(told["failure"])[:40], str(told["detail"])[:300])
        return _examined(told, rest)
    except (ValueError, KeyError, TypeError):
        raise MediaFailure("broken", "it can't be decoded within the bounds") from None


def _examined(told: dict[str, Any], rest: bytes) -> Examined:
    pieces = []
    for length in told["lengths"]:
        pieces.append(rest[:length])
        rest = rest[length:]
        if len(pieces[-1]) != length or length <= 0:
            raise ValueError("cut off")
    *samples, shown = pieces
    view = View(str(told["view_type"]), shown, int(told["view_width"]), int(told["view_height"]))
    return Examined(
        media_type=str(told["media_type"]),
        width=int(told["width"]),
        height=int(told["height"]),
        frames=int(told["frames"]),
        samples=tuple(samples),
        view=view,
    )
