"""The last lines of chats, for whoever decides about what the bot wants to say next in them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from core.admin import conversation, mentions
from core.admin.mentions import Names
from core.models import InboundItem, OutboxEntry, SentMessage

LINES = 6
_LONGEST = 300
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
    said: SafeString | str
    state: str = ""
    state_text: str = ""


def last_lines(chat_ids: Sequence[int]) -> Mapping[int, Sequence[Line]]:
    """The latest LINES lines of each of these chats, oldest first; six queries at most."""
    found: defaultdict[int, list[Line]] = defaultdict(list)
    items = list(InboundItem.objects.filter(pk__in=_latest(InboundItem._meta.db_table, chat_ids)))
    messages = SentMessage.objects.filter(pk__in=_latest(SentMessage._meta.db_table, chat_ids))
    own = list(messages.select_related("entry").defer("entry__payload"))
    names = mentions.known([*items, *(message.entry for message in own if message.entry)])
    for item in items:
        who = item.sender_name or item.sender_id
        found[item.chat_id].append(Line(item.received_at, who, _said(item, names)))
    for message in own:
        entry = message.entry
        # What waits is what is being decided about.
        if entry is not None and entry.state != OutboxEntry.State.PENDING:
            at = entry.settled_at or message.created_at
            state = entry.get_state_display()
            found[message.chat_id].append(
                Line(at, "", _own(message, entry, names), entry.state, str(state))
            )
    return {chat: sorted(lines, key=lambda line: line.at)[-LINES:] for chat, lines in found.items()}


def _own(message: SentMessage, entry: OutboxEntry, names: Names) -> SafeString | str:
    """What the bot said; a sticker has words only for where it can't be sent."""
    if entry.is_forgotten:
        return _("(forgotten)")
    is_sticker = any(part["type"] == SentMessage.Kind.STICKER for part in entry.parts)
    if is_sticker:
        return f"[{message.get_kind_display()}]"
    return conversation.in_line(conversation.own_pieces(entry, names), _LONGEST)


def _latest(table: str, chat_ids: Sequence[int]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_LATEST.format(table=table), [list(chat_ids), LINES])
        return [row[0] for row in cursor.fetchall()]


def _said(item: InboundItem, names: Names) -> SafeString | str:
    if item.recalled_at is not None:
        return _("(taken back)")
    match item.kind:
        case InboundItem.Kind.POKE:
            return format_html(_("(pokes {})"), conversation.whom_of(item, names))
        case InboundItem.Kind.REACTION:
            return _("(reacts to a message)")
        case _:
            pieces = conversation.pieces_of(item, names)
            return conversation.in_line(pieces, _LONGEST) or _("(no text)")
