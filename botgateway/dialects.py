"""What each OneBot implementation can do, and by which action: data, and the choice of one.

Taken from the implementations' sources. `unknown` is for what nobody wrote down or what differs
between the platforms behind one implementation.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

State = Literal["yes", "no", "admin", "unknown"]
Place = Literal["group", "private", "temporary"]


@dataclass(frozen=True, slots=True)
class Cell:
    """Whether something can be done; `admin`: where the bot is one. `reason` is for operators, and
    translated where they read it (`botgateway.platforms.told`)."""

    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reaction:
    """The action that puts an emoji under a message, and its parameters' names.

    `flag` is true to put it there and false to take it back.
    """

    action: Literal["set_msg_emoji_like", "set_group_reaction"]
    emoji: str
    flag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One implementation.

    `name` is shown to operators. `capabilities` and `tags` hold for groups, `exceptions` for the
    place beside the name; a temporary session is a private chat that came through a group.
    A poke goes out as the action named in `group_poke` or `private_poke`, as a message with a poke
    segment ("segment") or not at all (""). History begins at `history_value` of a known message,
    given as the parameter `history_parameter`; "" stands for an action that there is none of.
    `tells_sequence`: its events number the messages of a chat. `market_faces`: it sends `mface`
    segments. `uploads_own_files`: it sends files of its own machine only, by upload_group_file and
    upload_private_file. `trusted_recalls_from` is the first major version whose `ok` of a recall is true.
    `heartbeat_tells_login`: its heartbeats say `online` only of an account that is logged in.
    `fails_unknown_quotes`: nothing of a message is sent where it does not know what that quotes.
    """

    name: str
    capabilities: Mapping[str, Cell]
    tags: Mapping[str, Cell]
    exceptions: Mapping[tuple[Place, str], Cell] = field(default_factory=dict)
    group_poke: Literal["group_poke", "segment", ""] = ""
    private_poke: Literal["friend_poke", "segment", ""] = ""
    reaction: Reaction | None = None
    like_action: Literal["send_like", ""] = ""
    group_history_action: Literal["get_group_msg_history", ""] = ""
    private_history_action: Literal["get_friend_msg_history", ""] = ""
    history_parameter: Literal["message_seq", "message_id"] = "message_seq"
    history_value: Literal["sequence", "message_id"] = "sequence"
    tells_sequence: bool = False
    market_faces: bool = False
    uploads_own_files: bool = False
    trusted_recalls_from: int = 0
    heartbeat_tells_login: bool = True
    fails_unknown_quotes: bool = False

    @property
    def recall(self) -> bool:
        """Whether the bot's own messages are known to be recallable."""
        return self.capabilities["recall"].state == "yes"

    def capability(self, name: str, place: Place = "group") -> Cell:
        """The cell of a capability in a place; KeyError for a name that there is none of."""
        return self._cell(self.capabilities, name, place)

    def tag(self, name: str, place: Place = "group") -> Cell:
        """The cell of a tag in a place; KeyError for a name that there is none of."""
        if name == "all" and place != "group":
            return _NOBODY_ELSE
        return self._cell(self.tags, name, place)

    def action(self, name: str, place: Place = "group") -> str:
        """The action that does a capability in a place: "segment" for a message with a poke segment,
        "" where it can't be done, or is no action of its own.

        Where nobody knows and the operator wants it tried, it is what most implementations have.
        """
        if self.capability(name, place).state == "no":
            return ""
        poke = self.group_poke if place == "group" else self.private_poke
        reaction = self.reaction or _EMOJI_LIKE
        known = {
            "recall": "delete_msg",
            "edit": "edit_msg",
            "poke_send": poke or "send_poke",
            "reaction_send": reaction.action,
            "profile_like": self.like_action or "send_like",
        }
        return known.get(name, "")

    def recall_untrusted(self, version: str) -> bool:
        """Whether this `app_version` answers ok without having recalled anything.

        NapCat did before 4 (NapCat issue 332); a version that can't be read counts as such.
        """
        if not self.trusted_recalls_from:
            return False
        major = _MAJOR_VERSION.match(version)
        return major is None or int(major[1]) < self.trusted_recalls_from

    def _cell(self, cells: Mapping[str, Cell], name: str, place: Place) -> Cell:
        here = self.exceptions.get((place, name))
        if here is None and place == "temporary":
            here = self.exceptions.get(("private", name))
        return here or cells[name]


