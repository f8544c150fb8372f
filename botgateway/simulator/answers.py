"""What the simulated platform answers to API calls, and what they change in its world."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from botgateway import segments as wire
from botgateway.simulator.world import Frame, Id, Said, World, wire_id

Params = Mapping[str, Any]
INLINE = "base64://"


class Refused(Exception):
    """The platform does not do it; answered with `retcode` and `message`."""

    def __init__(self, retcode: int, message: str) -> None:
        super().__init__(message)
        self.retcode = retcode
        self.message = message


@dataclass(slots=True)
class Answer:
    """The data of an answer, the events that follow it, and one line for whoever watches."""

    data: Any = None
    events: list[Frame] = field(default_factory=list)
    said: Said | None = None
    line: str = ""


def answer(world: World, action: str, params: Params) -> Answer:
    """Does what is asked, or raises Refused (1404 unknown action, 1400 bad parameters, 1200 else)."""
    handler = _HANDLERS.get(action)
    if handler is None:
        raise Refused(1404, f"不支持的Api {action}")
    return handler(world, params)


def _identifier(params: Params, name: str) -> Id:
    value = params.get(name)
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise Refused(1400, f"data must have required property '{name}'")
    return wire_id(value)


def _message(world: World, params: Params) -> Said:
    said = world.messages.get(int(_identifier(params, "message_id")))
    if said is None:
        raise Refused(1200, "消息不存在")
    return said


def _login(world: World, _params: Params) -> Answer:
    return Answer({"user_id": world.self_id, "nickname": world.bot_name})


def _version(world: World, _params: Params) -> Answer:
    told = {"app_name": world.app_name, "app_version": world.app_version}
    return Answer({**told, "protocol_version": "v11"})


def _send_group(world: World, params: Params) -> Answer:
    return _send(world, f"group:{_identifier(params, 'group_id')}", params)


def _send_private(world: World, params: Params) -> Answer:
    return _send(world, f"private:{_identifier(params, 'user_id')}", params)


def _send_any(world: World, params: Params) -> Answer:
    group = params.get("message_type") == "group" or "user_id" not in params
    return _send_group(world, params) if group else _send_private(world, params)


def _send(world: World, chat: str, params: Params) -> Answer:
    parsed = wire.parse(params.get("message"))
    if not parsed:
        raise Refused(1200, "消息体无法解析, 请检查是否发送了不支持的消息类型")
    said = world.keep(
        chat, world.self_id, [{"type": one.type, "data": dict(one.data)} for one in parsed]
    )
    return Answer({"message_id": said.message_id}, said=said)


def _delete(world: World, params: Params) -> Answer:
    said = _message(world, params)
    if said.recalled:
        raise Refused(1200, "Recall failed")
    said.recalled = True
    events = [world.recall_event(said, world.self_id)]
    return Answer(events=events, said=said, line=_("recalled"))


def _get_message(world: World, params: Params) -> Answer:
    said = _message(world, params)
    if said.recalled:
        raise Refused(1200, "消息不存在")
    return Answer(world.message_event(said))


def _history(kind: str, name: str) -> Callable[[World, Params], Answer]:
    def handler(world: World, params: Params) -> Answer:
        chat = f"{kind}:{_identifier(params, name)}"
        count = params.get("count", 20)
        start = params.get("message_seq") or params.get("message_id")
        found = [
            said for said in world.messages.values() if said.chat == chat and not said.recalled
        ]
        if start is not None:
            # Some name a message by its id there, others by its number in the chat.
            last = max((said.sequence for said in found if start in _names(said)), default=0)
            found = [said for said in found if said.sequence <= last]
        kept = found[-count:] if isinstance(count, int) and count > 0 else []
        return Answer({"messages": [world.message_event(said) for said in kept]})

    return handler


def _names(said: Said) -> tuple[int, int]:
    return said.message_id, said.sequence


def _group(world: World, group_id: Id) -> dict[str, Any]:
    return {
        "group_id": group_id,
        "group_name": world.groups.get(group_id, ""),
        "member_count": len(world.people) + 1,
        "max_member_count": 200,
    }


def _member(world: World, group_id: Id, user_id: Id) -> dict[str, Any]:
    return {
        "group_id": group_id,
        "user_id": user_id,
        "nickname": world.name(user_id),
        "card": "",
        "role": world.bot_role if user_id == world.self_id else "member",
        "shut_up_timestamp": world.muted_until.get(user_id, 0),
        "is_robot": False,
    }


def _group_info(world: World, params: Params) -> Answer:
    return Answer(_group(world, _identifier(params, "group_id")))


def _group_list(world: World, _params: Params) -> Answer:
    return Answer([_group(world, group_id) for group_id in world.groups])


def _members(world: World, params: Params) -> Answer:
    group_id = _identifier(params, "group_id")
    return Answer([_member(world, group_id, user) for user in (world.self_id, *world.people)])


def _member_info(world: World, params: Params) -> Answer:
    user_id = _identifier(params, "user_id")
    return Answer(_member(world, _identifier(params, "group_id"), user_id))


def _stranger(world: World, params: Params) -> Answer:
    user_id = _identifier(params, "user_id")
    return Answer({"user_id": user_id, "nickname": world.name(user_id)})


def _friends(world: World, _params: Params) -> Answer:
    return Answer([{"user_id": user, "nickname": name} for user, name in world.people.items()])


def _poke(world: World, params: Params) -> Answer:
    user = _identifier(params, "user_id")
    group = params.get("group_id")
    chat = f"group:{_identifier(params, 'group_id')}" if group else f"private:{user}"
    event = world.poke_event(chat, world.self_id, user)
    return Answer(
        events=[event],
        line=_("pokes %(name)s in %(chat)s") % {"name": world.name(user), "chat": chat},
    )


def _react(world: World, params: Params) -> Answer:
    said = _message(world, params)
    emoji = str(_identifier(params, "emoji_id"))
    is_add = params.get("set", True) is not False
    event = world.reaction_event(said, world.self_id, emoji, is_add=is_add)
    told = _("reacts with %(emoji)s") if is_add else _("takes back its %(emoji)s")
    return Answer({"result": 0}, [event], said, told % {"emoji": shown_emoji(emoji)})


def _like(world: World, params: Params) -> Answer:
    user = _identifier(params, "user_id")
    return Answer(line=_("likes the profile of %(name)s") % {"name": world.name(user)})


def _upload(kind: str, name: str) -> Callable[[World, Params], Answer]:
    def handler(world: World, params: Params) -> Answer:
        chat = f"{kind}:{_identifier(params, name)}"
        file_name = str(params.get("name") or "file")
        file_id = f"/simulated-{world.next_id}"
        data = {"file": file_name, "file_id": file_id, "file_size": "0"}
        said = world.keep(chat, world.self_id, [{"type": "file", "data": data}])
        return Answer(
            {"file_id": file_id}, said=said, line=_("uploads %(file)s") % {"file": file_name}
        )

    return handler


def _constant(data: Any) -> Callable[[World, Params], Answer]:
    return lambda _world, _params: Answer(data)


def shown_emoji(emoji: str) -> str:
    """An emoji id as a person reads it: up to 3 digits a QQ face, longer a code point."""
    return (
        chr(int(emoji))
        if emoji.isdigit() and 3 < len(emoji) < 7
        else _("face %(number)s") % {"number": emoji}
    )


def shown(segments: list[dict[str, Any]], world: World) -> str:
    """A message as one readable line."""
    words = {"image": _("[image]"), "record": _("[voice]"), "video": _("[video]")}
    pieces = []
    for segment in wire.parse(segments):
        match segment.type:
            case "text":
                pieces.append(segment.data["text"])
            case "at":
                pieces.append(f"@{world.name(wire_id(str(segment.data.get('qq'))))}")
            case "reply":
                pieces.append("")
            case "file":
                pieces.append(_("[file %(name)s]") % {"name": segment.data.get("file")})
            case "mface":
                pieces.append(_("[sticker %(name)s]") % {"name": segment.data.get("summary", "")})
            case "image" if segment.data.get("sub_type") == 1:
                pieces.append(_("[sticker%(size)s]") % {"size": _size(segment.data)})
            case other:
                pieces.append(words.get(other, f"[{other}]"))
    return "".join(pieces)


def _size(data: Mapping[str, Any]) -> str:
    """How large a picture is that stands in its segment; nothing of one that stands elsewhere."""
    file = str(data.get("file", ""))
    if not file.startswith(INLINE):
        return ""
    return _(", %(count)s bytes") % {"count": f"{(len(file) - len(INLINE)) * 3 // 4:,}"}


_HANDLERS: dict[str, Callable[[World, Params], Answer]] = {
    "get_login_info": _login,
    "get_version_info": _version,
    "get_status": _constant({"online": True, "good": True}),
    "can_send_image": _constant({"yes": True}),
    "can_send_record": _constant({"yes": True}),
    "mark_msg_as_read": _constant(None),
    "send_group_msg": _send_group,
    "send_private_msg": _send_private,
    "send_msg": _send_any,
    "delete_msg": _delete,
    "get_msg": _get_message,
    "get_group_msg_history": _history("group", "group_id"),
    "get_friend_msg_history": _history("private", "user_id"),
    "get_group_info": _group_info,
    "get_group_list": _group_list,
    "get_group_member_list": _members,
    "get_group_member_info": _member_info,
    "get_stranger_info": _stranger,
    "get_friend_list": _friends,
    "group_poke": _poke,
    "friend_poke": _poke,
    "send_poke": _poke,
    "set_msg_emoji_like": _react,
    "send_like": _like,
    "upload_group_file": _upload("group", "group_id"),
    "upload_private_file": _upload("private", "user_id"),
}
