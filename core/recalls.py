"""What the platform says was recalled: the bot's own words, somebody's item, or the question itself.

Runs with the chat's row locked (core.inbound), so that no step is committed meanwhile.
"""

import logging
from datetime import datetime

from django.db.models import Q

from core import evidence, journal, sending
from core.database import ClockTimestamp
from core.leases import Held
from core.messages import Recalled
from core.models import Chat, Decision, InboundItem, OutboxEntry, Turn

logger = logging.getLogger(__name__)
QUESTION_RECALLED = "question_recalled"


def apply(chat: Chat, recalled: Recalled, *, now: datetime) -> bool:
    """Take in one recall; returns whether the chat became due by it.

    The bot's own message is recalled in the Sent Log. Somebody's item is hidden from later
    contexts; where it was the question of an answer that is not out yet, that answer is taken
    back, and the rest of what was asked is judged anew.
    """
    # News of what still waits for its answer, and was echoed: it was sent.
    sending.mark_echoed(Q(chat=chat, platform_message_id=recalled.message_id.value))
    own = evidence.is_own_word(chat, recalled.message_id.value)
    if own is not None:
        sending.recalled_on_platform(own, by_bot=recalled.by_bot)
        return False
    items = InboundItem.objects.filter(chat=chat, kind=InboundItem.Kind.MESSAGE)
    named = items.filter(platform_message_id=recalled.message_id.value, recalled_at=None)
    item = named.select_related("turn").order_by("-pk").first()
    if item is None:
        return False
    items.filter(pk=item.pk).update(recalled_at=recalled.received_at)
    if not item.trigger or item.turn is None:
        return False
    return _take_back_answer(chat, item.turn, now)


def _take_back_answer(chat: Chat, turn: Turn, now: datetime) -> bool:
    waiting = OutboxEntry.objects.filter(
        turn=turn,
        state=OutboxEntry.State.PENDING,
        action__in=(OutboxEntry.Action.SEND, *OutboxEntry.GESTURES),
        waits_for=None,
    )
    discarded = waiting.update(
        state=OutboxEntry.State.DISCARDED, reason=QUESTION_RECALLED, settled_at=ClockTimestamp()
    )
    is_running = turn.state == Turn.State.RUNNING
    if is_running:
        _break_off(chat, turn, now)
    elif not discarded:
        return False  # the answer is out
    logger.info("turn %s: its question was recalled, %d entries with it", turn.pk, discarded)
    return judge_anew(chat, turn, now)


def _break_off(chat: Chat, turn: Turn, now: datetime) -> None:
    """End a running turn: whichever worker runs it finds that its lease is no longer its own."""
    chat.lease_token += 1
    chat.save(update_fields=["lease_token"])
    state = Turn.State.DONE if turn.sends or turn.gestures else Turn.State.SILENT
    detail = "Somebody recalled the message that it was to answer."
    turn.chat = chat
    journal.end(Held(chat, now), turn, state, error=QUESTION_RECALLED, detail=detail)


def judge_anew(chat: Chat, turn: Turn, now: datetime) -> bool:
    """Gather again what a turn that was broken off was to answer, where something in it still
    addresses the bot; returns whether it does."""
    items = InboundItem.objects.filter(turn=turn, recalled_at=None, is_old=False)
    senders = list(items.exclude(trigger="").values_list("sender_id", flat=True))
    if not senders or Turn.objects.filter(chat=chat, pk__gt=turn.pk).exists():
        return False
    # One decision covers an item: those since the turn's own are taken back with it.
    Decision.objects.filter(chat=chat, first_item_id__gte=turn.first_item_id).delete()
    chat.judged_item_id = turn.first_item_id - 1
    chat.addressed_at = now
    chat.addressed_by = list(dict.fromkeys(senders))
    chat.turn_due_at = now
    chat.hinted_at = None
    chat.save(
        update_fields=[
            "judged_item_id", "addressed_at", "addressed_by", "turn_due_at", "hinted_at",
        ]
    )  # fmt: skip
    return True
