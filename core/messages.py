"""Values that cross the border between a host (the gateway) and core: plain, frozen, complete."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

PartType = Literal[
    "text", "mention", "face", "image", "sticker", "voice", "video", "file", "forward", "other"
]


@dataclass(frozen=True, slots=True)
class PlatformId:
    """A platform's id, kept as the characters that came in and sent back in the type they came in."""

    value: str
    is_number: bool = True

    def wire(self) -> int | str:
        """The id as it goes out: a JSON number if it came as one, else a string."""
        return int(self.value) if self.is_number else self.value


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message.

    `data` by `type`: text `{text}`; mention `{id, name?}` (`id` is `all` for everybody); face
    `{id}`; image and sticker `{id?, url?, file?, summary?, size?, …}` where `id` is the stable id
    (`mface:<emoji_id>` or `md5:<hex>`, lower case); voice, video and file `{name?, url?, id?,
    size?}`; forward `{id?}`; other `{type, data}`, what nobody knew, kept as it came.
    """

    type: PartType
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The shape in which parts are stored."""
        return {"type": self.type, "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class ChatAddress:
    """Which chat of a bot something belongs to, and what the host knows of it by the way."""

    kind: Literal["group", "private"]
    external_id: PlatformId
    title: str = ""
    address: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """`group:20001` or `private:10001`."""
        return f"{self.kind}:{self.external_id.value}"


@dataclass(frozen=True, slots=True)
class ReceivedItem:
    """Something that came in, cleaned by the host: no NUL, no lone surrogate, times in UTC.

    `message_id` is None where the platform gave none. `is_old` is the host's judgement by the
    connection's own clock. `sent_at` is the platform's time, `received_at` ours.

    An interaction is an item too. A poke has whom it was for as its `target_id` ("" where the
    platform did not tell), and `is_at_bot` where that is the bot. A reaction has the message that
    it is under as its `target_id`, its `emoji` (QQ face ids or decimal code points), and `removed`
    where it was taken back. Neither has a message id or parts, seldom a name of its sender.
    """

    bot_id: int
    chat: ChatAddress
    kind: Literal["message", "poke", "reaction"]
    sender_id: str
    sent_at: datetime
    received_at: datetime
    message_id: PlatformId | None = None
    sequence: str = ""
    sender_name: str = ""
    sender_role: str = ""
    parts: tuple[Part, ...] = ()
    mentions_bot: bool = False
    reply_to: str = ""
    target_id: str = ""
    is_at_bot: bool = False
    emoji: tuple[str, ...] = ()
    removed: bool = False
    from_self: bool = False
    is_old: bool = False

    @property
    def text(self) -> str:
        """Text parts joined; not trimmed."""
        return "".join(part.data["text"] for part in self.parts if part.type == "text")

    @property
    def mentions(self) -> list[str]:
        """Ids mentioned, in order, `all` among them."""
        return [part.data["id"] for part in self.parts if part.type == "mention"]

    @property
    def media_ids(self) -> list[str]:
        """Stable ids of pictures, stickers and files, in order."""
        return [str(part.data["id"]) for part in self.parts if "id" in part.data]

    def identity(self) -> bytes:
        """The digest by which a redelivered item is known.

        A message is the same when bot, chat, message id, sender, text and media are; ids alone
        collide, and redelivered frames may carry new times, so the time counts only where the
        platform gave no id. A notice is the same when bot, kind, chat, actor, target, emoji,
        direction and platform second are.
        """
        who = [self.bot_id, self.kind, self.chat.key, self.sender_id]
        if self.kind == "message":
            what: list[Any] = [self.text, self.media_ids]
            when = self.message_id.value if self.message_id else int(self.sent_at.timestamp())
        else:
            what = [self.target_id, list(self.emoji), self.removed]
            when = int(self.sent_at.timestamp())
        canonical = json.dumps([who, what, when], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).digest()


@dataclass(frozen=True, slots=True)
class Recalled:
    """News that a message of a chat was recalled; `by_bot`: by the bot's own account."""

    bot_id: int
    chat: ChatAddress
    message_id: PlatformId
    by_bot: bool
    received_at: datetime


@dataclass(frozen=True, slots=True)
class MemberNews:
    """News of somebody in a group; what is empty or None was not told.

    `is_here`: whether he has joined, or left. `name` and `role` are what holds from now on.
    """

    bot_id: int
    chat: ChatAddress
    user_id: str
    name: str = ""
    role: str = ""
    is_here: bool | None = None


@dataclass(frozen=True, slots=True)
class ListedMember:
    """Somebody of a group as its member list tells."""

    user_id: str
    name: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class MemberList:
    """A group's members, the bot left out, asked for at `asked_at`. Unless it `is_whole`, others
    may be there too."""

    bot_id: int
    chat: ChatAddress
    members: tuple[ListedMember, ...]
    is_whole: bool
    asked_at: datetime


Silence = Literal["muted", "whole_group_muted", "removed"]


@dataclass(frozen=True, slots=True)
class BotNews:
    """News of the bot's own place in a chat: its role, and whether it may speak there.

    `role` is empty where it was not told. A `silence` begins, and ends by itself after `seconds`
    (None: when the platform says so), or it `is_over`: the mute was lifted, the bot is back.
    """

    bot_id: int
    chat: ChatAddress
    role: str = ""
    silence: Silence | None = None
    is_over: bool = False
    seconds: float | None = None

    @property
    def mutes(self) -> bool:
        """Whether the bot may not speak from now on, in a chat that it is in."""
        return self.silence in ("muted", "whole_group_muted") and not self.is_over


News = Recalled | MemberNews | MemberList | BotNews
"""What is told of a chat and is no item of it."""

Received = ReceivedItem | News
