"""From a cleaned frame with `post_type` notice to an event; the dialects are settled here."""

from collections.abc import Callable

from botgateway import event_fields, events, fields
from botgateway.event_fields import Frame

_MAX_EMOJI = 20


def parse(frame: Frame) -> events.Event | None:
    """The event of a notice, None for one that nobody acts on."""
    kind = fields.string(frame.get("notice_type"))
    if kind == "notify":
        kind = f"notify.{fields.string(frame.get('sub_type'))}"
    parser = _NOTICES.get(kind)
    return parser(frame) if parser else None


def _poke(frame: Frame) -> events.PokeEvent:
    """Groups agree; in private NapCat names the peer and the sender, Lagrange the actor twice.

    LLOneBot names the friend as user always, so user = target means that the bot poked.
    """
    about = event_fields.about(frame)
    target = fields.identifier(frame.get("target_id"))
    actor = fields.identifier(frame.get("sender_id"))
    if about["group_id"] is None:
        user = about["user_id"]
        if actor is None and user is not None and target is not None:
            actor = about["self_id"] if user.value == target.value else user
        own = events.Event(**event_fields.base(frame)).is_self(actor)
        about["peer_id"] = target if own else actor or user
    about["actor_id"] = actor or about["user_id"]
    return events.PokeEvent(**about, target_id=target)


def _reaction(frame: Frame) -> events.ReactionEvent:
    """`likes` of NapCat, LLOneBot and SnowLuma; `code` and `count` of Lagrange."""
    likes = frame.get("likes")
    found = (
        [fields.mapping(like).get("emoji_id") for like in likes] if isinstance(likes, list) else []
    )
    found = found or [frame.get("code")]
    emoji = tuple(fields.id_text(one)[:32] for one in found[:_MAX_EMOJI] if fields.id_text(one))
    is_add = frame.get("is_add")
    removed = not is_add if isinstance(is_add, bool) else frame.get("sub_type") == "remove"
    return events.ReactionEvent(
        **event_fields.about(frame),
        message_id=fields.message_identifier(frame.get("message_id")),
        emoji=emoji,
        removed=removed,
        total=fields.integer(frame.get("count")),
    )


def _recall(frame: Frame) -> events.RecallEvent:
    message_id = fields.message_identifier(frame.get("message_id"))
    return events.RecallEvent(**event_fields.about(frame), message_id=message_id)


def _join(frame: Frame) -> events.MemberEvent:
    sub_type = fields.string(frame.get("sub_type"), 32)
    return events.MemberEvent(**event_fields.about(frame), joined=True, sub_type=sub_type)


def _leave(frame: Frame) -> events.MemberEvent:
    sub_type = fields.string(frame.get("sub_type"), 32)
    was_put_out = sub_type in ("kick", "kick_me")
    about = event_fields.done_to(frame) if was_put_out else event_fields.about(frame)
    ended = sub_type in ("disband", "kick_me") or frame.get("notice_type") == "group_dismiss"
    gone = ended or events.Event(**event_fields.base(frame)).is_self(about["user_id"])
    return events.MemberEvent(**about, joined=False, sub_type=sub_type, is_chat_gone=gone)


def _ban(frame: Frame) -> events.BanEvent | None:
    """onebots leaves out the sub_type: the duration tells then, and without one nothing is told."""
    duration = fields.integer(frame.get("duration"))
    sub_type = fields.string(frame.get("sub_type"))
    if not sub_type:
        if duration is None:
            return None
        sub_type = "ban" if duration else "lift_ban"
    return events.BanEvent(
        **event_fields.done_to(frame),
        lifted=sub_type == "lift_ban",
        duration_seconds=duration if duration is not None and duration > 0 else None,
    )


def _group_admin(frame: Frame) -> events.GroupAdminEvent | None:
    """None where neither set nor unset is told: a right must not be read into it."""
    sub_type = frame.get("sub_type")
    if sub_type not in ("set", "unset"):
        return None
    return events.GroupAdminEvent(**event_fields.done_to(frame), removed=sub_type == "unset")


def _upload(frame: Frame) -> events.UploadEvent:
    file = fields.mapping(frame.get("file"))
    return events.UploadEvent(
        **event_fields.about(frame),
        file_id=fields.id_text(file.get("id")),
        name=fields.one_line(fields.string(file.get("name")), 255),
        size=fields.integer(file.get("size")),
    )


def _card(frame: Frame) -> events.CardEvent:
    card = fields.one_line(fields.string(frame.get("card_new")))
    return events.CardEvent(**event_fields.about(frame), card=card)


def _essence(frame: Frame) -> events.EssenceEvent:
    about = event_fields.about(frame)
    about["user_id"] = fields.identifier(frame.get("sender_id"))
    return events.EssenceEvent(
        **about,
        message_id=fields.message_identifier(frame.get("message_id")),
        removed=frame.get("sub_type") == "delete",
    )


def _profile_like(frame: Frame) -> events.ProfileLikeEvent:
    times = fields.integer(frame.get("times"))
    return events.ProfileLikeEvent(**event_fields.about(frame), times=max(times or 1, 1))


def _friend_add(frame: Frame) -> events.FriendAddEvent:
    return events.FriendAddEvent(**event_fields.about(frame))


def _account(frame: Frame) -> events.AccountEvent:
    said = fields.string(frame.get("reason")) or fields.string(frame.get("message"))
    return events.AccountEvent(
        **event_fields.base(frame),
        online=frame.get("notice_type") == "bot_online",
        reason=fields.one_line(said, 200),
    )


_NOTICES: dict[str, Callable[[Frame], events.Event | None]] = {
    "notify.poke": _poke,
    "notify.profile_like": _profile_like,
    "group_msg_emoji_like": _reaction,
    "reaction": _reaction,
    "group_recall": _recall,
    "friend_recall": _recall,
    "group_increase": _join,
    "group_decrease": _leave,
    "group_dismiss": _leave,
    "group_ban": _ban,
    "group_admin": _group_admin,
    "group_upload": _upload,
    "offline_file": _upload,
    "group_card": _card,
    "essence": _essence,
    "friend_add": _friend_add,
    "bot_online": _account,
    "bot_offline": _account,
}
