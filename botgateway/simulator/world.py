"""What the simulated platform knows: people, groups, what was said; and the events that tell of it.

Shapes are those of NapCat, the implementation that is used most.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from botgateway import segments as wire

Segment = dict[str, Any]
Frame = dict[str, Any]
Id = int | str


def wire_id(text: Id) -> Id:
    """An id as implementations send it: a number where it is one."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else text


@dataclass(slots=True)
class Said:
    """A message on the platform; `chat` is `group:20001` or `private:10002`."""

    message_id: int
    chat: str
    sender_id: Id
    segments: list[Segment]
    time: int
    sequence: int
    recalled: bool = False

    @property
    def text(self) -> str:
        """Its text segments, joined."""
        return wire.text_of(wire.parse(self.segments))


@dataclass(slots=True)
class World:
    """One account's view of the platform. `now` gives seconds since the epoch.

    Message ids begin at random, so that after a restart nothing looks like a redelivery.
    `app_name` and `app_version` are what it says that it is; `bot_role` is the bot's in every group;
    `muted_until` is when somebody's mute ends.
    """

    self_id: Id
    bot_name: str = "Simulator"
    groups: dict[Id, str] = field(default_factory=dict)
    people: dict[Id, str] = field(default_factory=dict)
    muted_until: dict[Id, int] = field(default_factory=dict)
    messages: dict[int, Said] = field(default_factory=dict)
    now: Callable[[], float] = time.time
    next_id: int = field(default_factory=lambda: 10**9 + secrets.randbelow(10**9))
    sequences: dict[str, int] = field(default_factory=dict)
    app_name: str = "arise-simulator"
    app_version: str = "1.0.0"
    bot_role: str = "member"

    @property
    def sent(self) -> list[Said]:
        """What the bot said, in order."""
        return [said for said in self.messages.values() if said.sender_id == self.self_id]

    def name(self, user_id: Id) -> str:
        """How somebody is called."""
        if user_id == self.self_id:
            return self.bot_name
        return self.people.get(user_id) or f"User {user_id}"

    def keep(self, chat: str, sender_id: Id, segments: Sequence[Segment]) -> Said:
        """Puts a message on the platform."""
        sequence = self.sequences.get(chat, 0) + 1
        self.sequences[chat] = sequence
        said = Said(self.next_id, chat, sender_id, list(segments), int(self.now()), sequence)
        self.messages[said.message_id] = said
        self.next_id += 1
        return said

    def event(self, post_type: str, **values: Any) -> Frame:
        """An event with what all of them have."""
        common = {"time": int(self.now()), "self_id": self.self_id, "post_type": post_type}
        return {**common, **values}

    def message_event(self, said: Said) -> Frame:
        """The event of a message, `message_sent` where the bot said it."""
        kind, chat_id = split(said.chat)
        own = said.sender_id == self.self_id
        event = self.event(
            "message_sent" if own else "message",
            time=said.time,
            message_type=kind,
            sub_type="normal" if kind == "group" else "friend",
            message_id=said.message_id,
            real_seq=str(said.sequence),
            user_id=said.sender_id,
            sender={"user_id": said.sender_id, "nickname": self.name(said.sender_id), "card": ""},
            message=said.segments,
            message_format="array",
            raw_message=wire.to_cq(wire.parse(said.segments)),
            font=14,
            target_id=chat_id,
        )
        if kind == "group":
            event["group_id"] = chat_id
            event["group_name"] = self.groups.get(chat_id, "")
            event["sender"]["role"] = "member"
        return event

    def notice(self, chat: str, notice_type: str, **values: Any) -> Frame:
        """A notice of a group or a private chat."""
        kind, chat_id = split(chat)
        where = {"group_id": chat_id} if kind == "group" else {}
        return self.event("notice", notice_type=notice_type, **where, **values)

    def poke_event(self, chat: str, actor: Id, target: Id) -> Frame:
        """Somebody poked; in private NapCat names the other person as the user."""
        kind, chat_id = split(chat)
        named = {"user_id": actor} if kind == "group" else {"user_id": chat_id, "sender_id": actor}
        return self.notice(chat, "notify", sub_type="poke", target_id=target, raw_info=[], **named)

    def reaction_event(self, said: Said, actor: Id, emoji: str, *, is_add: bool) -> Frame:
        """An emoji was put under a message, or taken back."""
        return self.notice(
            said.chat,
            "group_msg_emoji_like",
            user_id=actor,
            message_id=said.message_id,
            likes=[{"emoji_id": emoji, "count": 1}],
            is_add=is_add,
        )

    def recall_event(self, said: Said, operator: Id) -> Frame:
        """A message was recalled."""
        if said.chat.startswith("private:"):
            return self.notice(
                said.chat,
                "friend_recall",
                user_id=split(said.chat)[1],
                message_id=said.message_id,
            )
        return self.notice(
            said.chat,
            "group_recall",
            user_id=said.sender_id,
            operator_id=operator,
            message_id=said.message_id,
        )


def split(chat: str) -> tuple[str, Id]:
    """`group:20001` as its kind and its id."""
    kind, _, chat_id = chat.partition(":")
    return kind, wire_id(chat_id)
