"""/metrics: the landing page's figures as Prometheus text, where the operator asked for it.

All are gauges: chats and people can be forgotten with their rows, so that no total only rises. Labels
name bots and known states, never chats or people.
"""

import ipaddress
import secrets
from collections.abc import Iterator

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from arise_site import figures
from arise_site.figures import Within
from botgateway.admin import live, with_open_connections
from core.models import OutboxEntry

_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")


@never_cache
@require_safe
def view(request: HttpRequest) -> HttpResponse:
    """404 unless switched on. With a token for whoever brings it, else for this machine alone."""
    if not settings.ARISE_METRICS:
        raise Http404
    if settings.ARISE_METRICS_TOKEN:
        if not _brings_token(request):
            answer = HttpResponse("A bearer token is needed.\n", "text/plain", status=401)
            answer["WWW-Authenticate"] = "Bearer"
            return answer
    elif not _is_from_here(request):
        return HttpResponse("Only for this machine: no token is set.\n", "text/plain", status=403)
    registry = CollectorRegistry()
    registry.register(Figures())
    return HttpResponse(generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4)


def _brings_token(request: HttpRequest) -> bool:
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.ARISE_METRICS_TOKEN.encode()
    return scheme.lower() == "bearer" and secrets.compare_digest(token.strip().encode(), expected)


def _is_from_here(request: HttpRequest) -> bool:
    """Not what a proxy on this machine passes on, which comes from here too."""
    if any(name in request.META for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


class Figures(Collector):
    """Reads the figures anew each time it is asked."""

    def collect(self) -> Iterator[Metric]:
        """Every metric that there is."""
        within = figures.everything()
        yield from _bots(within)
        yield from _backlog(within)
        yield from _failed(within)
        yield from _traffic(within)
        yield from _today(within)


def _bots(within: Within) -> Iterator[Metric]:
    connected = GaugeMetricFamily(
        "arise_bot_connected", "Whether a connection of the bot is open.", labels=["bot"]
    )
    since = GaugeMetricFamily(
        "arise_bot_connected_since_seconds",
        "Unix time since when the bot is connected; only of connected ones.",
        labels=["bot"],
        unit="seconds",
    )
    logged_out = GaugeMetricFamily(
        "arise_bot_logged_out", "Whether the platform has logged the account out.", labels=["bot"]
    )
    paused = GaugeMetricFamily("arise_bot_paused", "Whether it is paused.", labels=["bot"])
    for bot in with_open_connections(within.bots):
        connections, label = live(bot), [bot.self_id]
        connected.add_metric(label, bool(connections))
        is_offline = any(one.online is False for one in connections)
        logged_out.add_metric(label, bot.is_logged_out or is_offline)
        paused.add_metric(label, bot.paused_at is not None)
        if connections:
            since.add_metric(label, min(one.connected_at for one in connections).timestamp())
    yield from (connected, since, logged_out, paused)


def _backlog(within: Within) -> Iterator[Metric]:
    found = figures.backlog(within)
    yield _gauge("arise_chats_due", "Chats that are to be judged.", found.due)
    yield _gauge("arise_turns_running", "Turns under way.", found.running)
    outbox = GaugeMetricFamily(
        "arise_outbox_entries", "Open entries of the Outbox by state.", labels=["state"]
    )
    for state in (OutboxEntry.State.PENDING, OutboxEntry.State.SENDING, OutboxEntry.State.UNKNOWN):
        outbox.add_metric([state.value], getattr(found, state.value))
    yield outbox
    held = GaugeMetricFamily(
        "arise_outbox_held", "Pending entries that may not leave now, by reason.", labels=["reason"]
    )
    for reason, count in {**found.held, "review": found.review}.items():
        held.add_metric([reason], count)
    yield held
    yield _gauge("arise_chats_paused", "Paused chats.", found.paused_chats)
    yield _gauge(
        "arise_stickers_waiting", "Stickers that wait for review.", found.stickers_in_review
    )


def _failed(within: Within) -> Iterator[Metric]:
    found = figures.failed(within)
    turns = GaugeMetricFamily(
        "arise_turns_lost", "Turns that failed or were given up in 24 hours.", labels=["state"]
    )
    for state in figures.LOST:
        turns.add_metric([state.value], found.turns.get(state.value, 0))
    entries = GaugeMetricFamily(
        "arise_outbox_lost", "Entries that failed or are unknown since 24 hours.", labels=["state"]
    )
    for wrong in figures.WENT_WRONG:
        entries.add_metric([wrong.value], found.entries.get(wrong.value, 0))
    yield from (turns, entries)


def _traffic(within: Within) -> Iterator[Metric]:
    found = figures.traffic(within)
    messages = GaugeMetricFamily(
        "arise_messages_last_hour",
        "Messages and gestures that came in, and messages that went out, in sixty minutes.",
        labels=["direction"],
    )
    messages.add_metric(["in"], found.received)
    messages.add_metric(["out"], found.sent)
    yield messages
    latency = GaugeMetricFamily(
        "arise_answer_latency_seconds",
        "From what addressed the bot to its first message, of the turns of sixty minutes, without the time "
        "for which that was held.",
        labels=["quantile"],
        unit="seconds",
    )
    for quantile, seconds in (("0.5", found.latency.p50), ("0.95", found.latency.p95)):
        if seconds is not None:
            latency.add_metric([quantile], seconds)
    yield latency


def _today(within: Within) -> Iterator[Metric]:
    found = figures.today(within)
    calls = GaugeMetricFamily(
        "arise_model_calls_today", "Model calls granted today.", labels=["purpose"]
    )
    tokens = GaugeMetricFamily(
        "arise_model_tokens_today", "Tokens of today, both ways.", labels=["purpose"]
    )
    spent = GaugeMetricFamily(
        "arise_budgets_spent", "Chats whose budget of today is used up.", labels=["purpose"]
    )
    for line in found.spent:
        calls.add_metric([line.purpose], line.calls)
        tokens.add_metric([line.purpose], line.tokens)
        spent.add_metric([line.purpose], line.chats_at_the_end)
    yield from (calls, tokens, spent)
    stickers = GaugeMetricFamily(
        "arise_stickers_today", "Stickers that reached a stage today.", labels=["stage"]
    )
    for stage in figures.STAGES:
        stickers.add_metric([stage], found.funnel.get(stage, 0))
    yield stickers


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value)
