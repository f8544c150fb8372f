"""The console's landing page: who is connected, which model serves, what waits, what failed.

Each figure is one query, however many rows there are; lists stop after a few.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Count, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from botgateway.admin import (
    RefusedConnectionAdmin,
    connection_state,
    implementation_of,
    live,
    silence,
    with_open_connections,
)
from botgateway.models import RefusedConnection
from core import reach
from core.admin import display, review
from core.models import Bot, Chat, OutboxEntry, SentMessage, Turn
from core.reach import Person
from stickers.admin.gallery import StickerAdmin
from stickers.models import Sticker

_SHOWN = 5
_SHOWN_BOTS = 12
LATELY = timedelta(hours=24)
_OPEN = (OutboxEntry.State.PENDING, OutboxEntry.State.SENDING, OutboxEntry.State.UNKNOWN)
_CHANGES = (OutboxEntry.Action.RECALL, OutboxEntry.Action.EDIT)
_WENT_WRONG = (OutboxEntry.State.FAILED, OutboxEntry.State.UNKNOWN)


@dataclass(frozen=True, slots=True)
class BotLine:
    """One bot on the landing page."""

    bot: Bot
    url: str
    state: SafeString
    silence: SafeString | str
    implementations: Sequence[str]
    nicknames: Sequence[str]


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


class Within:
    """The rows that a person reaches."""

    def __init__(self, person: Person) -> None:
        self.bots = reach.narrowed(Bot.objects.all(), reach.to_bot("pk"), person)
        self.chats = reach.narrowed(Chat.objects.all(), reach.to_chat("pk"), person)
        self.turns = reach.narrowed(Turn.objects.all(), reach.to_chat(), person)
        self.entries = reach.narrowed(OutboxEntry.objects.all(), reach.to_chat(), person)
        refusals = RefusedConnection.objects.all()
        self.refusals = reach.narrowed(refusals, RefusedConnectionAdmin.belongs, person)
        self.stickers = reach.narrowed(Sticker.objects.all(), StickerAdmin.belongs, person)


def overview(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the theme's DASHBOARD_CALLBACK is: the index page's context."""
    since = timezone.now() - LATELY
    within = Within(request.user)
    bots = list(with_open_connections(within.bots)[: _SHOWN_BOTS + 1])
    return context | {
        "title": _("Overview"),
        "model": serving_model(),
        "bots": [_bot_line(bot) for bot in bots[:_SHOWN_BOTS]],
        "more_bots": len(bots) > _SHOWN_BOTS,
        "websocket_url": _websocket_url(request),
        "waiting": _waiting(within),
        "latest_turns": list(
            within.turns.select_related("chat").defer("messages", "tools").order_by("-id")[:_SHOWN]
        ),
        "failed_turns": list(
            within.turns.select_related("chat")
            .defer("messages", "tools")
            .filter(state__in=(Turn.State.FAILED, Turn.State.ABANDONED), ended_at__gte=since)
            .order_by("-id")[:_SHOWN]
        ),
        "failed_entries": list(
            within.entries.select_related("chat", "message")
            .filter(state__in=_WENT_WRONG, settled_at__gte=since)
            .order_by("-id")[:_SHOWN]
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


def _bot_line(bot: Bot) -> BotLine:
    connections = live(bot)
    return BotLine(
        bot=bot,
        url=display.change_url(Bot, bot.pk),
        state=connection_state(bot),
        silence=silence(connections),
        implementations=list(dict.fromkeys(map(implementation_of, connections))),
        nicknames=list(dict.fromkeys(c.nickname for c in connections if c.nickname)),
    )


def _waiting(within: Within) -> list[Waiting]:
    due = within.chats.filter(turn_due_at__isnull=False).count()
    running = within.turns.filter(state=Turn.State.RUNNING).count()
    return [
        Waiting(_("chats to be judged"), due, display.list_url(Chat, turn_due_at__isempty=0)),
        Waiting(
            _("turns running"),
            running,
            display.list_url(Turn, state__exact=Turn.State.RUNNING.value),
        ),
        *_outbox(within),
        Waiting(
            _("stickers to be reviewed"),
            within.stickers.filter(state=Sticker.State.REVIEW).count(),
            display.list_url(Sticker, state__exact=Sticker.State.REVIEW.value),
        ),
    ]


def _outbox(within: Within) -> list[Waiting]:
    state = OutboxEntry.State
    held = review.waiting(within.entries).count()
    unknown, changes = state.UNKNOWN.value, [action.value for action in _CHANGES]
    counted: dict[str, int] = within.entries.filter(state__in=_OPEN).aggregate(
        pending=Count("pk", filter=Q(state=state.PENDING)),
        sending=Count("pk", filter=Q(state=state.SENDING)),
        messages=Count("pk", filter=Q(state=unknown, action=OutboxEntry.Action.SEND)),
        changes=Count("pk", filter=Q(state=unknown, action__in=changes)),
    )
    lines = [
        Waiting(
            _("Outbox: %(state)s") % {"state": known.label},
            counted[known.value],
            display.list_url(OutboxEntry, state__exact=known.value),
        )
        for known in (state.PENDING, state.SENDING)
    ]
    of_messages = display.list_url(SentMessage, entry__state__exact=unknown)
    of_changes = display.list_url(OutboxEntry, state__exact=unknown, action__in=",".join(changes))
    return [
        *lines,
        Waiting(_("waiting for review"), held, reverse("admin:core_outboxentry_review")),
        *_paused(within),
        Waiting(_("messages of unknown outcome"), counted["messages"], of_messages),
        Waiting(_("recalls and edits of unknown outcome"), counted["changes"], of_changes),
    ]


def _paused(within: Within) -> list[Waiting]:
    """Paused bots and chats, where there are any."""
    bots = within.bots.filter(paused_at__isnull=False).count()
    chats = within.chats.filter(paused_at__isnull=False).count()
    lines = (
        Waiting(_("paused bots"), bots, display.list_url(Bot, paused_at__isempty=0)),
        Waiting(_("paused chats"), chats, display.list_url(Chat, paused_at__isempty=0)),
    )
    return [line for line in lines if line.count]


def _websocket_url(request: HttpRequest) -> str:
    scheme = "wss" if request.is_secure() else "ws"
    return f"{scheme}://{request.get_host()}/onebot/v11/ws"