def recognise(app_name: str, user_agent: str, actions: frozenset[str]) -> Dialect:
    """The dialect of what `get_version_info` and `get_supported_actions` told.

    The User-Agent decides where no `app_name` was told; that of NapCat, onebots and SnowLuma is
    the same and says nothing. `actions` may be empty: few implementations list theirs.
    """
    told = app_name.strip().lower()
    found = _BY_APP_NAME.get(told, DEFAULT) if told else _by_user_agent(user_agent)
    if found is GOCQHTTP and "set_group_reaction" in actions:
        found = GOCQHTTP_FORK
    if "edit_msg" in actions:
        found = replace(found, capabilities={**found.capabilities, "edit": _YES})
    return found


def _by_user_agent(user_agent: str) -> Dialect:
    told = user_agent.strip().lower()
    return next(
        (dialect for prefix, dialect in _BY_USER_AGENT.items() if told.startswith(prefix)), DEFAULT
    )


_MAJOR_VERSION = re.compile(r"[vV]?([0-9]{1,4})(?:\.|$)")

_YES = Cell("yes")
_UNKNOWN = Cell("unknown", "not known of this implementation")
_PER_PLATFORM = Cell("unknown", "depends on the platform behind onebots")
_NOBODY_ELSE = Cell("no", "a private chat has nobody to call together")
_EMOJI_LIKE = Reaction("set_msg_emoji_like", "emoji_id", "set")


def _no(reason: str) -> Cell:
    return Cell("no", reason)


_EVERYTHING: dict[str, Cell] = dict.fromkeys(
    (
        "recall", "edit", "poke_send", "poke_receive", "reaction_send", "reaction_receive",
        "profile_like", "quote", "sticker", "voice", "file",
    ),
    _YES,
)  # fmt: skip

NAPCAT = Dialect(
    name="NapCat",
    capabilities={
        **_EVERYTHING,
        "edit": _no("NapCat has no action that edits a message"),
        "poke_send": Cell("yes", "needs NapCat's packet backend"),
    },
    tags={
        "all": Cell("admin", "QQ allows administrators a few a day"),
        "user": _YES,
        "face": _YES,
    },
    exceptions={
        ("private", "reaction_send"): Cell("unknown", "not known of NapCat's private chats"),
        ("private", "user"): _no("NapCat drops mentions in private chats"),
    },
    group_poke="group_poke",
    private_poke="friend_poke",
    reaction=_EMOJI_LIKE,
    like_action="send_like",
    group_history_action="get_group_msg_history",
    private_history_action="get_friend_msg_history",
    # Its message_seq is a message id; real_seq, which orders messages, is not taken there.
    history_value="message_id",
    tells_sequence=True,
    market_faces=True,
    trusted_recalls_from=4,
)

LLONEBOT = Dialect(
    name="LLOneBot",
    capabilities={**_EVERYTHING, "edit": _no("LLOneBot has no action that edits a message")},
    tags={
        "all": Cell("admin", "LLOneBot drops it without a word elsewhere"),
        "user": _YES,
        "face": _YES,
    },
    exceptions={("private", "reaction_send"): _no("LLOneBot reacts in groups only")},
    group_poke="group_poke",
    private_poke="friend_poke",
    reaction=_EMOJI_LIKE,
    like_action="send_like",
    group_history_action="get_group_msg_history",
    private_history_action="get_friend_msg_history",
    tells_sequence=True,
    market_faces=True,
)

LAGRANGE = Dialect(
    name="Lagrange",
    capabilities={
        **_EVERYTHING,
        "edit": _no("Lagrange has no action that edits a message"),
        "quote": Cell("yes", "sent without the quote where Lagrange does not know the message"),
        "file": _no("Lagrange takes files of its own machine only"),
    },
    tags={"all": Cell("admin"), "user": _YES, "face": _YES},
    exceptions={
        ("temporary", "recall"): _no("Lagrange can't recall in temporary sessions"),
        ("private", "reaction_send"): _no("Lagrange reacts in groups only"),
    },
    group_poke="group_poke",
    private_poke="friend_poke",
    reaction=Reaction("set_group_reaction", "code", "is_add"),
    like_action="send_like",
    group_history_action="get_group_msg_history",
    history_parameter="message_id",
    history_value="message_id",
    market_faces=True,
    uploads_own_files=True,
    heartbeat_tells_login=False,  # always online (Lagrange issue 665)
    fails_unknown_quotes=True,
)

