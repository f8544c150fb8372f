"""From segments to the neutral parts that core stores; every implementation's names become one."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botgateway import fields
from botgateway.segments import Segment
from core.messages import Part

_STICKER_SUB_TYPES = {1, 2, 3, 7}
"""Collected, hot, dipper and related pictures; 8 is a selfie, the others are pictures."""

_MD5_NAME = re.compile(r"([0-9a-fA-F]{32})(?:\.[A-Za-z0-9]{1,8})?")
_EMOJI_ID = re.compile(r"[0-9A-Za-z]{1,64}")
_MAX_URL = 4096
INLINE = "base64://"
MOST_INLINE = 11_184_820
"""Characters that 8 MiB have as base64, with the scheme: what `core.media.fetching` takes."""
_MAX_NAME = 255
_MAX_OTHER_CHARACTERS = 64 * 1024

Data = Mapping[str, Any]


def from_segments(segments: Sequence[Segment]) -> tuple[Part, ...]:
    """The parts of a message, in order; quotes are not among them (see `reply_to`)."""
    found = []
    for index, segment in enumerate(segments):
        following = segments[index + 1].type if index + 1 < len(segments) else ""
        if segment.type != "reply" and not _is_card_of_location(segment, following):
            found.append(_PARTS.get(segment.type, _other)(segment))
    return tuple(found)


def reply_to(segments: Sequence[Segment]) -> str:
    """The id of the quoted message, "" for none; "0" is Lagrange's unknown one (issues 272, 456)."""
    for segment in segments:
        if segment.type == "reply":
            found = fields.message_identifier(segment.data.get("id"))
            return found.value if found else ""
    return ""


def _is_card_of_location(segment: Segment, following: str) -> bool:
    """Lagrange tells one location twice: as a card, then as a location."""
    return (
        segment.type == "json"
        and following == "location"
        and "com.tencent.map" in fields.string(segment.data.get("data"))
    )


def _text(segment: Segment) -> Part:
    return Part("text", segment.data)


def _mention(segment: Segment) -> Part:
    """`qq` "0" is somebody whom NapCat could not resolve: not a mention of anybody."""
    person = fields.id_text(segment.data.get("qq"))
    if not person:
        return _other(segment)
    name = fields.one_line(fields.string(segment.data.get("name")).removeprefix("@"))
    return Part("mention", {"id": person, "name": name} if name else {"id": person})


def _face(segment: Segment) -> Part:
    number = fields.integer(segment.data.get("id"))  # 0 is a face too
    if number is None:
        return _other(segment)
    data: dict[str, Any] = {"id": str(number)}
    if segment.data.get("type") == "sticker":
        data["animated"] = True
    return Part("face", data)


def _image(segment: Segment) -> Part:
    """A picture, or a sticker with its stable id and what is needed to send it again."""
    data = segment.data
    told = data.get("sub_type")
    sub_type = fields.integer(data.get("subType") if told is None else told)
    summary = fields.one_line(fields.string(data.get("summary")))
    emoji_id = fields.string(data.get("emoji_id"))
    is_market = segment.type == "mface" or bool(_EMOJI_ID.fullmatch(emoji_id))
    is_sticker = is_market or sub_type in _STICKER_SUB_TYPES or "动画表情" in summary
    kept = _media(data)
    kept["url"] = kept["url"] or _inline(data)
    kept["id"] = _stable_id(data, emoji_id)
    kept["file"] = kept.pop("name", "")
    kept["summary"] = summary
    kept["sub_type"] = sub_type
    if is_market:
        kept["emoji_id"] = emoji_id if kept["id"].startswith("mface:") else ""
        kept["emoji_package_id"] = fields.integer(data.get("emoji_package_id"))
        kept["key"] = fields.string(data.get("key"), 128)
    return Part("sticker" if is_sticker else "image", _without_empty(kept))


def _stable_id(data: Data, emoji_id: str) -> str:
    """`mface:<emoji_id>` or `md5:<hex>`, lower case; "" where the frame has neither.

    Only a clean name of 32 hex digits counts: NapCat 2.x to 4.5 sent longer ones (NapCat issues
    339, 458, 526).
    """
    if _EMOJI_ID.fullmatch(emoji_id):
        return f"mface:{emoji_id.lower()}"
    for key in ("file_name", "name", "filename", "file"):
        match = _MD5_NAME.fullmatch(fields.string(data.get(key)))
        if match:
            return f"md5:{match[1].lower()}"
    return ""


def _media(data: Data) -> dict[str, Any]:
    """What all media share. A path is one of the implementation's host: never kept, never opened."""
    url = fields.string(data.get("url"))
    is_usable = url.startswith(("http://", "https://")) and len(url) <= _MAX_URL
    return {
        "name": _file_name(data),
        "url": url if is_usable else "",
        "size": fields.integer(data.get("file_size", data.get("size"))),
    }


def _inline(data: Data) -> str:
    """A picture whose bytes are in the frame itself: `botgateway.inline` has them put elsewhere."""
    for key in ("url", "file"):
        text = fields.string(data.get(key))
        if text.startswith(INLINE) and len(text) <= MOST_INLINE:
            return text
    return ""


def _file_name(data: Data) -> str:
    for key in ("file_name", "name", "filename", "file"):
        name = fields.one_line(fields.string(data.get(key), _MAX_NAME * 4), _MAX_NAME)
        if name and "://" not in name:
            return name
    return ""


def _file_like(kind: Any) -> Callable[[Segment], Part]:
    def make(segment: Segment) -> Part:
        data = segment.data
        # go-cqhttp names a file by its path on the platform, not on a host.
        named = data.get("file_id") or (data.get("path") if kind == "file" else None)
        return Part(kind, _without_empty({**_media(data), "id": fields.id_text(named)}))

    return make


def _forward(segment: Segment) -> Part:
    """Only the id: what is inside can be any amount, and its ids name nothing (NapCat issue 923)."""
    return Part("forward", _without_empty({"id": fields.id_text(segment.data.get("id"))}))


def _other(segment: Segment) -> Part:
    data: Any = segment.data
    if len(json.dumps(data, ensure_ascii=False)) > _MAX_OTHER_CHARACTERS:
        data = {fields.CUT: True}
    return Part("other", {"type": segment.type, "data": data})


def _without_empty(data: Data) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value not in (None, "")}


_PARTS: dict[str, Callable[[Segment], Part]] = {
    "text": _text,
    "at": _mention,
    "face": _face,
    "image": _image,
    "mface": _image,
    "record": _file_like("voice"),
    "video": _file_like("video"),
    "file": _file_like("file"),
    "forward": _forward,
    "longmsg": _forward,
}
