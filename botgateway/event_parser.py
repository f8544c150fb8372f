"""From a cleaned frame with `post_type` to an event; each dialect's spelling is settled here."""

from typing import Literal

from botgateway import event_fields, events, fields, notice_parser, segments
from botgateway.event_fields import Frame
from botgateway.fields import WireId

PLACEHOLDER_GROUP = "284840486"
"""NapCat names this group where it does not know through which one a session came."""

_TEMPORARY_SOURCES = 10_000
"""Smaller values of `temp_source` name a kind of source, larger ones the group (NapCat issue 970)."""


def parse(frame: Frame) -> events.Event:
    """The event of a frame; what nobody acts on becomes an `OtherEvent`, nothing raises."""
    match frame.get("post_type"):
        case "message" | "message_sent":
            kind = frame.get("message_type")
            if kind == "group" or kind == "private":
                return _message(frame, kind)
        case "notice":
            return notice_parser.parse(frame) or _other(frame)
        case "meta_event":
            return _meta(frame)
        case "request":
            return _request(frame)
        case _:
            pass
    return _other(frame)


def _message(frame: Frame, kind: Literal["group", "private"]) -> events.MessageEvent:
    sender = fields.mapping(frame.get("sender"))
    shared = event_fields.base(frame)
    user_id = fields.identifier(frame.get("user_id")) or fields.identifier(sender.get("user_id"))
    sent = frame.get("post_type") == "message_sent"
    user_id = user_id or (shared["self_id"] if sent else None)
    own_id = shared["self_id"]
    is_own = sent or (user_id is not None and own_id is not None and user_id.value == own_id.value)
    is_temporary = kind == "private" and frame.get("sub_type") == "group"
    return events.MessageEvent(
        **shared,
        kind=kind,
        sub_type=fields.string(frame.get("sub_type"), 32),
        chat_id=_chat_id(frame, kind, None if is_own else user_id, shared["self_id"]),
        user_id=user_id,
        message_id=fields.message_identifier(frame.get("message_id")),
        sequence=_sequence(frame),
        segments=segments.parse(frame.get("message")),
        sender_name=_name(sender, user_id),
        sender_role=fields.one_line(fields.string(sender.get("role")), 20),
        group_name=fields.one_line(fields.string(frame.get("group_name")), 200),
        is_temporary=is_temporary,
        via_group=_via_group(frame, sender) if is_temporary else None,
        is_own=is_own,
    )


def _sequence(frame: Frame) -> str:
    """The chat's own number of a message: NapCat's `real_seq`, its `message_seq` is the message id."""
    told = fields.id_text(frame.get("message_seq"))
    is_id = told == fields.id_text(frame.get("message_id"))
    return fields.id_text(frame.get("real_seq")) or ("" if is_id else told)


def _chat_id(
    frame: Frame, kind: str, other: WireId | None, self_id: WireId | None
) -> WireId | None:
    """The group, or the other person of a private chat.

    Incoming private messages name their sender (`target_id` is the peer in NapCat, the bot in
    Lagrange); own ones name the peer in `target_id`, or nowhere.
    """
    target = fields.identifier(frame.get("target_id"))
    if kind == "group":
        group = fields.identifier(frame.get("group_id"))
        return group or (target if frame.get("post_type") == "message_sent" else None)
    if other is not None:
        return other
    is_the_bot = target is not None and self_id is not None and target.value == self_id.value
    return None if is_the_bot else target


def _via_group(frame: Frame, sender: Frame) -> WireId | None:
    """NapCat says it in `group_id`, LLOneBot and go-cqhttp in the sender, old NapCat in the source."""
    candidates = [frame.get("group_id"), sender.get("group_id")]
    source = fields.integer(frame.get("temp_source"))
    if source is not None and source >= _TEMPORARY_SOURCES:
        candidates.append(source)
    for candidate in candidates:
        group = fields.identifier(candidate)
        if group is not None and group.value != PLACEHOLDER_GROUP:
            return group
    return None


def _name(sender: Frame, user_id: WireId | None) -> str:
    """How a person is called here: the card, else the nickname, else the id."""
    return event_fields.name(sender) or (fields.one_line(user_id.value) if user_id else "")


def _meta(frame: Frame) -> events.Event:
    match frame.get("meta_event_type"):
        case "lifecycle":
            sub_type = fields.string(frame.get("sub_type"), 32)
            return events.LifecycleEvent(**event_fields.base(frame), sub_type=sub_type)
        case "heartbeat":
            online = fields.mapping(frame.get("status")).get("online")
            interval = fields.integer(frame.get("interval"))
            return events.HeartbeatEvent(
                **event_fields.base(frame),
                online=online if isinstance(online, bool) else None,
                interval_seconds=interval / 1000 if interval and interval > 0 else None,
            )
        case _:
            return _other(frame)


def _request(frame: Frame) -> events.RequestEvent:
    return events.RequestEvent(
        **event_fields.about(frame),
        request_type=fields.string(frame.get("request_type"), 32),
        sub_type=fields.string(frame.get("sub_type"), 32),
        comment=fields.string(frame.get("comment"), 1000),
        flag=fields.id_text(frame.get("flag")),
    )


def _other(frame: Frame) -> events.OtherEvent:
    kind = fields.string(frame.get("post_type"), 32)
    types = [kind]
    for key in (
        f"{kind.removesuffix('_sent').removesuffix('_event')}_type",
        "meta_event_type",
        "sub_type",
    ):
        value = fields.string(frame.get(key), 32)
        if value:
            types.append(value)
    return events.OtherEvent(**event_fields.base(frame), name=fields.one_line(".".join(types), 128))
