"""What tells the implementations apart when they are called: which actions they have, and how they
say yes, no and that there is no such action."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botgateway import dialects
from botgateway.dialects import Dialect
from botgateway.simulator.world import Frame

POKES = frozenset({"group_poke", "friend_poke", "send_poke"})
REACTIONS = frozenset({"set_msg_emoji_like", "set_group_reaction"})
HISTORIES = frozenset({"get_group_msg_history", "get_friend_msg_history"})
LIST = frozenset({"get_supported_actions"})
Shape = Callable[[Mapping[str, Any], str], Frame]


@dataclass(frozen=True, slots=True)
class Implementation:
    """One implementation. `failure` and `unknown` make the frame that says no to a call, with its
    own words as far as it has any; `keeps` are the keys of a frame that says yes."""

    dialect: Dialect
    app_name: str
    app_version: str
    lacks: frozenset[str]
    failure: Shape
    unknown: Shape
    keeps: tuple[str, ...] = ("status", "retcode", "data", "message", "wording", "echo")
    pokes_by_segment: bool = False
    lists: tuple[str, ...] = ()

    def success(self, response: Frame) -> Frame:
        """A success as it is said here."""
        return {key: response.get(key) for key in self.keeps}


def _failed(call: Mapping[str, Any], retcode: int, **words: Any) -> Frame:
    return {"status": "failed", "retcode": retcode, "echo": call.get("echo"), **words}


def _both(retcode: int, form: str = "{}") -> Shape:
    """NapCat and LLOneBot: message and wording say the same."""

    def shape(call: Mapping[str, Any], said: str) -> Frame:
        text = form.format(said)
        return _failed(call, retcode, data=None, message=text, wording=text)

    return shape


def _bare(retcode: int) -> Shape:
    """Lagrange: no words at all."""
    return lambda call, said: _failed(call, retcode, data=None)


def _gocqhttp(retcode: int, msg: str, wording: str) -> Shape:
    return lambda call, said: _failed(
        call, retcode, data=None, msg=msg, wording=wording, message=wording
    )


def _onebots(form: str) -> Shape:
    return lambda call, said: _failed(call, -1, msg=form.format(said))


def _snowluma(retcode: int, form: str = "{}") -> Shape:
    return lambda call, said: _failed(call, retcode, data=None, wording=form.format(said))


NAPCAT = Implementation(
    dialects.NAPCAT,
    "NapCat.Onebot",
    "4.9.0",
    LIST | {"set_group_reaction"},
    _both(1200),
    _both(1404, "不支持的Api {}"),
)
LLONEBOT = Implementation(
    dialects.LLONEBOT,
    "LLOneBot",
    "8.1.7",
    LIST | {"set_group_reaction"},
    _both(1200),
    _both(1404, "{} API 不存在"),
)
LAGRANGE = Implementation(
    dialects.LAGRANGE,
    "Lagrange.OneBot",
    "0.0.3",
    LIST | {"set_msg_emoji_like", "get_friend_msg_history"},
    _bare(200),
    _bare(404),
    keeps=("status", "retcode", "data", "echo"),
)
GOCQHTTP = Implementation(
    dialects.GOCQHTTP,
    "go-cqhttp",
    "v1.2.0",
    POKES | REACTIONS | {"send_like", "get_friend_msg_history"},
    _gocqhttp(100, "SEND_MSG_API_ERROR", "请参考 go-cqhttp 端输出"),
    _gocqhttp(404, "API_NOT_FOUND", "API不存在"),
    keeps=("data", "retcode", "status", "message", "echo"),
    pokes_by_segment=True,
    lists=("delete_msg", "get_supported_actions", "send_group_msg", "send_private_msg"),
)
GOCQHTTP_FORK = Implementation(
    dialects.GOCQHTTP_FORK,
    "go-cqhttp",
    "v1.2.0",
    GOCQHTTP.lacks - {"set_group_reaction"},
    GOCQHTTP.failure,
    GOCQHTTP.unknown,
    keeps=GOCQHTTP.keeps,
    pokes_by_segment=True,
    lists=(*GOCQHTTP.lists, "set_group_reaction"),
)
ONEBOTS = Implementation(
    dialects.ONEBOTS,
    "onebots",
    "1.0.0",
    LIST | POKES | REACTIONS | HISTORIES | {"send_like"},
    _onebots("{}"),
    _onebots("Unknown action: {}"),
    keeps=("status", "retcode", "data", "echo"),
)
SNOWLUMA = Implementation(
    dialects.SNOWLUMA,
    "SnowLuma",
    "1.9.0-node",
    LIST,
    _snowluma(100),
    _snowluma(1404, "unknown action: {}"),
)
OTHER = Implementation(
    dialects.DEFAULT,
    "something new",
    "1",
    LIST | POKES | REACTIONS | HISTORIES,
    _both(1200),
    _both(1404, "unknown action {}"),
)

BY_COLUMN = {
    "NC": NAPCAT,
    "LL": LLONEBOT,
    "LG": LAGRANGE,
    "GC": GOCQHTTP,
    "fork": GOCQHTTP_FORK,
    "OB": ONEBOTS,
    "SL": SNOWLUMA,
    "other": OTHER,
}
