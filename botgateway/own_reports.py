"""Connections that do not tell of what the bot itself says, and how that is switched on.

Such reports are the surest evidence of a send that got no answer. The settings' names are those of
the implementations' own configuration.
"""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from botgateway.dialects import GOCQHTTP, LAGRANGE, LLONEBOT, NAPCAT, recognise
from botgateway.models import Connection


def silent(connections: Iterable[Connection]) -> Connection | None:
    """Of the live connections of a bot, one that carries events and does not tell of the bot's own
    messages; None where another one does, or nobody knows yet."""
    known = [connection for connection in connections if connection.reports_own is not None]
    return None if any(one.reports_own for one in known) else next(iter(known), None)


def setting(connection: Connection) -> str:
    """What switches the reports on in its implementation; empty where nobody wrote that down."""
    known = {
        NAPCAT.name: _("reportSelfMessage (上报自身消息) in NapCat's WebSocket client settings"),
        LLONEBOT.name: _("reportSelfMessage (上报自身消息) in LLOneBot's WebSocket settings"),
        GOCQHTTP.name: _("report-self-message in go-cqhttp's config.yml"),
        LAGRANGE.name: _("IgnoreSelf: false under Message in Lagrange's appsettings.json"),
    }
    dialect = recognise(connection.implementation, connection.user_agent, frozenset())
    return known.get(dialect.name, "")


def advice(connection: Connection) -> str:
    """What to do about it, and what for, in one sentence."""
    switch = setting(connection) or _(
        "its reports of the bot's own messages (NapCat, LLOneBot: reportSelfMessage; go-cqhttp:"
        " report-self-message)"
    )
    told = _("Switch on %(setting)s: without it a message that got no answer may stay unknown.")
    return told % {"setting": switch}