GOCQHTTP = Dialect(
    name="go-cqhttp",
    capabilities={
        "recall": _YES,
        "edit": _no("go-cqhttp has no action that edits a message"),
        "poke_send": _YES,
        "poke_receive": _YES,
        "reaction_send": _no("go-cqhttp has no reactions"),
        "reaction_receive": _no("go-cqhttp does not report reactions"),
        "profile_like": _no("go-cqhttp has no profile likes"),
        "quote": _YES,
        "sticker": Cell("yes", "sent as pictures: go-cqhttp has no market faces"),
        "voice": _YES,
        "file": _no("go-cqhttp takes files of its own machine only"),
    },
    tags={"all": Cell("admin"), "user": _YES, "face": _YES},
    exceptions={
        ("private", "poke_send"): _no("go-cqhttp pokes in groups only"),
        ("temporary", "recall"): _no("go-cqhttp keeps no messages of temporary sessions"),
        ("temporary", "quote"): _no("go-cqhttp keeps no messages of temporary sessions"),
    },
    group_poke="segment",
    group_history_action="get_group_msg_history",
    tells_sequence=True,
    uploads_own_files=True,
)

GOCQHTTP_FORK = replace(
    GOCQHTTP,
    name="go-cqhttp (Lagrange fork)",
    capabilities={**GOCQHTTP.capabilities, "reaction_send": _YES},
    exceptions={
        ("private", "reaction_send"): _no("go-cqhttp reacts in groups only"),
        ("temporary", "recall"): _no("go-cqhttp keeps no messages of temporary sessions"),
        ("temporary", "quote"): _no("go-cqhttp keeps no messages of temporary sessions"),
    },
    private_poke="segment",
    reaction=Reaction("set_group_reaction", "emoji_id", "is_add"),
)

ONEBOTS = Dialect(
    name="onebots",
    capabilities={
        "recall": _PER_PLATFORM,
        "edit": _no("onebots has no action that edits a message"),
        "poke_send": _no("onebots has no pokes"),
        "poke_receive": _PER_PLATFORM,
        "reaction_send": _no("onebots has no reactions"),
        "reaction_receive": _no("onebots does not report reactions"),
        "profile_like": _no("onebots has no profile likes"),
        "quote": _PER_PLATFORM,
        "sticker": Cell("yes", "sent as ordinary pictures"),
        "voice": _PER_PLATFORM,
        "file": _PER_PLATFORM,
    },
    # A mention names the platform's own id of a person, which the events do not tell.
    tags={"all": _PER_PLATFORM, "user": _PER_PLATFORM, "face": _PER_PLATFORM},
)

SNOWLUMA = Dialect(
    name="SnowLuma",
    capabilities={**_EVERYTHING, "edit": _no("SnowLuma has no action that edits a message")},
    tags={"all": Cell("admin"), "user": _YES, "face": _YES},
    exceptions={
        ("private", "reaction_send"): Cell("unknown", "not known of SnowLuma's private chats")
    },
    group_poke="group_poke",
    private_poke="friend_poke",
    reaction=_EMOJI_LIKE,
    like_action="send_like",
    group_history_action="get_group_msg_history",
    private_history_action="get_friend_msg_history",
    history_parameter="message_id",
    history_value="message_id",
    tells_sequence=True,
    market_faces=True,
)

SIMULATOR = replace(NAPCAT, name="simulator", trusted_recalls_from=0)
"""`manage.py simulate` speaks as NapCat does."""

PLAYGROUND = replace(NAPCAT, name="playground", trusted_recalls_from=0)
"""The console's playground speaks as NapCat does, too."""

DEFAULT = Dialect(
    name="unknown implementation",
    capabilities={
        "recall": _YES,
        "edit": _UNKNOWN,
        "poke_send": _UNKNOWN,
        "poke_receive": _UNKNOWN,
        "reaction_send": _UNKNOWN,
        "reaction_receive": _UNKNOWN,
        "profile_like": _UNKNOWN,
        "quote": _YES,
        "sticker": Cell("yes", "sent as ordinary pictures"),
        "voice": _YES,
        "file": _UNKNOWN,
    },
    tags={"all": _UNKNOWN, "user": _YES, "face": _UNKNOWN},
)
"""Text, pictures, mentions, quotes, voice and delete_msg: what OneBot v11 itself asks of everyone."""

_BY_APP_NAME = {
    "napcat.onebot": NAPCAT,
    "llonebot": LLONEBOT,
    "lagrange.onebot": LAGRANGE,
    "go-cqhttp": GOCQHTTP,
    "onebots": ONEBOTS,
    "snowluma": SNOWLUMA,
    "arise-simulator": SIMULATOR,
    "arise-playground": PLAYGROUND,
}

_BY_USER_AGENT = {
    "llonebot/": LLONEBOT,
    "lagrange.onebot": LAGRANGE,
    "cqhttp/": GOCQHTTP,
}

DIALECTS = (NAPCAT, LLONEBOT, LAGRANGE, GOCQHTTP, GOCQHTTP_FORK, ONEBOTS, SNOWLUMA, DEFAULT)
