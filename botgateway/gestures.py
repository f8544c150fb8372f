"""Gestures as calls: each implementation has its own actions for pokes, reactions and likes."""

from botgateway import actions, platforms
from botgateway.actions import Call, Response, UnsendablePart
from botgateway.connections import LiveConnection
from core import capabilities, sending
from core.messages import PlatformId
from core.models import OutboxEntry
from core.sending import Claimed

SENDS = ("send_group_msg", "send_private_msg")


def call(connection: LiveConnection, entry: Claimed) -> Call:
    """The call that makes a gesture; UnsendablePart where the implementation can't."""
    dialect, place = connection.dialect, platforms.place_of(entry.chat_kind, entry.address)
    capability = capabilities.OF_ACTION[OutboxEntry.Action(entry.action)]
    action = dialect.action(capability, place)
    if not action:
        raise UnsendablePart(dialect.capability(capability, place).reason)
    return _made(connection, entry, action)


def _made(connection: LiveConnection, entry: Claimed, action: str) -> Call:
    data = entry.parts[0]["data"]
    target = PlatformId(data["id"], data["is_number"]).wire()
    chat = entry.chat_external_id.wire()
    group = chat if entry.chat_kind == "group" else None
    match action:
        case "group_poke":
            return actions.group_poke(chat, target)
        case "friend_poke":
            return actions.friend_poke(target)
        case "segment":
            return actions.poke_by_segment(target, group)
        case "set_msg_emoji_like":
            return actions.set_msg_emoji_like(target, data["emoji"])
        case "set_group_reaction":
            names = connection.dialect.reaction
            assert names is not None  # noqa: S101 - it is this dialect's action
            return actions.set_group_reaction(
                chat, target, data["emoji"], emoji_parameter=names.emoji, flag_parameter=names.flag
            )
        case "send_like":
            return actions.send_like(target)
        case _:
            return actions.send_poke(target, group)


def settle(entry_id: int, made: Call, response: Response) -> None:
    """Keep what an answer says of a gesture; what goes out as a message is answered like one."""
    read = actions.send_outcome if made.action in SENDS else actions.plain_outcome
    outcome = read(response)
    match outcome.state:
        case "sent":
            sending.mark_done(entry_id)
        case "failed":
            sending.mark_failed(entry_id, reason="refused", error=outcome.reason)
        case "unknown":
            sending.mark_unknown(entry_id, reason="unclear_answer", error=outcome.reason)
