"""Why a chat's bot said nothing: what stands in its way now, and what came of the last occasions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core import budgets, standing
from core.admin import display, reasons
from core.models import Chat, Decision, DeliveryMode, OutboxEntry, Turn

_SHOWN = 4
_LOOKED_THROUGH = 30
_QUIET = (Turn.State.SILENT, Turn.State.FAILED, Turn.State.ABANDONED)


@dataclass(frozen=True, slots=True)
class Silence:
    """Once that nothing was said, or (without `at`) what holds the bot back now."""

    said: str | Promise
    advice: str | Promise
    url: str = ""
    link: str = ""
    at: datetime | None = None
    words: str = ""
    """What the model, or its endpoint, said itself."""


def now(chat: Chat) -> Sequence[Silence]:
    """What stands in the bot's way in a chat at this moment; one query."""
    return [_obstacle(chat, code) for code in _codes(chat)]


def lately(chat: Chat) -> Sequence[Silence]:
    """The last occasions on which nothing was said, newest first; two queries, both bounded."""
    decisions = Decision.objects.filter(chat=chat).order_by("-last_item_id")[:_LOOKED_THROUGH]
    turns = Turn.objects.filter(chat=chat).defer("messages", "tools").order_by("-pk")
    found = [
        *(_skipped(one) for one in decisions if one.verdict == Decision.Verdict.SKIP),
        *(_quiet(turn) for turn in turns[:_LOOKED_THROUGH] if _said_nothing(turn)),
    ]
    return sorted(found, key=lambda one: one.at or timezone.now(), reverse=True)[:_SHOWN]


def _codes(chat: Chat) -> Iterator[str]:
    if not chat.bot.enabled:
        yield budgets.BOT_DISABLED
    if not chat.enabled:
        yield budgets.CHAT_DISABLED
    if held := standing.silence(chat, now=timezone.now()):
        yield held
    if chat.delivery_mode != DeliveryMode.LIVE:
        yield chat.delivery_mode
    if budgets.is_spent(chat, purpose=budgets.Purpose.CHAT):
        yield budgets.BUDGET_SPENT


def _obstacle(chat: Chat, code: str) -> Silence:
    reason = reasons.told(code)
    url, link = "", ""
    if code in (budgets.BOT_DISABLED, standing.PAUSED, standing.LOGGED_OUT):
        url, link = display.page_of(chat.bot), _("the bot")
    elif code == standing.REVIEW:
        url, link = display.list_url(OutboxEntry, chat=chat.pk, held=code), _("what waits")
    return Silence(reason.said, reason.advice, url, link)


def _skipped(decision: Decision) -> Silence:
    reason = reasons.told(decision.reason)
    return Silence(
        reason.said, reason.advice, display.page_of(decision), _("decision"), decision.created_at
    )


def _said_nothing(turn: Turn) -> bool:
    return turn.state in _QUIET and not turn.sends


def _quiet(turn: Turn) -> Silence:
    url, link = display.page_of(turn), _("turn #%(number)d") % {"number": turn.pk}
    at = turn.ended_at or turn.started_at
    if turn.state == Turn.State.SILENT:
        said = _("The model was asked, and chose to say nothing.")
        return Silence(said, "", url, link, at, turn.silence_reason)
    reason = reasons.told(turn.error)
    return Silence(reason.said, reason.advice, url, link, at, turn.error_detail)
