"""Calls to an implementation and the reading of its answers.

Messages go out as arrays only, and what was written is always the data of a text segment: array
text is literal in every implementation, a CQ string would be parsed.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from botgateway import fields
from botgateway.fields import WireId

SendState = Literal["sent", "failed", "unknown"]


class UnsendablePart(ValueError):
    """A stored part that can't go out; the text says why."""


@dataclass(frozen=True, slots=True)
class Call:
    """One API call, to be sent under an echo that is unique in the process."""

    action: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def frame(self, echo: str) -> str:
        """The frame as JSON text. The echo is a string: go-cqhttp rounds numbers above 2^53."""
        call = {"action": self.action, "params": self.params, "echo": echo}
        return json.dumps(call, ensure_ascii=False, separators=(",", ":"))


def send_group_msg(group_id: int | str, parts: Iterable[Mapping[str, Any]]) -> Call:
    """Says stored parts (`{"type", "data"}`) in a group; raises UnsendablePart."""
    return Call("send_group_msg", {"group_id": group_id, "message": to_segments(parts)})


def send_private_msg(
    user_id: int | str, parts: Iterable[Mapping[str, Any]], group_id: int | str | None = None
) -> Call:
    """Says stored parts to a person, in a temporary session through `group_id` where given."""
    params: dict[str, Any] = {"user_id": user_id}
    if group_id is not None:
        params["group_id"] = group_id
    return Call("send_private_msg", {**params, "message": to_segments(parts)})


def send_message(
    kind: str,
    chat_id: int | str,
    parts: Iterable[Mapping[str, Any]],
    address: Mapping[str, Any] | None = None,
) -> Call:
    """Says stored parts in a chat of kind `group` or `private`, by what ingest kept as its address."""
    if kind == "group":
        return send_group_msg(chat_id, parts)
    return send_private_msg(chat_id, parts, (address or {}).get("group_id"))


def upload_file(kind: str, chat_id: int | str, path: str, name: str) -> Call:
    """Sends a file that the implementation reads at `path` on its own machine; answers no id."""
    if kind == "group":
        return Call("upload_group_file", {"group_id": chat_id, "file": path, "name": name})
    return Call("upload_private_file", {"user_id": chat_id, "file": path, "name": name})


def get_login_info() -> Call:
    """Who is logged in: answers `{user_id, nickname}`."""
    return Call("get_login_info")


def get_version_info() -> Call:
    """Which implementation this is: answers `{app_name, app_version, …}`."""
    return Call("get_version_info")


def get_status() -> Call:
    """Whether the account is online: answers `{online, good, …}`."""
    return Call("get_status")


def get_supported_actions() -> Call:
    """Which actions there are: answers a list of names (go-cqhttp, its fork and few others)."""
    return Call("get_supported_actions")


def get_group_member_info(group_id: int | str, user_id: int | str) -> Call:
    """A member of a group, as the platform has him now: answers `{user_id, nickname, card, role,
    shut_up_timestamp, …}`."""
    params = {"group_id": group_id, "user_id": user_id, "no_cache": True}
    return Call("get_group_member_info", params)


def get_group_member_list(group_id: int | str) -> Call:
    """All members of a group, as the platform has them now: answers a list of what
    `get_group_member_info` answers."""
    return Call("get_group_member_list", {"group_id": group_id, "no_cache": True})


def get_group_info(group_id: int | str) -> Call:
    """A group: answers `{group_id, group_name, …}`, NapCat, LLOneBot and SnowLuma also
    `group_all_shut`, which is 0 unless the whole group is muted."""
    return Call("get_group_info", {"group_id": group_id})


def get_msg(message_id: int | str) -> Call:
    """A message of any chat, as its event was."""
    return Call("get_msg", {"message_id": message_id})


def delete_msg(message_id: int | str) -> Call:
    """Recalls a message; answers no data."""
    return Call("delete_msg", {"message_id": message_id})


def edit_msg(message_id: int | str, parts: Iterable[Mapping[str, Any]]) -> Call:
    """Replaces a message by stored parts; raises UnsendablePart.

    For what lists this action in `get_supported_actions`: no implementation that we know has one.
    """
    return Call("edit_msg", {"message_id": message_id, "message": to_segments(parts)})


