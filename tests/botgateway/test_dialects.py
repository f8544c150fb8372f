"""What each implementation can do, told again as a table, and how it is recognised."""

from dataclasses import replace

import pytest

from botgateway import actions, dialects
from botgateway.dialects import Dialect, Place, State
from core.capabilities import CAPABILITIES, TAGS

_COLUMNS = {
    "NC": dialects.NAPCAT,
    "LL": dialects.LLONEBOT,
    "LG": dialects.LAGRANGE,
    "GC": dialects.GOCQHTTP,
    "fork": dialects.GOCQHTTP_FORK,
    "OB": dialects.ONEBOTS,
    "SL": dialects.SNOWLUMA,
    "other": dialects.DEFAULT,
}
_STATES: dict[str, State] = {"Y": "yes", "N": "no", "A": "admin", "?": "unknown"}

_GROUPS = """
                  NC  LL  LG  GC  fork  OB  SL  other
recall            Y   Y   Y   Y   Y     ?   Y   Y
edit              N   N   N   N   N     N   N   ?
poke_send         Y   Y   Y   Y   Y     N   Y   ?
poke_receive      Y   Y   Y   Y   Y     ?   Y   ?
reaction_send     Y   Y   Y   N   Y     N   Y   ?
reaction_receive  Y   Y   Y   N   N     N   Y   ?
profile_like      Y   Y   Y   N   N     N   Y   ?
quote             Y   Y   Y   Y   Y     ?   Y   Y
sticker           Y   Y   Y   Y   Y     Y   Y   Y
voice             Y   Y   Y   Y   Y     ?   Y   Y
file              Y   Y   N   N   N     ?   Y   ?
all               A   A   A   A   A     ?   A   ?
user              Y   Y   Y   Y   Y     ?   Y   Y
face              Y   Y   Y   Y   Y     ?   Y   ?
"""

_PRIVATE_CHATS = """
                  NC  LL  LG  GC  fork  OB  SL  other
recall            Y   Y   Y   Y   Y     ?   Y   Y
edit              N   N   N   N   N     N   N   ?
poke_send         Y   Y   Y   N   Y     N   Y   ?
poke_receive      Y   Y   Y   Y   Y     ?   Y   ?
reaction_send     ?   N   N   N   N     N   ?   ?
reaction_receive  Y   Y   Y   N   N     N   Y   ?
profile_like      Y   Y   Y   N   N     N   Y   ?
quote             Y   Y   Y   Y   Y     ?   Y   Y
sticker           Y   Y   Y   Y   Y     Y   Y   Y
voice             Y   Y   Y   Y   Y     ?   Y   Y
file              Y   Y   N   N   N     ?   Y   ?
all               N   N   N   N   N     N   N   N
user              N   Y   Y   Y   Y     ?   Y   Y
face              Y   Y   Y   Y   Y     ?   Y   ?
"""

_TEMPORARY_SESSIONS = """
                  NC  LL  LG  GC  fork  OB  SL  other
recall            Y   Y   N   N   N     ?   Y   Y
quote             Y   Y   Y   N   N     ?   Y   Y
poke_send         Y   Y   Y   N   Y     N   Y   ?
reaction_send     ?   N   N   N   N     N   ?   ?
all               N   N   N   N   N     N   N   N
user              N   Y   Y   Y   Y     ?   Y   Y
"""


def _cells(place: Place, table: str) -> list[tuple[Place, str, str, State]]:
    head, *lines = table.strip().splitlines()
    rows = [line.split() for line in lines]
    return [
        (place, column, name, _STATES[mark])
        for name, *marks in rows
        for column, mark in zip(head.split(), marks, strict=True)
    ]


