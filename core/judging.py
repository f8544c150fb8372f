"""Judging what a chat gathered: one decision row, and the turn that it asks for."""

from datetime import datetime

from django.db.models import Max, Min

from core import budgets, capabilities, context, gating, outcomes, showing
from core.gating import Verdict
from core.models import Chat, Decision, InboundItem, Turn
from core.tools import registry

MOST_ADDRESSED = 200


def judge(chat: Chat, *, now: datetime) -> Turn | None:
    """Ask the gate about what was gathered and write its decision; the turn, where it says answer.

    Runs in a transaction that holds the chat's row. A turn's first model call is reserved here,
    so that a turn that may not be paid is never begun.
    """
    chat.addressed_at = None
    chat.addressed_by = []
    gathered = InboundItem.objects.filter(chat=chat, pk__gt=chat.judged_item_id)
    span = gathered.aggregate(first=Min("pk"), last=Max("pk"))
    turn = None
    if span["last"] is not None:
        told = gathered.only(*context.TOLD, "trigger", "is_old")
        latest = list(told.order_by("-pk")[: context.NEW_ITEMS])[::-1]
        verdict = _verdict(chat, latest, now)
        if verdict.verdict == gating.ANSWER:
            turn = _new_turn(chat, verdict.reason, latest, first=span["first"], now=now)
            gathered.filter(pk__lte=span["last"]).update(turn=turn)
        Decision.objects.create(
            chat=chat,
            verdict=verdict.verdict,
            reason=verdict.reason,
            first_item_id=span["first"],
            last_item_id=span["last"],
            turn=turn,
        )
        chat.judged_item_id = span["last"]
    chat.save(update_fields=["judged_item_id", "addressed_at", "addressed_by"])
    return turn


def _verdict(chat: Chat, latest: list[InboundItem], now: datetime) -> Verdict:
    items = latest
    if len(latest) == context.NEW_ITEMS:
        # A chat may have gathered for days while no worker ran: what is loaded is bounded.
        gathered = InboundItem.objects.filter(chat=chat, pk__gt=chat.judged_item_id)
        items = [*gathered.exclude(trigger="").order_by("pk")[:MOST_ADDRESSED], *latest]
    verdict = gating.decide(items)
    if verdict.verdict == gating.ANSWER and (refused := budgets.reserve(chat, now=now)):
        return Verdict(gating.SKIP, refused)
    return verdict


def _new_turn(
    chat: Chat, trigger: str, items: list[InboundItem], *, first: int, now: datetime
) -> Turn:
    untold = outcomes.untold(chat)
    turn = Turn.objects.create(
        chat=chat,
        trigger=trigger,
        model=showing.model_of(chat),
        first_item_id=first,
        last_item_id=items[-1].pk,
        messages=context.assemble(chat, items, outcomes=outcomes.lines(untold), now=now),
        tools=registry.schemas(offered(chat)),
        runs=1,
        started_at=now,
    )
    outcomes.mark_told(untold)
    return turn


def offered(chat: Chat) -> list[registry.Tool]:
    """The tools that a chat has now."""
    return registry.offered(chat, capabilities.in_chat(chat))


def allowed(chat: Chat, turn: Turn) -> dict[str, registry.Tool | None]:
    """The tools that a turn was given, by name; None for one that the chat has no more."""
    now = {tool.name: tool for tool in offered(chat)}
    return {name: now.get(name) for name in (tool["function"]["name"] for tool in turn.tools)}
