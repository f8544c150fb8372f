"""What an implementation reports, one class a kind, the dialects made one.

Times are whole seconds since the epoch. Ids are `WireId`; None where a frame names nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from botgateway.fields import WireId
from botgateway.segments import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Any event; `raw` is the whole cleaned frame, for logs alone: it may hold access keys."""

    self_id: WireId | None = None
    time: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def is_self(self, user: WireId | None) -> bool:
        """Whether `user` is the bot's own account."""
        return user is not None and self.self_id is not None and user.value == self.self_id.value


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEvent(Event):
    """A message of a group or a private chat.

    `chat_id` is the group, or in private the other person; None where the frame does not tell
    (SnowLuma's own private messages). `via_group` is the group through which a temporary session
    came and has to be answered. `is_own`: said on the bot's account, reported as `message_sent`
    or as an ordinary message (Lagrange with IgnoreSelf=false, go-cqhttp issue 839).
    """

    kind: Literal["group", "private"]
    sub_type: str = ""
    chat_id: WireId | None = None
    user_id: WireId | None = None
    message_id: WireId | None = None
    sequence: str = ""
    segments: tuple[Segment, ...] = ()
    sender_name: str = ""
    sender_role: str = ""
    group_name: str = ""
    is_temporary: bool = False
    via_group: WireId | None = None
    is_own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeEvent(Event):
    """Something that happened in a group (`group_id`) or, without one, in a private chat.

    `user_id` is whom it is about; `actor_id` who did it, None where that was not told; in private
    `peer_id` is the other person.
    """

    group_id: WireId | None = None
    user_id: WireId | None = None
    actor_id: WireId | None = None
    peer_id: WireId | None = None

    @property
    def is_by_bot(self) -> bool:
        """Whether the bot's own account did it: never to be reacted to."""
        return self.is_self(self.actor_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PokeEvent(NoticeEvent):
    """`actor_id` poked `target_id` (None: the platform did not tell, NapCat issue 594)."""

    target_id: WireId | None = None

    @property
    def is_at_bot(self) -> bool:
        """Whether somebody else poked the bot."""
        return self.is_self(self.target_id) and not self.is_by_bot


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionEvent(NoticeEvent):
    """Emoji put under a message or taken back.

    `emoji`: QQ face ids (up to 3 digits) or decimal Unicode code points. `total` is how many stand
    there now, told by Lagrange alone.
    """

    message_id: WireId | None = None
    emoji: tuple[str, ...] = ()
    removed: bool = False
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallEvent(NoticeEvent):
    """A message of `user_id` was recalled by `actor_id`."""

    message_id: WireId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberEvent(NoticeEvent):
    """`user_id` joined or left; `is_chat_gone`: the group ended, or the bot was put out."""

    joined: bool
    sub_type: str = ""
    is_chat_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BanEvent(NoticeEvent):
    """`user_id` (None: the whole group) may not speak for `duration_seconds` (None: no end told)."""

    lifted: bool = False
    duration_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdminEvent(NoticeEvent):
    """`user_id` is an administrator of the group from now on, or no longer (`removed`)."""

    removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadEvent(NoticeEvent):
    """A file was uploaded; the same upload also comes as a message with a file segment."""

    file_id: str = ""
    name: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEvent(NoticeEvent):
    """`user_id` is called `card` in the group from now on."""

    card: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EssenceEvent(NoticeEvent):
    """A message of `user_id` was marked as essential, or no longer is."""

    message_id: WireId | None = None
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileLikeEvent(NoticeEvent):
    """`actor_id` liked the bot's profile so many times."""

    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FriendAddEvent(NoticeEvent):
    """`user_id` became a friend; Lagrange also says so of a mere request (Lagrange issue 667)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEvent(NoticeEvent):
    """Somebody asks to be a friend, to join, or invites the bot; `flag` is opaque."""

    request_type: str
    sub_type: str = ""
    comment: str = ""
    flag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatEvent(Event):
    """The implementation lives; `online` is whether the account is logged in (None: not told)."""

    online: bool | None = None
    interval_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent(Event):
    """`connect`, `enable` or `disable`."""

    sub_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountEvent(Event):
    """The account was logged in or out on the platform (`bot_online`, `bot_offline`)."""

    online: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEvent(Event):
    """What nothing here acts on; `name` is made of its types, as `notice.notify.lucky_king`."""

    name: str
