"""Who is on the other side: asked after the handshake, never before (it must be quick)."""

from typing import Any

from botgateway import actions, bookkeeping, database, platforms
from botgateway.connections import LiveConnection
from botgateway.dialects import DEFAULT, GOCQHTTP, recognise
from core import standing
from core.text import clean_text

ANSWER_SECONDS = 10.0
TELL_THEIR_ACTIONS = (GOCQHTTP, DEFAULT)
"""Those of which a list of actions is asked: a fork of go-cqhttp can more than the original."""


async def introduce(connection: LiveConnection) -> None:
    """Learn and keep which implementation this is, and so what it can do."""
    login = await connection.calls.data(actions.get_login_info(), seconds=ANSWER_SECONDS)
    version = await connection.calls.data(actions.get_version_info(), seconds=ANSWER_SECONDS)
    login, version = (told if isinstance(told, dict) else {} for told in (login, version))
    app_name, app_version = (
        clean_text(str(version.get(name) or ""))[:100] for name in ("app_name", "app_version")
    )
    if app_name or not connection.version:
        names: frozenset[str] = frozenset()
        dialect = recognise(app_name, connection.user_agent, names)
        if dialect in TELL_THEIR_ACTIONS:
            told = await connection.calls.data(
                actions.get_supported_actions(), seconds=ANSWER_SECONDS
            )
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
    await _learn_login(connection)


async def _learn_login(connection: LiveConnection) -> None:
    """Whether the account is logged in: a bot that was logged out before may be back, or not."""
    status = await connection.calls.data(actions.get_status(), seconds=ANSWER_SECONDS)
    online = status.get("online") if isinstance(status, dict) else None
    if isinstance(online, bool) and connection.online is None:
        await database.run(standing.keep_login, connection.bot_id, is_logged_out=not online)


MOST_ACTIONS = 1000


def _is_list(told: Any) -> bool:
    return isinstance(told, list) and len(told) <= MOST_ACTIONS
