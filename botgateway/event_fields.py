"""What all events share, read from a cleaned frame."""

from collections.abc import Mapping
from typing import Any, TypedDict

from botgateway import fields
from botgateway.fields import WireId

Frame = Mapping[str, Any]


class Base(TypedDict):
    self_id: WireId | None
    time: int | None
    raw: Frame


class About(Base):
    group_id: WireId | None
    user_id: WireId | None
    actor_id: WireId | None
    peer_id: WireId | None


def base(frame: Frame) -> Base:
    """Keyword arguments of every event."""
    return {
        "self_id": fields.identifier(frame.get("self_id")),
        "time": fields.seconds(frame.get("time")),
        "raw": frame,
    }


def name(person: Frame) -> str:
    """How a sender or a member is called in a group: the card, else the nickname, else ""."""
    told = (fields.one_line(fields.string(person.get(key))) for key in ("card", "nickname"))
    return next(filter(None, told), "")


def about(frame: Frame) -> About:
    """What notices share. The actor is the operator, else the user; in private the peer is the user."""
    user_id = fields.identifier(frame.get("user_id"))
    group_id = fields.identifier(frame.get("group_id"))
    operator = fields.identifier(frame.get("operator_id"))
    return {
        **base(frame),
        "group_id": group_id,
        "user_id": user_id,
        "actor_id": operator or user_id,
        "peer_id": None if group_id else user_id,
    }


def done_to(frame: Frame) -> About:
    """As `about`, of what somebody does to another: where no operator is told, nobody knows who did.

    Operators are 0 in some of NapCat's and most of Lagrange's notices (NapCat issues 655, 670).
    """
    return {**about(frame), "actor_id": fields.identifier(frame.get("operator_id"))}
