"""What the gateway makes of a frame, as plain values that golden tests can state."""

from collections.abc import Callable
from typing import Any

from botgateway import actions, events, frames, ingest
from botgateway.clock import ConnectionClock
from botgateway.fields import WireId
from core.messages import ReceivedItem

SELF_ID = "10001"


def observe(raw: str | bytes) -> dict[str, Any]:
    """Every field that can be stated of a frame."""
    seen = frames.decode(raw)
    if isinstance(seen, frames.Invalid):
        return {"kind": "invalid"}
    if isinstance(seen, actions.Response):
        return _response(seen)
    item = ingest.received_item(seen, bot_id=1, self_id=SELF_ID, clock=ConnectionClock())
    observed = _event(seen)
    if item is None:
        return {**observed, "item": None}
    return {**observed, **_item(item)}


def _event(event: events.Event) -> dict[str, Any]:
    common = {"self": _value(event.self_id), "time": event.time}
    if isinstance(event, events.MessageEvent):
        kind = "self_message" if event.is_own else "message"
        temporary = ".temp" if event.is_temporary else ""
        return {**common, "kind": f"{kind}.{event.kind}{temporary}"}
    if isinstance(event, events.RequestEvent):
        kind = ".".join(filter(None, ("request", event.request_type, event.sub_type)))
        return {**_notice(event), "kind": kind, "flag": event.flag}
    for family, observer in _OBSERVERS.items():
        if isinstance(event, family):
            return {**common, **_notice(event), **observer(event)}
    raise AssertionError(event)


def _notice(event: events.Event) -> dict[str, Any]:
    if not isinstance(event, events.NoticeEvent):
        return {}
    peer = _value(event.peer_id)
    return {
        "chat": f"group:{event.group_id.value}" if event.group_id else f"private:{peer}",
        "group": _value(event.group_id),
        "user": _value(event.user_id),
        "actor": _value(event.actor_id),
        "by_bot": event.is_by_bot,
    }


_OBSERVERS: dict[type[events.Event], Callable[[Any], dict[str, Any]]] = {
    events.PokeEvent: lambda event: {
        "kind": "notice.poke",
        "target": _value(event.target_id),
        "at_me": event.is_at_bot,
    },
    events.ReactionEvent: lambda event: {
        "kind": "notice.reaction",
        "message": _value(event.message_id),
        "emoji": list(event.emoji),
        "removed": event.removed,
        "total": event.total,
    },
    events.RecallEvent: lambda event: {
        "kind": "notice.recall",
        "message": _value(event.message_id),
    },
    events.MemberEvent: lambda event: {
        "kind": "notice.member_join" if event.joined else "notice.member_leave",
        "gone": event.is_chat_gone,
    },
    events.BanEvent: lambda event: {
        "kind": "notice.ban",
        "duration": event.duration_seconds,
        "lifted": event.lifted,
    },
    events.GroupAdminEvent: lambda event: {
        "kind": "notice.group_admin",
        "removed": event.removed,
    },
    events.UploadEvent: lambda event: {
        "kind": "notice.upload",
        "file": event.file_id,
        "file_name": event.name,
    },
    events.CardEvent: lambda event: {"kind": "notice.card", "card": event.card},
    events.EssenceEvent: lambda event: {
        "kind": "notice.essence",
        "message": _value(event.message_id),
        "removed": event.removed,
    },
    events.ProfileLikeEvent: lambda event: {"kind": "notice.profile_like", "times": event.times},
    events.FriendAddEvent: lambda event: {"kind": "notice.friend_add"},
    events.AccountEvent: lambda event: {
        "kind": "notice.account",
        "online": event.online,
        "reason": event.reason,
    },
    events.HeartbeatEvent: lambda event: {
        "kind": "meta.heartbeat",
        "online": event.online,
        "interval": event.interval_seconds,
    },
    events.LifecycleEvent: lambda event: {"kind": f"meta.lifecycle.{event.sub_type}"},
    events.OtherEvent: lambda event: {"kind": "other", "other": event.name},
}


def _item(item: ReceivedItem) -> dict[str, Any]:
    data = {
        kind: [part.data for part in item.parts if part.type == kind]
        for kind in ("sticker", "face", "image", "file", "forward", "other")
    }
    media = [part.data for part in item.parts if part.type in _MEDIA]
    resend = ("emoji_id", "emoji_package_id", "key", "summary")
    return {
        "chat": item.chat.key,
        "answered_to": item.chat.external_id.wire(),
        "title": item.chat.title,
        "address": dict(item.chat.address),
        "sender": item.sender_id,
        "name": item.sender_name,
        "role": item.sender_role,
        "time": int(item.sent_at.timestamp()),
        "message_id": item.message_id.value if item.message_id else None,
        "sequence": item.sequence,
        "text": item.text,
        "mentions": item.mentions,
        "at_me": item.mentions_bot,
        "reply_to": item.reply_to,
        "from_self": item.from_self,
        "types": [part.type for part in item.parts],
        "stickers": [sticker["id"] for sticker in data["sticker"]],
        "resend": {key: one.get(key) for one in data["sticker"] for key in resend},
        "package": next((one.get("emoji_package_id") for one in data["sticker"]), None),
        "faces": [face["id"] for face in data["face"]],
        "images": len(data["image"]),
        "files": [file["name"] for file in data["file"]],
        "file_ids": [file.get("id") for file in data["file"]],
        "forwards": [forward["id"] for forward in data["forward"]],
        "others": [(other["type"], dict(other["data"])) for other in data["other"]],
        "urls": [one["url"] for one in media if "url" in one],
        "has_url": ["url" in one for one in media],
        "has_path": any("path" in one for one in media),
    }


_MEDIA = {"sticker", "image", "voice", "video", "file"}


def _response(response: actions.Response) -> dict[str, Any]:
    outcome = actions.send_outcome(response)
    data = response.data if isinstance(response.data, dict) else {}
    nodes = data.get("messages") or data.get("message")
    verdict = "ok" if response.ok else "failed"
    return {
        "kind": f"response.{verdict if response.echo else 'unmatched'}",
        "echo": response.echo,
        "data": response.data,
        "message": response.message,
        "outcome": outcome.state,
        "sent_id": _value(outcome.message_id),
        "app_name": data.get("app_name"),
        "status": data.get("status"),
        "nodes": len(nodes) if isinstance(nodes, list) else 0,
        "member": (data.get("role"), data.get("nickname")),
    }


def _value(wire: WireId | None) -> str | None:
    return wire.value if wire else None
