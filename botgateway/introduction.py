"""Who is on the other side: asked after the handshake, never before (it must be quick)."""

from typing import Any

from botgateway import actions, bookkeeping, database, platforms
from botgateway.actions import Call
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection
from botgateway.dialects import DEFAULT, GOCQHTTP, recognise
from botgateway.fields import WireId
from core import chatroles
from core.text import clean_text

ANSWER_SECONDS = 10.0
TELL_THEIR_ACTIONS = (GOCQHTTP, DEFAULT)
"""Those of which a list of actions is asked: a fork of go-cqhttp can more than the original."""


async def introduce(connection: LiveConnection) -> None:
    """Learn and keep which implementation this is, and so what it can do."""
    login = await _data(connection, actions.get_login_info())
    version = await _data(connection, actions.get_version_info())
    login, version = (told if isinstance(told, dict) else {} for told in (login, version))
    app_name, app_version = (
        clean_text(str(version.get(name) or ""))[:100] for name in ("app_name", "app_version")
    )
    if app_name or not connection.version:
        names: frozenset[str] = frozenset()
        dialect = recognise(app_name, connection.user_agent, names)
        if dialect in TELL_THEIR_ACTIONS:
            told = await _data(connection, actions.get_supported_actions())
            names = frozenset(str(name)[:100] for name in told) if _is_list(told) else names
        connection.dialect = recognise(app_name, connection.user_agent, names)
        connection.version = app_version
        await database.run(
            platforms.keep,
            connection.bot_id,
            connection.number,
            app_name=app_name,
            app_version=app_version,
            user_agent=connection.user_agent,
            actions=sorted(names)[:MOST_ACTIONS],
        )
    nickname = clean_text(str(login.get("nickname") or ""))[:200]
    await database.run(bookkeeping.introduced, connection.number, nickname, app_name, app_version)


MOST_ACTIONS = 1000


def _is_list(told: Any) -> bool:
    return isinstance(told, list) and len(told) <= MOST_ACTIONS


async def _data(connection: LiveConnection, call: Call) -> Any:
    try:
        response = await connection.calls.call(call, seconds=ANSWER_SECONDS)
    except (NotWritten, NoAnswer):
        return None
    return response.data if response.ok else None


async def learn_role(connection: LiveConnection, group_id: WireId) -> None:
    """Ask, once a connection, which role the bot has in a group: what it may do hangs on it.

    The answer may be faster than the group's first message is stored; then the next message asks.
    """
    if group_id.value in connection.roles_asked or not connection.is_sender:
        return
    connection.roles_asked.add(group_id.value)
    self_id = connection.event_self_id or connection.self_id
    user_id = int(self_id) if self_id.isdecimal() else self_id
    member = await _data(connection, actions.get_group_member_info(group_id.wire(), user_id))
    role = member.get("role") if isinstance(member, dict) else None
    if isinstance(role, str):
        known = await database.run(chatroles.keep, connection.bot_id, group_id.value, role)
        if not known:
            connection.roles_asked.discard(group_id.value)
