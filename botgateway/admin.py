"""The gateway's part of the console: connections, refusals, and how each bot is connected."""

import re
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from botgateway import bookkeeping, own_reports
from botgateway.models import Connection, RefusedConnection
from botgateway.playground.pages import PlaygroundAdmin
from core import reach
from core.admin import display, holding
from core.admin.bots import BotAdmin
from core.admin.facts import FactAdmin
from core.admin.pausing import delivery
from core.models import Bot
from core.reach import Reach, Rule

_CONNECTED = display.moment("connected_at", gettext_lazy("connected"))
_LAST_FRAME = display.moment("last_frame_at", gettext_lazy("last frame"))
_CLOSED = display.moment("closed_at", gettext_lazy("closed"))
_FIRST = display.moment("first_at", gettext_lazy("first"))
_LAST = display.moment("last_at", gettext_lazy("last"))
_CODE = r"^closed by the other side \((\d+)\)$"
_WHY_CLOSED = {
    bookkeeping.REPLACED: gettext_lazy("replaced by a newer connection"),
    bookkeeping.BOT_DISABLED: gettext_lazy("the bot was disabled"),
    bookkeeping.BOT_GONE: gettext_lazy("the bot was removed"),
    bookkeeping.ABANDONED: gettext_lazy("its process ended"),
    bookkeeping.SILENT: gettext_lazy("nothing heard for too long"),
    bookkeeping.UNANSWERING: gettext_lazy("no answer to get_status"),
}
"""Why a connection ended, as it is stored and told to the other side, in words for people."""


def with_open_connections(bots: QuerySet[Bot]) -> QuerySet[Bot]:
    """Bots with their open connections, newest first, as `open_connections`: one more query."""
    open_ones = Connection.objects.live().order_by("-id")
    return bots.prefetch_related(Prefetch("connections", open_ones, to_attr="open_connections"))


def live(bot: Bot) -> Sequence[Connection]:
    """The live connections of a bot loaded as above: of each role the newest open one."""
    newest: dict[str, Connection] = {}
    for connection in getattr(bot, "open_connections", ()):
        newest.setdefault(connection.role, connection)
    return list(newest.values())


@holding.register_connected
def connected(bot_ids: Collection[int]) -> Collection[int]:
    """Those of some bots that have a live connection which takes actions; one query."""
    open_ones = Connection.objects.live().filter(bot__in=bot_ids)
    return set(open_ones.exclude(role=Connection.Role.EVENT).values_list("bot", flat=True))


def implementation_of(connection: Connection) -> str:
    """What is at the other end, as it names itself."""
    return " ".join(filter(None, (connection.implementation, connection.version))) or _("unnamed")


@admin.display(description=gettext_lazy("connection"))
def connection_state(bot: Bot) -> SafeString:
    """Whether and since when it is connected, and whether the account is logged in."""
    connections = live(bot)
    if not connections:
        # A playground's page is closed most of the time.
        is_missed = bot.enabled and not bot.is_playground
        return display.label(_("not connected"), "warn" if is_missed else "")
    if any(connection.online is False for connection in connections):
        return display.label(_("connected, account logged out"), "bad")
    since = min(connection.connected_at for connection in connections)
    return display.label(_("connected for %(time)s") % {"time": timesince(since)}, "good")


def silence(connections: Sequence[Connection]) -> SafeString | str:
    """A warning where a bot's live connections do not tell of its own messages; else nothing."""
    silent = own_reports.silent(connections)
    if silent is None:
        return ""
    label = display.label(_("own messages not reported"), "warn")
    return format_html("{} {}", label, own_reports.advice(silent))


admin.site.unregister(Bot)


