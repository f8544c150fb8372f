"""The first step of the way in alone, in this process: a frame's text to the item to store.

Prints microseconds for one frame of 1.5 kB (five segments) in `frames.decode`, and in decode and
ingest together; and milliseconds for a frame whose message is a CQ string of nothing but openings
(`[CQ:`), of 256 KiB and of 1 MiB. Each is the best of five rounds. One should see 1 MiB within
50 ms, and a ratio of four between the two lengths: time is linear, whatever comes in.
"""

import gc
import json
import os
import time
from collections.abc import Callable
from typing import Any

from bench import figures, house
from botgateway import events, frames
from botgateway.clock import ConnectionClock
from botgateway.simulator.world import Frame, Id

ROUNDS = 5
TEXT = " 今天的天气真好，要不要一起去公园散步？ &[]," * 3
PICTURE = "https://example.invalid/x?appid=1407&fileid=" + "E" * 180


def segments() -> list[dict[str, Any]]:
    """A quote, a mention of somebody else, text, a picture and a face."""
    return [
        {"type": "reply", "data": {"id": "123456789"}},
        {"type": "at", "data": {"qq": "20003", "name": "someone"}},
        {"type": "text", "data": {"text": TEXT}},
        {
            "type": "image",
            "data": {
                "file": "A1B2C3D4E5F6.jpg",
                "sub_type": 0,
                "url": PICTURE,
                "file_size": "48213",
            },
        },
        {"type": "face", "data": {"id": "178"}},
    ]


def group_message(self_id: Id, *, message_id: int, message: Any = None) -> Frame:
    """An event as NapCat sends it, of some 1.5 kB; it does not mention the bot."""
    sender = {"user_id": 20002, "nickname": "Ann", "card": "", "role": "member", "title": ""}
    said = segments() if message is None else message
    return {
        "self_id": self_id,
        "user_id": 20002,
        "time": int(time.time()),
        "message_id": message_id,
        "message_seq": message_id,
        "real_id": message_id,
        "real_seq": str(message_id),
        "message_type": "group",
        "sender": sender,
        "raw_message": f"[CQ:at,qq=20003]{TEXT}[CQ:image,file=A1B2C3D4E5F6.jpg,url={PICTURE}]",
        "font": 14,
        "sub_type": "normal",
        "message": said,
        "message_format": "array",
        "post_type": "message",
        "group_id": 30003,
        "group_name": "A group",
    }


def seconds_of(function: Callable[[], object], times: int) -> float:
    """Seconds of one call: the best round, without the collector."""
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        gc.disable()
        began = time.perf_counter()
        for _ in range(times):
            function()
        best = min(best, (time.perf_counter() - began) / times)
        gc.enable()
    return best


def unbalanced(length: int) -> str:
    """A frame whose message is a string of openings."""
    text = "[CQ:" * (length // 4)
    return json.dumps(group_message(10001, message_id=1, message=text))


def tell() -> None:
    """Measure and print."""
    from botgateway import ingest  # noqa: PLC0415  (it needs the settings named)

    raw = json.dumps(group_message(10001, message_id=987654321), ensure_ascii=False)
    clock = ConnectionClock()

    def take() -> object:
        event = frames.decode(raw)
        assert isinstance(event, events.Event)
        return ingest.received_item(event, bot_id=1, self_id="10001", clock=clock)

    assert take() is not None
    decode, whole = seconds_of(lambda: frames.decode(raw), 2000), seconds_of(take, 2000)
    print(f"a frame of {len(raw.encode())} bytes: decode {1e6 * decode:.1f} µs,", end=" ")
    print(f"decode and ingest {1e6 * whole:.1f} µs (json.loads alone", end=" ")
    print(f"{1e6 * seconds_of(lambda: json.loads(raw), 2000):.1f} µs)")
    quarter, full = (
        seconds_of(lambda text=text: frames.decode(text), 1)  # type: ignore[misc]
        for text in (unbalanced(256 * 1024), unbalanced(1024 * 1024))
    )
    print(
        f"unbalanced CQ string: 256 KiB {1e3 * quarter:.1f} ms, 1 MiB {1e3 * full:.1f} ms,", end=" "
    )
    print(f"ratio {full / quarter:.1f} (4 is linear)")


def main() -> None:
    figures.parser("wire", __doc__).parse_args()
    house.forget_the_operator()
    os.environ["DJANGO_SETTINGS_MODULE"] = "arise_site.settings"
    tell()


if __name__ == "__main__":
    main()
