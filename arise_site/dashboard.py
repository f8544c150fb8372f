"""The console's landing page: who is connected, which model serves, what waits, what failed.

Each figure is one query, however many rows there are; lists stop after a few.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import admin
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe

from arise_site import figures
from arise_site.charts import Chart, Series
from arise_site.figures import Within
from botgateway.admin import (
    connection_state,
    implementation_of,
    live,
    silence,
    with_open_connections,
)
from core.admin import display, reasons
from core.admin.outbox import HeldFilter
from core.models import Bot, Chat, DeliveryMode, ModelCallCount, OutboxEntry, SentMessage, Turn
from stickers import funnel
from stickers.admin.funnel_page import Cell
from stickers.models import Sticker

_SHOWN = 5
_SHOWN_BOTS = 12
_SHOWN_CHATS = 3
REFRESH_SECONDS = 5


@dataclass(frozen=True, slots=True)
class BotLine:
    """One bot on the landing page. Of one whose page the person does not reach there is no more than
    its name and how it stands: `url` is empty."""

    bot: Bot
    url: str
    state: SafeString
    silence: SafeString | str
    implementations: Sequence[str]
    nicknames: Sequence[str]
    muted: Sequence[Chat]
    more_muted: int
    muted_url: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A figure with the list behind it."""

    text: str
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class ServingModel:
    """Which model answers, and where."""

    is_demo: bool
    name: str
    host: str


@dataclass(frozen=True, slots=True)
class SpentLine:
    """What model calls of one purpose took today."""

    purpose: str
    calls: int
    tokens: int
    chats_at_the_end: int