@pytest.mark.parametrize(
    ("place", "column", "name", "state"),
    [
        *_cells("group", _GROUPS),
        *_cells("private", _PRIVATE_CHATS),
        *_cells("temporary", _TEMPORARY_SESSIONS),
    ],
)
def test_an_implementation_can_do_what_is_stated(
    place: Place, column: str, name: str, state: State
) -> None:
    dialect = _COLUMNS[column]
    cell = dialect.tag(name, place) if name in TAGS else dialect.capability(name, place)
    assert cell.state == state
    assert cell.reason or state in ("yes", "admin")


@pytest.mark.parametrize("dialect", dialects.DIALECTS, ids=lambda dialect: dialect.name)
def test_a_dialect_has_a_cell_for_every_name_that_core_has(dialect: Dialect) -> None:
    assert set(dialect.capabilities) == set(CAPABILITIES)
    assert set(dialect.tags) == set(TAGS)
    assert {name for _, name in dialect.exceptions} <= {*CAPABILITIES, *TAGS}


@pytest.mark.parametrize("dialect", dialects.DIALECTS, ids=lambda dialect: dialect.name)
def test_what_can_be_done_has_an_action_and_what_can_not_has_none(dialect: Dialect) -> None:
    can = {name: dialect.capability(name).state == "yes" for name in CAPABILITIES}
    assert bool(dialect.group_poke) == can["poke_send"]
    assert bool(dialect.private_poke) == (dialect.capability("poke_send", "private").state == "yes")
    assert bool(dialect.reaction) == can["reaction_send"]
    assert bool(dialect.like_action) == can["profile_like"]
    assert dialect.recall == can["recall"]


@pytest.mark.parametrize(
    ("column", "group_poke", "private_poke", "reaction", "like"),
    [
        ("NC", "group_poke", "friend_poke", ("set_msg_emoji_like", "emoji_id", "set"), "send_like"),
        ("LL", "group_poke", "friend_poke", ("set_msg_emoji_like", "emoji_id", "set"), "send_like"),
        ("LG", "group_poke", "friend_poke", ("set_group_reaction", "code", "is_add"), "send_like"),
        ("GC", "segment", "", None, ""),
        ("fork", "segment", "segment", ("set_group_reaction", "emoji_id", "is_add"), ""),
        ("OB", "", "", None, ""),
        ("SL", "group_poke", "friend_poke", ("set_msg_emoji_like", "emoji_id", "set"), "send_like"),
        ("other", "", "", None, ""),
    ],
)
def test_gestures_go_out_by_the_implementations_own_actions(
    column: str,
    group_poke: str,
    private_poke: str,
    reaction: tuple[str, str, str] | None,
    like: str,
) -> None:
    dialect = _COLUMNS[column]
    assert (dialect.group_poke, dialect.private_poke) == (group_poke, private_poke)
    assert dialect.reaction == (dialects.Reaction(*reaction) if reaction else None)  # type: ignore[arg-type]
    assert dialect.like_action == like


@pytest.mark.parametrize(
    ("column", "group", "private", "parameter", "value", "sequence"),
    [
        ("NC", True, True, "message_seq", "message_id", True),
        ("LL", True, True, "message_seq", "sequence", True),
        ("LG", True, False, "message_id", "message_id", False),
        ("GC", True, False, "message_seq", "sequence", True),
        ("fork", True, False, "message_seq", "sequence", True),
        ("OB", False, False, "message_seq", "sequence", False),
        ("SL", True, True, "message_id", "message_id", True),
        ("other", False, False, "message_seq", "sequence", False),
    ],
)
def test_history_is_asked_for_where_there_is_one(
    column: str, group: bool, private: bool, parameter: str, value: str, sequence: bool
) -> None:
    dialect = _COLUMNS[column]
    assert dialect.group_history_action == ("get_group_msg_history" if group else "")
    assert dialect.private_history_action == ("get_friend_msg_history" if private else "")
    assert (dialect.history_parameter, dialect.history_value) == (parameter, value)
    assert dialect.tells_sequence == sequence