def get_group_msg_history(
    group_id: int | str,
    count: int,
    message_seq: int | str | None = None,
    message_id: int | str | None = None,
) -> Call:
    """Up to `count` messages of a group, the one named and those before it, else the newest.

    Answers `{messages}`. Which of the two names a message, and what stands in `message_seq`,
    differs: see `botgateway.dialects`. go-cqhttp always answers 20; whether NapCat goes back or on
    from the one named was not seen.
    """
    at = _history_start(message_seq, message_id)
    return Call("get_group_msg_history", {"group_id": group_id, "count": count, **at})


def get_friend_msg_history(
    user_id: int | str,
    count: int,
    message_seq: int | str | None = None,
    message_id: int | str | None = None,
) -> Call:
    """As `get_group_msg_history`, of a private chat."""
    at = _history_start(message_seq, message_id)
    return Call("get_friend_msg_history", {"user_id": user_id, "count": count, **at})


def _history_start(
    message_seq: int | str | None, message_id: int | str | None
) -> dict[str, int | str]:
    given = {"message_seq": message_seq, "message_id": message_id}
    return {name: value for name, value in given.items() if value is not None}


def group_poke(group_id: int | str, user_id: int | str) -> Call:
    """Pokes a member of a group."""
    return Call("group_poke", {"group_id": group_id, "user_id": user_id})


def friend_poke(user_id: int | str) -> Call:
    """Pokes the other person of a private chat."""
    return Call("friend_poke", {"user_id": user_id})


def send_poke(user_id: int | str, group_id: int | str | None = None) -> Call:
    """Pokes a member of a group, or without one the other person of a private chat."""
    group = {} if group_id is None else {"group_id": group_id}
    return Call("send_poke", {"user_id": user_id, **group})


def poke_by_segment(user_id: int | str, group_id: int | str | None = None) -> Call:
    """Pokes as go-cqhttp does: by a message that is nothing but a poke; its message id is 0."""
    message = [_made("poke", qq=str(user_id))]
    if group_id is not None:
        return Call("send_group_msg", {"group_id": group_id, "message": message})
    return Call("send_private_msg", {"user_id": user_id, "message": message})


def set_msg_emoji_like(message_id: int | str, emoji_id: str, is_set: bool = True) -> Call:
    """Puts an emoji under a message or takes it back (NapCat, LLOneBot, SnowLuma).

    `emoji_id` is a QQ face id or a decimal Unicode code point; as text, since SnowLuma takes no
    number.
    """
    params = {"message_id": message_id, "emoji_id": emoji_id, "set": is_set}
    return Call("set_msg_emoji_like", params)


def set_group_reaction(
    group_id: int | str,
    message_id: int | str,
    emoji_id: str,
    is_add: bool = True,
    *,
    emoji_parameter: str = "code",
    flag_parameter: str = "is_add",
) -> Call:
    """As `set_msg_emoji_like`, in a group alone; the parameters' names are the dialect's."""
    params = {"group_id": group_id, "message_id": message_id}
    return Call("set_group_reaction", {**params, emoji_parameter: emoji_id, flag_parameter: is_add})


def send_like(user_id: int | str, times: int = 1) -> Call:
    """Likes a person's profile; QQ takes up to 10 a day for one friend."""
    return Call("send_like", {"user_id": user_id, "times": times})