def overview(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the theme's DASHBOARD_CALLBACK is: the index page's context."""
    return context | {
        "title": _("Overview"),
        "refresh_seconds": REFRESH_SECONDS,
        **shown(request),
    }


@require_safe
@conditional_page
@cache_control(private=True, no_cache=True)
def part(request: HttpRequest) -> HttpResponse:
    """What changes on the landing page, which asks for it again and again: 304 where nothing did."""
    return render(request, "admin/overview/live.html", shown(request))


def refreshed(request: HttpRequest) -> HttpResponse:
    """`part` for whoever may see the console."""
    answer: HttpResponse = admin.site.admin_view(part, cacheable=True)(request)
    return answer


def shown(request: HttpRequest) -> dict[str, Any]:
    """Everything there is to see, within the person's reach."""
    since = timezone.now() - figures.LATELY
    within = Within(request.user)
    bots = list(with_open_connections(within.seen_bots())[: _SHOWN_BOTS + 1])
    traffic, today = figures.traffic(within), figures.today(within)
    return {
        "model": serving_model(),
        "bots": _bot_lines(within, bots[:_SHOWN_BOTS]),
        "more_bots": len(bots) > _SHOWN_BOTS,
        "may_add_bots": admin.site.get_model_admin(Bot).has_add_permission(request),
        "is_limited": within.is_limited,
        "websocket_url": _websocket_url(request),
        "waiting": _waiting(within),
        "charts": _charts(traffic),
        "every_nth": traffic.nth if traffic.nth > 1 else 0,
        "spent": _spent(today),
        "funnel": _funnel(today.funnel),
        "latest_turns": list(
            within.turns.select_related("chat").defer("messages", "tools").order_by("-id")[:_SHOWN]
        ),
        "failed_turns": list(
            within.turns.select_related("chat")
            .defer("messages", "tools")
            .filter(state__in=figures.LOST, ended_at__gte=since)
            .order_by("-id")[:_SHOWN]
        ),
        "failed_entries": list(
            within.entries.select_related("chat", "message")
            .filter(state__in=figures.WENT_WRONG, settled_at__gte=since)
            .order_by("-settled_at", "-id")[:_SHOWN]
        ),
        "refusals": list(within.refusals.filter(last_at__gte=since).order_by("-last_at")[:_SHOWN]),
    }


def serving_model() -> ServingModel:
    """The model that serves bots without one of their own."""
    host = urlsplit(settings.ARISE_MODEL_BASE_URL).netloc.rpartition("@")[2] or "api.openai.com"
    return ServingModel(settings.ARISE_DEMO_MODEL, settings.ARISE_CHAT_MODEL, host)


def environment(request: HttpRequest) -> list[str] | None:
    """The theme's ENVIRONMENT label, on every page: that nobody takes the demo model for a model."""
    return [_("demo model"), "warning"] if settings.ARISE_DEMO_MODEL else None


def _bot_lines(within: Within, bots: Sequence[Bot]) -> list[BotLine]:
    muted = _muted(within, bots)
    reached = set(within.bots.values_list("pk", flat=True)) if within.is_limited else None
    return [
        _bot_line(bot, reached is None or bot.pk in reached, *muted.get(bot.pk, ((), 0)))
        for bot in bots
    ]


def _muted(within: Within, bots: Sequence[Bot]) -> dict[int, tuple[Sequence[Chat], int]]:
    """Some of the chats in which each bot may not speak now, and how many there are."""
    is_over = Q(silenced_until__lte=timezone.now())
    silenced = within.chats.filter(bot__in=bots).exclude(silence_reason="").exclude(is_over)
    counted: dict[int, int] = dict(
        silenced.order_by().values_list("bot").annotate(count=Count("pk"))
    )
    if not counted:
        return {}
    some = silenced.order_by("bot", "pk")[: 20 * _SHOWN_CHATS]
    named = {bot: list(chats)[:_SHOWN_CHATS] for bot, chats in groupby(some, lambda c: c.bot_id)}
    return {bot: (named.get(bot, ()), count) for bot, count in counted.items()}


def _bot_line(bot: Bot, is_reached: bool, muted: Sequence[Chat], count: int) -> BotLine:
    connections = live(bot) if is_reached else ()
    return BotLine(
        bot=bot,
        url=display.change_url(Bot, bot.pk) if is_reached else "",
        state=connection_state(bot),
        silence=silence(connections),
        implementations=list(dict.fromkeys(map(implementation_of, connections))),
        nicknames=list(dict.fromkeys(c.nickname for c in connections if c.nickname)),
        muted=muted,
        more_muted=count - len(muted),
        muted_url=display.list_url(Chat, bot__id__exact=bot.pk, silence_reason__isempty=0),
    )


def _charts(traffic: figures.Traffic) -> list[Chart]:
    hours = [hour.start for hour in traffic.hours]
    return [
        Chart(
            "messages",
            _("Messages an hour"),
            hours,
            (
                Series(_("in"), "one", [hour.received for hour in traffic.hours]),
                Series(_("out"), "two", [hour.sent for hour in traffic.hours]),
            ),
        ),
        Chart(
            "latency",
            _("Seconds until the first answer"),
            hours,
            (
                Series(_("95 of 100 within"), "two", [hour.latency.p95 for hour in traffic.hours]),
                Series(_("half within"), "one", [hour.latency.p50 for hour in traffic.hours]),
            ),
            digits=1,
            overlaid=True,
        ),
    ]


def _spent(today: figures.Today) -> list[SpentLine]:
    labels = dict(ModelCallCount.Purpose.choices)
    return [
        SpentLine(str(labels[line.purpose]), line.calls, line.tokens, line.chats_at_the_end)
        for line in today.spent
    ]


def _funnel(counted: Mapping[str, int]) -> list[tuple[str | Promise, Cell]]:
    """The stages that something reached today, in their order."""
    longest = max((counted.get(name, 0) for name in funnel.STAGES), default=0)
    return [
        (label, Cell(counted[name], round(100 * counted[name] / longest)))
        for name, label in funnel.STAGES.items()
        if counted.get(name)
    ]


def _waiting(within: Within) -> list[Waiting]:
    found = figures.backlog(within)
    unknown, changes = OutboxEntry.State.UNKNOWN.value, figures.CHANGES
    pending, sending = OutboxEntry.State.PENDING.value, OutboxEntry.State.SENDING.value
    of_ready = display.list_url(OutboxEntry, state__exact=pending, held=HeldFilter.NOTHING)
    of_sending = display.list_url(OutboxEntry, state__exact=sending)
    held = [
        Waiting(
            _("held: %(reason)s") % {"reason": reasons.in_brief(reason)},
            count,
            display.list_url(OutboxEntry, held=reason),
        )
        for reason, count in sorted(found.held.items())
    ]
    of_messages = display.list_url(SentMessage, entry__state__exact=unknown)
    of_changes = display.list_url(OutboxEntry, state__exact=unknown, action__in=",".join(changes))
    of_running = display.list_url(Turn, state__exact=Turn.State.RUNNING.value)
    of_stickers = display.list_url(Sticker, state__exact=Sticker.State.REVIEW.value)
    return [
        Waiting(_("chats to be judged"), found.due, display.list_url(Chat, turn_due_at__isempty=0)),
        Waiting(_("turns running"), found.running, of_running),
        Waiting(_("Outbox: pending"), found.ready, of_ready),
        Waiting(_("Outbox: sending"), found.sending, of_sending),
        *held,
        Waiting(_("waiting for review"), found.review, reverse("admin:core_outboxentry_review")),
        *_not_as_usual(found),
        Waiting(_("messages of unknown outcome"), found.unknown_messages, of_messages),
        Waiting(_("recalls and edits of unknown outcome"), found.unknown_changes, of_changes),
        Waiting(_("stickers to be reviewed"), found.stickers_in_review, of_stickers),
    ]


def _not_as_usual(found: figures.Backlog) -> list[Waiting]:
    """Paused bots and chats, and chats whose messages do not just go out, where there are any."""
    modes = {
        DeliveryMode.REVIEW: _("chats in review"),
        DeliveryMode.SHADOW: _("chats in shadow"),
    }
    lines = (
        Waiting(_("paused bots"), found.paused_bots, display.list_url(Bot, paused_at__isempty=0)),
        Waiting(
            _("paused chats"), found.paused_chats, display.list_url(Chat, paused_at__isempty=0)
        ),
        *(Waiting(text, found.modes.get(mode, 0), _of_mode(mode)) for mode, text in modes.items()),
    )
    return [line for line in lines if line.count]


def _of_mode(mode: DeliveryMode) -> str:
    return display.list_url(Chat, delivery_mode__exact=mode.value)


def _websocket_url(request: HttpRequest) -> str:
    scheme = "wss" if request.is_secure() else "ws"
    return f"{scheme}://{request.get_host()}/onebot/v11/ws"
