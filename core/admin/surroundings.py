"""The last lines of chats, for whoever decides about what the bot wants to say next in them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils.translation import gettext as _

from core.admin import conversation
from core.models import InboundItem, OutboxEntry, SentMessage

LINES = 6
_LATEST = """
SELECT latest.id FROM unnest(%s::bigint[]) AS chosen(chat_id),
       LATERAL (SELECT id FROM {table} WHERE chat_id = chosen.chat_id
                 ORDER BY id DESC LIMIT %s) AS latest
"""


@dataclass(frozen=True, slots=True)
class Line:
    """What somebody said or did, or the bot; `state` is a send-state, of the bot's words alone."""

    at: datetime
    who: str
    said: str
    state: str = ""
    state_text: str = ""


def last_lines(chat_ids: Sequence[int]) -> Mapping[int, Sequence[Line]]:
    """The latest LINES lines of each of these chats, oldest first; four queries, however many."""
    found: defaultdict[int, list[Line]] = defaultdict(list)
    items = InboundItem.objects.filter(pk__in=_latest(InboundItem._meta.db_table, chat_ids))
    for item in items:
        who = item.sender_name or item.sender_id
        found[item.chat_id].append(Line(item.received_at, who, _said(item)))
    messages = SentMessage.objects.filter(pk__in=_latest(SentMessage._meta.db_table, chat_ids))
    for message in messages.select_related("entry").defer("entry__payload"):
        entry = message.entry
        # What waits is what is being decided about.
        if entry is not None and entry.state != OutboxEntry.State.PENDING:
            at = entry.settled_at or message.created_at
            state = entry.get_state_display()
            found[message.chat_id].append(
                Line(at, "", _own(message, entry), entry.state, str(state))
            )
    return {chat: sorted(lines, key=lambda line: line.at)[-LINES:] for chat, lines in found.items()}


def _own(message: SentMessage, entry: OutboxEntry) -> str:
    """What the bot said; a sticker has words only for where it can't be sent."""
    is_sticker = any(part["type"] == SentMessage.Kind.STICKER for part in entry.parts)
    return f"[{message.get_kind_display()}]" if is_sticker else entry.content


def _latest(table: str, chat_ids: Sequence[int]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_LATEST.format(table=table), [list(chat_ids), LINES])
        return [row[0] for row in cursor.fetchall()]


def _said(item: InboundItem) -> str:
    if item.recalled_at is not None:
        return _("(taken back)")
    match item.kind:
        case InboundItem.Kind.POKE:
            return _("(pokes %(whom)s)") % {"whom": item.target_id}
        case InboundItem.Kind.REACTION:
            return _("(reacts to a message)")
        case _:
            return conversation.words(item) or _("(no text)")