def to_segments(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Stored parts as segments, one each, a quote first as implementations want it."""
    made = [_segment(str(part.get("type")), fields.mapping(part.get("data"))) for part in parts]
    return sorted(made, key=lambda segment: segment["type"] != "reply")


def _segment(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    match kind:
        case "text":
            return _made("text", text=fields.clean_text(str(data.get("text", ""))))
        case "mention":
            return _made("at", qq=str(data["id"]))
        case "face" | "reply":
            return _made(kind, id=str(data["id"]))
        case "sticker" if data.get("emoji_id"):
            return market_face(data)
        case "voice" if data.get("file"):
            return _made("record", file=data["file"])
        case "file" if data.get("file"):
            return _made("file", file=data["file"], name=data["name"])
        case "image" | "sticker" if data.get("file") or data.get("url"):
            # NapCat reads sub_type alone (NapCat issue 872), LLOneBot and Lagrange subType.
            sub_type = 1 if kind == "sticker" else 0
            source = data.get("url") or data.get("file")
            told = {"summary": STICKER_SUMMARY} if kind == "sticker" else {}
            return _made("image", file=source, sub_type=sub_type, subType=sub_type, **told)
    raise UnsendablePart(f"no segment for {kind}")


STICKER_SUMMARY = "[动画表情]"
"""What a list of chats shows of a sticker; the platform's own words for one."""


def market_face(data: Mapping[str, Any]) -> dict[str, Any]:
    """The segment of one of the platform's own faces. It always has a summary: without one Lagrange
    asks the shop for it while it sends."""
    summary = fields.one_line(fields.string(data.get("summary")), 40) or STICKER_SUMMARY
    package_id = fields.integer(data.get("emoji_package_id"))
    face = {"emoji_package_id": package_id, "emoji_id": data["emoji_id"], "key": data["key"]}
    return _made("mface", **face, summary=summary)


def _made(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to a call.

    `echo` is None where the frame had none of ours (ours are strings). `message` is what the
    implementation says of a failure, "" of a success; `is_bare`: it said nothing but codes, as
    Lagrange does.
    """

    echo: str | None
    ok: bool
    retcode: int | None
    data: Any = None
    message: str = ""
    is_bare: bool = False


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """What an answer to a send tells; `reason` is the implementation's own words."""

    state: SendState
    message_id: WireId | None = None
    reason: str = ""


def read_response(frame: Mapping[str, Any]) -> Response:
    """The response that a cleaned frame is.

    Success is retcode 0 with status ok or async, or retcode 1 with async: Lagrange's send_like
    fails with retcode 0 and the reason as its status.
    """
    echo, status = frame.get("echo"), frame.get("status")
    retcode = fields.integer(frame.get("retcode"))
    ok = (retcode == 0 and status in ("ok", "async")) or (retcode == 1 and status == "async")
    said = "" if ok else _failure_text(frame)
    told = "" if ok or said else fields.string(status, 2000)
    return Response(
        echo=echo if isinstance(echo, str) and echo else None,
        ok=ok,
        retcode=retcode,
        data=frame.get("data"),
        message=said or told,
        is_bare=told == "failed",
    )


def _failure_text(frame: Mapping[str, Any]) -> str:
    error = frame.get("error")
    said = [frame.get(key) for key in ("message", "wording", "msg")]
    said += [fields.mapping(error).get("message"), error]
    return next((text[:2000] for text in said if isinstance(text, str) and text), "")


_NOT_CALLED_RETCODES = {400, 401, 403, 404, 1400, 1401, 1403, 1404}
"""The call itself was refused: bad parameters, no right to call, no such action."""

_THROWN = 200
_CATCH_ALL_RETCODES = {None, -1, 0, 1, 100, _THROWN, 1200, 1500}
"""Codes under which an implementation reports whatever was thrown, time-outs after the message left
included: NapCat and LLOneBot 1200 (200 before), go-cqhttp and SnowLuma 100, Lagrange 200, onebots
-1 and 1500."""

_TIMEOUT = r"time[ -]?d?[ -]?out|超时"

_DOUBTS = re.compile(
    rf"{_TIMEOUT}"
    r"|消息[^群友员]{0,24}不存在|(?:message|msg)\b.{0,24}(?:not found|does not exist)",
    re.IGNORECASE,
)
"""Words of what may come after the message left: waiting for it ended, or it could not be found."""

_NOT_HERE = (
    r"禁言|muted|shut ?up|\"result\": ?(?:110|120)\b"  # muted 120, put out of the group 110 (mirai 168)
    r"|(?:添加|加).{0,6}好友|(?:不是|非|没有).{0,6}好友|not (?:a |your )?friend"
    r"|不在.{0,4}群|移出.{0,4}群|退出.{0,4}群|not in (?:the |this )?group"
)
"""Words of a refusal that any message would meet in that chat."""

_REFUSALS = re.compile(
    rf"{_NOT_HERE}|不存在|does not exist"
    r"|未知的消息类型|消息体无法解析|消息为空|Get Uid Error|不支持"
    r"|语音转换失败"  # thrown before anything leaves, without ffmpeg say (NapCat issue 222)
    r"|参数|required property|not implemented|unknown action|invalid param",
    re.IGNORECASE,
)
"""Words of a refusal before anything left: muted, not a friend, not in the group, bad parameters."""


def send_outcome(response: Response) -> SendOutcome:
    """What became of a send: `unknown` unless the answer proves that it left, or that it did not.

    NapCat's time-outs "always actually went out" (NapCat issues 932, 1772), go-cqhttp's retcode 100
    may have been delivered (go-cqhttp issue 382), and so may whatever text nobody listed. A code
    alone is what QQ's server answered Lagrange: 120 for a muted bot, 9000 and above otherwise.
    """
    if response.ok:
        message_id = fields.mapping(response.data).get("message_id")
        return SendOutcome("sent", fields.message_identifier(message_id))
    reason = response.message or f"retcode {response.retcode}"
    if response.retcode in _NOT_CALLED_RETCODES:
        return SendOutcome("failed", reason=reason)
    if response.is_bare and response.retcode not in _CATCH_ALL_RETCODES:
        return SendOutcome("failed", reason=reason)
    refused = _REFUSALS.search(reason) and not _DOUBTS.search(reason)
    return SendOutcome("failed" if refused else "unknown", reason=reason)


def plain_outcome(response: Response) -> SendOutcome:
    """What an answer to a recall or a gesture tells. NapCat waits a second for its own client, so a
    time-out may be a success; every other refusal is one."""
    if response.ok:
        return SendOutcome("sent")
    said = "" if response.is_bare else response.message
    reason = said or f"retcode {response.retcode}"
    return SendOutcome(
        "unknown" if re.search(_TIMEOUT, reason, re.IGNORECASE) else "failed", reason=reason
    )


_UNKNOWN_ACTION = re.compile(
    r"not implemented|unknown action|API_NOT_FOUND|不支持的Api|API ?不存在", re.IGNORECASE
)


def is_unknown_action(response: Response) -> bool:
    """Whether the implementation says that it has no such action: 1404 (NapCat, LLOneBot,
    SnowLuma), 404 (Lagrange, go-cqhttp), -1 with words (onebots)."""
    if response.ok:
        return False
    return response.retcode in (404, 1404) or bool(_UNKNOWN_ACTION.search(response.message))


_NOT_FOUND = re.compile(r"不存在|not found|NOT_FOUND", re.IGNORECASE)


def is_not_found(response: Response) -> bool:
    """Whether an answer says that there is no such message."""
    unknown = is_unknown_action(response)
    return not response.ok and not unknown and bool(_NOT_FOUND.search(response.message))


def was_thrown(response: Response) -> bool:
    """Whether an answer says nothing but that something was thrown: Lagrange's retcode 200."""
    return not response.ok and response.is_bare and response.retcode == _THROWN


_BAD_SEGMENT = re.compile(r"未知的消息类型|消息体无法解析|Get Uid Error", re.IGNORECASE)


def is_bad_segment(response: Response) -> bool:
    """Whether a send was refused for one of its segments, before anything left: an unknown type, a
    mention of somebody whom NapCat can't resolve (NapCat issue 1033)."""
    return send_outcome(response).state == "failed" and bool(_BAD_SEGMENT.search(response.message))


def is_bad_sticker(response: Response) -> bool:
    """Whether a sticker was surely refused, before anything left, for what it is and not for where
    it was to go."""
    refused = send_outcome(response).state == "failed"
    return refused and not re.search(_NOT_HERE, response.message, re.IGNORECASE)


def is_bad_voice(response: Response) -> bool:
    """Whether a voice was refused, before anything left, since it could not be converted."""
    return send_outcome(response).state == "failed" and "语音转换失败" in response.message


def without_references(parts: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Stored parts without those that name something which may not be there: quotes go, mentions
    become their text, faces go."""
    kept: list[Mapping[str, Any]] = []
    for part in parts:
        if part.get("type") == "mention":
            data = fields.mapping(part.get("data"))
            kept.append({"type": "text", "data": {"text": f"@{data.get('name') or data['id']}"}})
        elif part.get("type") not in ("reply", "face"):
            kept.append(part)
    return kept