def test_every_action_of_a_dialect_has_a_builder_of_its_name() -> None:
    for dialect in dialects.DIALECTS:
        named: set[str] = {dialect.group_poke, dialect.private_poke, dialect.like_action}
        named |= {dialect.group_history_action, dialect.private_history_action}
        named |= {dialect.reaction.action} if dialect.reaction else set()
        for action in named - {"", "segment"}:
            assert callable(getattr(actions, action))


def test_market_faces_go_to_those_that_have_them() -> None:
    having = {column for column, dialect in _COLUMNS.items() if dialect.market_faces}
    assert having == {"NC", "LL", "LG", "SL"}


_REACTING = frozenset({"set_group_reaction"})


@pytest.mark.parametrize(
    ("app_name", "user_agent", "listed", "column"),
    [
        ("NapCat.Onebot", "OneBot/11", frozenset(), "NC"),
        ("napcat.onebot", "", frozenset(), "NC"),
        ("LLOneBot", "LLOneBot/8.1.7", frozenset(), "LL"),
        ("LAGRANGE.ONEBOT", "Lagrange.OneBot", frozenset(), "LG"),
        ("go-cqhttp", "CQHttp/4.15.0", frozenset(), "GC"),
        ("go-cqhttp", "CQHttp/4.15.0", frozenset({"delete_msg"}), "GC"),
        ("go-cqhttp", "CQHttp/4.15.0", _REACTING, "fork"),
        ("onebots", "OneBot/11", frozenset(), "OB"),
        ("SnowLuma", "OneBot/11", frozenset(), "SL"),
        (" SnowLuma\n", "OneBot/11", frozenset(), "SL"),
        ("", "LLOneBot/8.1.7", frozenset(), "LL"),
        ("", "lagrange.onebot", frozenset(), "LG"),
        ("", "CQHttp/4.15.0", frozenset(), "GC"),
        ("", "CQHttp/4.15.0", _REACTING, "fork"),
        ("", "OneBot/11", frozenset(), "other"),
        ("", "OneBot", frozenset(), "other"),
        ("", "", frozenset(), "other"),
        ("", "my LLOneBot/8", frozenset(), "other"),
        ("something new", "", frozenset(), "other"),
        # What named itself is believed, also where its User-Agent is somebody else's.
        ("something new", "LLOneBot/8.1.7", frozenset(), "other"),
        ("NapCat.Onebot", "LLOneBot/8.1.7", _REACTING, "NC"),
        ("something new", "", _REACTING, "other"),
    ],
)
def test_an_implementation_is_recognised(
    app_name: str, user_agent: str, listed: frozenset[str], column: str
) -> None:
    assert dialects.recognise(app_name, user_agent, listed) is _COLUMNS[column]


@pytest.mark.parametrize("app_name", ["something new", "NapCat.Onebot", "go-cqhttp"])
def test_what_lists_an_action_for_editing_can_edit(app_name: str) -> None:
    without = dialects.recognise(app_name, "", frozenset())
    able = dialects.recognise(app_name, "", frozenset({"edit_msg"}))
    assert able.capability("edit").state == "yes"
    assert able == replace(
        without, capabilities={**without.capabilities, "edit": able.capability("edit")}
    )


@pytest.mark.parametrize(
    ("version", "untrusted"),
    [
        ("4.8.95", False),
        ("v4.0.0", False),
        ("4", False),
        ("10.1", False),
        ("3.6.12", True),
        ("2.6.7-beta", True),
        ("0.0", True),
        ("", True),
        ("dev", True),
        ("4x", True),
        ("-4.1", True),
        ("99999999999.1", True),
    ],
)
def test_a_napcat_before_4_is_not_believed_to_have_recalled(version: str, untrusted: bool) -> None:
    assert dialects.NAPCAT.recall_untrusted(version) is untrusted
    for dialect in dialects.DIALECTS:
        assert dialect is dialects.NAPCAT or not dialect.recall_untrusted(version)