@admin.register(Bot)
class ConnectedBotAdmin(BotAdmin, PlaygroundAdmin):
    """Core's page of bots, which knows nothing of sockets, with how each is connected."""

    list_display = (
        "self_id",
        "shown_name",
        "enabled",
        delivery,
        "connection",
        "implementation",
        "chat_model",
        "chat_total",
    )
    readonly_fields = (*BotAdmin.readonly_fields, "connections")
    fieldsets: ClassVar[Any] = (
        *BotAdmin.fieldsets,
        (gettext_lazy("Connection"), {"fields": ("connections",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bot]:
        return with_open_connections(super().get_queryset(request))

    @admin.display(description=gettext_lazy("connection"))
    def connection(self, bot: Bot) -> SafeString:
        return connection_state(bot)

    @admin.display(description=gettext_lazy("implementation"))
    def implementation(self, bot: Bot) -> SafeString:
        return display.name(display.listed(dict.fromkeys(map(implementation_of, live(bot)))))

    @admin.display(description=gettext_lazy("connections"))
    def connections(self, bot: Bot) -> SafeString:
        if bot._state.adding:
            return display.label(_("not connected"))
        open_ones = live(bot)
        lines: list[tuple[SafeString | str]] = [(_line(one),) for one in open_ones]
        lines.append((silence(open_ones),))
        lines.append((display.link(display.list_url(Connection, bot__id__exact=bot.pk), _("all")),))
        return format_html_join("", "<div>{}</div>", [(connection_state(bot),), *lines])


def _line(connection: Connection) -> SafeString:
    parts = (
        connection.get_role_display(),
        implementation_of(connection),
        connection.nickname,
        _("from %(address)s") % {"address": connection.remote_address or "–"},
        _("since %(time)s")
        % {"time": timezone.localtime(connection.connected_at).strftime("%Y-%m-%d %H:%M:%S")},
    )
    return display.link(
        display.change_url(Connection, connection.pk), " · ".join(filter(None, parts))
    )


@admin.register(Connection)
class ConnectionAdmin(FactAdmin[Connection]):
    belongs = reach.to_bot()
    list_display = (
        _CONNECTED,
        "bot",
        "role",
        "state",
        "named",
        "online",
        "own_messages",
        "remote_address",
        _LAST_FRAME,
        _CLOSED,
        "why_closed",
    )
    list_display_links = (_CONNECTED,)
    list_select_related = ("bot",)
    list_filter = (("closed_at", admin.EmptyFieldListFilter), "bot", "role", "connected_at")
    search_fields = (
        "bot__self_id",
        "bot__name",
        "implementation",
        "remote_address",
        "close_reason",
    )
    readonly_fields = ("state", "named", "own_messages", "why_closed")
    exclude = ("implementation", "version", "reports_own", "close_reason")

    @admin.display(description=gettext_lazy("state"))
    def state(self, connection: Connection) -> SafeString:
        if connection.closed_at is not None:
            return display.label(_("closed"))
        if not connection.is_kept:
            return display.label(_("abandoned"), "warn")
        return display.label(_("open"), "good")

    @admin.display(description=gettext_lazy("implementation"))
    def named(self, connection: Connection) -> SafeString:
        return display.name(implementation_of(connection))

    @admin.display(description=gettext_lazy("why closed"), ordering="close_reason")
    def why_closed(self, connection: Connection) -> SafeString | str:
        reason = connection.close_reason
        if code := re.search(_CODE, reason):
            return _("closed by the other side (%(code)s)") % {"code": code[1]}
        return display.coded(_WHY_CLOSED.get(reason, reason), reason)

    @admin.display(description=gettext_lazy("own messages"), ordering="reports_own")
    def own_messages(self, connection: Connection) -> SafeString | str:
        """Whether its events tell of what the bot says; what to do, while it is open."""
        if connection.reports_own is None:
            return "–"
        if connection.reports_own:
            return display.label(_("reported"), "good")
        if connection.closed_at is not None:
            return display.label(_("not reported"))
        label = display.label(_("not reported"), "warn")
        return format_html("{} {}", label, own_reports.advice(connection))


def _refusals(rows: QuerySet[RefusedConnection], within: Reach) -> QuerySet[RefusedConnection]:
    """Those that named an account of a bot within reach."""
    return rows.filter(self_id__in=Bot.objects.filter(pk__in=within.bots).values("self_id"))


@admin.register(RefusedConnection)
class RefusedConnectionAdmin(FactAdmin[RefusedConnection]):
    belongs = Rule(_refusals)
    list_display = (
        _LAST,
        "shown_self_id",
        "reason",
        "attempts",
        "remote_address",
        _FIRST,
        "shown_agent",
    )
    list_display_links = (_LAST,)
    list_filter = ("reason", "last_at")
    search_fields = ("self_id", "remote_address", "user_agent")
    ordering = ("-last_at", "-id")

    @admin.display(description=gettext_lazy("account"), ordering="self_id")
    def shown_self_id(self, refusal: RefusedConnection) -> SafeString:
        return display.name(refusal.self_id or "–")

    @admin.display(description=gettext_lazy("user agent"))
    def shown_agent(self, refusal: RefusedConnection) -> SafeString:
        return display.excerpt(refusal.user_agent, 40)
