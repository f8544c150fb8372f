"""A chat as it went: what people said and did, the bot's own words, and what was decided about them.

A page of it costs a fixed number of queries, all by indexes that begin with the chat. It goes back by
the keys of its lines, one for each of the tables that it is made of.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.admin import display, holding, mentions, previews, reasons
from core.admin.mentions import Names
from core.models import Chat, Decision, InboundItem, ItemMedia, OutboxEntry, SentMessage

MOST = 50
_MOST_REACTIONS = 300
_PAUSE = timedelta(minutes=30)
_LONGEST_KEY = 18
_NAMED: Mapping[str, str | Promise] = {
    "image": gettext_lazy("picture"),
    "sticker": gettext_lazy("sticker"),
    "voice": gettext_lazy("voice message"),
    "video": gettext_lazy("video"),
    "file": gettext_lazy("file"),
    "forward": gettext_lazy("forwarded messages"),
}
Row = InboundItem | SentMessage | OutboxEntry


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of what somebody said: words, or the name of something with its picture's address. Of
    somebody's name `account` is whose it is."""

    text: str
    is_words: bool = False
    picture_url: str = ""
    account: str = ""


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji under a message; the bot's own one has its entry."""

    emoji: str
    who: str
    entry: OutboxEntry | None = None


@dataclass(frozen=True, slots=True)
class Quoted:
    """What a line answers; `key` of its line where that is on the page."""

    key: str
    excerpt: SafeString | str


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of the items up to a line: a decision in words, or none yet."""

    decision: Decision | None
    said: str | Promise = ""
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line. Exactly one of `item`, `message` (with its `entry`) and `gesture` is set. `whom` is whom
    a poke or a like is for, `preview` what a message shows that is no words (core.admin.previews)."""

    key: str
    at: datetime
    item: InboundItem | None = None
    message: SentMessage | None = None
    gesture: OutboxEntry | None = None
    pieces: Sequence[Piece] = ()
    whom: SafeString | str = ""
    quoted: Quoted | None = None
    reactions: Sequence[Reaction] = ()
    judged: Judged | None = None
    held: str = ""
    preview: str = ""
    begins_day: bool = False
    after_pause: bool = False
    after_gap: bool = False

    @property
    def entry(self) -> OutboxEntry | None:
        """Where the bot's own words or gesture stand."""
        return self.message.entry if self.message else self.gesture


@dataclass(frozen=True, slots=True)
class Cursor:
    """The keys that a page goes back from, exclusive."""

    item: int
    message: int
    gesture: int

    def __str__(self) -> str:
        return f"{self.item}-{self.message}-{self.gesture}"


_END = Cursor(10**18 - 1, 10**18 - 1, 10**18 - 1)


@dataclass(frozen=True, slots=True)
class Page:
    """Lines, oldest first; `earlier` is where the page before it begins, None at the beginning."""

    lines: Sequence[Line]
    earlier: Cursor | None


def cursor(text: str) -> Cursor | None:
    """A cursor as an address has it; None for what is none."""
    keys = text.split("-")
    if len(keys) != 3 or not all(_is_key(key) for key in keys):
        return None
    return Cursor(*map(int, keys))


def page(chat: Chat, before: Cursor | None = None) -> Page:
    """The last MOST lines of a chat before a cursor."""
    start = before or _END
    rows = list(islice(_latest_first(chat, start), MOST + 1))
    shown = rows[:MOST][::-1]
    earlier = _cursor_of(shown, start) if len(rows) > MOST else None
    return Page(_laid_out(chat, shown, is_newest=before is None), earlier)


def of_items(chat: Chat, items: Sequence[InboundItem]) -> Sequence[Line]:
    """Some items of a chat, without what came of them; three queries at most."""
    pictures, names = _pictures(chat, items), mentions.known(items)
    return [_line(item, pictures, {}, names) for item in items]


_VERSION = """
WITH items AS (
    SELECT id, recalled_at, turn_id FROM core_inbounditem
     WHERE chat_id = %(chat)s ORDER BY id DESC LIMIT %(most)s
), messages AS (
    SELECT id, edits, entry_id FROM core_sentmessage
     WHERE chat_id = %(chat)s ORDER BY id DESC LIMIT %(most)s
), gestures AS (
    SELECT id FROM core_outboxentry
     WHERE chat_id = %(chat)s AND message_id IS NULL ORDER BY id DESC LIMIT %(most)s
), entries AS (
    SELECT id, state, held, reason, settled_at, recalled_at, content FROM core_outboxentry
     WHERE id IN (SELECT entry_id FROM messages UNION ALL SELECT id FROM gestures)
)
SELECT md5(concat_ws('|',
    (SELECT string_agg(concat_ws(',', id, recalled_at, turn_id), ';' ORDER BY id) FROM items),
    (SELECT string_agg(concat_ws(',', id, edits, entry_id), ';' ORDER BY id) FROM messages),
    (SELECT string_agg(concat_ws(',', id, state, held, reason, settled_at, recalled_at, md5(content)),
                       ';' ORDER BY id) FROM entries),
    (SELECT concat_ws(',', count(*), count(*) FILTER (WHERE view <> '')) FROM core_itemmedia
      WHERE item_id IN (SELECT id FROM items)),
    (SELECT last_item_id FROM core_decision
      WHERE chat_id = %(chat)s ORDER BY last_item_id DESC LIMIT 1),
    (SELECT concat_ws(',', id, state) FROM core_turn
      WHERE chat_id = %(chat)s ORDER BY id DESC LIMIT 1),
    (SELECT concat_ws(',', chat.judged_item_id, chat.turn_due_at, chat.gap_after, chat.enabled,
                      chat.delivery_mode, chat.paused_at, chat.silence_reason, chat.silenced_until,
                      bot.enabled, bot.paused_at, bot.is_logged_out)
       FROM core_chat chat JOIN core_bot bot ON bot.id = chat.bot_id WHERE chat.id = %(chat)s)
))
"""


def version(chat: Chat) -> str:
    """A digest that changes with whatever the newest page shows; one query by indexes."""
    with connection.cursor() as database:
        database.execute(_VERSION, {"chat": chat.pk, "most": MOST})
        found: str = database.fetchone()[0]
    return found


def _latest_first(chat: Chat, start: Cursor) -> Iterable[Row]:
    items = InboundItem.objects.filter(chat=chat, pk__lt=start.item).order_by("-pk")
    messages = SentMessage.objects.filter(chat=chat, pk__lt=start.message).order_by("-pk")
    messages = messages.select_related("entry").defer("entry__payload")
    gestures = OutboxEntry.objects.filter(chat=chat, message=None, pk__lt=start.gesture)
    gestures = gestures.order_by("-pk")
    # Each table in the order of its keys, whatever its times say: nothing is left out or shown twice.
    tables: tuple[Iterable[Row], ...] = (
        items[: MOST + 1],
        messages[: MOST + 1],
        gestures[: MOST + 1],
    )
    return heapq.merge(*tables, key=_at, reverse=True)


def _at(row: Row) -> datetime:
    return row.received_at if isinstance(row, InboundItem) else row.created_at


def _cursor_of(rows: Sequence[Row], start: Cursor) -> Cursor:
    """The oldest key of each table among rows; where a table has none, that from which they went back."""

    def oldest(kind: type[Row], otherwise: int) -> int:
        return min((row.pk for row in rows if isinstance(row, kind)), default=otherwise)

    return Cursor(
        oldest(InboundItem, start.item),
        oldest(SentMessage, start.message),
        oldest(OutboxEntry, start.gesture),
    )


def _laid_out(chat: Chat, rows: Sequence[Row], *, is_newest: bool) -> Sequence[Line]:
    items = [row for row in rows if isinstance(row, InboundItem)]
    pictures = _pictures(chat, items)
    own = [row.entry for row in rows if isinstance(row, SentMessage) and row.entry]
    shown_as = previews.of(own)
    gestures = [row for row in rows if isinstance(row, OutboxEntry)]
    names = mentions.known([*items, *own, *gestures])
    holding.give([*own, *gestures])
    lines = [_line(row, pictures, shown_as, names) for row in rows]
    places = _by_message_id(lines)
    under = _reactions(chat, list(places))
    judged = _judged(chat, items)
    shown = []
    for line in lines:
        if _target(line) in places:
            continue  # a reaction: it stands under its message
        shown.append(
            replace(
                line,
                quoted=_quoted(line, places),
                reactions=under.get(_message_id(line), ()),
                judged=judged.get(line.key),
            )
        )
    left = {line.key for line in shown}
    folded = [judged[line.key] for line in lines if line.key in judged and line.key not in left]
    if folded and shown and shown[-1].judged is None:
        shown[-1] = replace(shown[-1], judged=folded[-1])
    return _separated(chat, shown, is_newest=is_newest)


def _line(
    row: Row,
    pictures: Mapping[tuple[int, int], str],
    shown_as: Mapping[int, str],
    names: Names,
) -> Line:
    match row:
        case InboundItem():
            pieces = pieces_of(row, names, pictures)
            whom = whom_of(row, names)
            return Line(f"i{row.pk}", row.received_at, item=row, pieces=pieces, whom=whom)
        case SentMessage():
            return Line(
                f"m{row.pk}",
                row.created_at,
                message=row,
                pieces=own_pieces(row.entry, names) if row.entry else (),
                held=_held(row.entry),
                preview=shown_as.get(row.entry_id or 0, ""),
            )
        case _:
            pieces = [Piece(told)] if (told := _own_emoji(row)) else []
            whom, held = whom_of(row, names), _held(row)
            key = f"e{row.pk}"
            return Line(key, row.created_at, gesture=row, pieces=pieces, whom=whom, held=held)


def pieces_of(
    item: InboundItem, names: Names, pictures: Mapping[tuple[int, int], str] | None = None
) -> Sequence[Piece]:
    """What somebody said, part by part; without `pictures` these have their names alone."""
    return [
        _piece(part, item.chat_id, names, (pictures or {}).get((item.pk, index), ""))
        for index, part in enumerate(item.parts)
    ]


def own_pieces(entry: OutboxEntry, names: Names) -> Sequence[Piece]:
    """What the bot says, with the names of whom it mentions; else as the model wrote it."""
    if any(part.get("type") == "mention" for part in entry.parts):
        parts = [part for part in entry.parts if part.get("type") != "reply"]
        return [_piece(part, entry.chat_id, names) for part in parts]
    return [Piece(entry.content, is_words=True)] if entry.content else []


def whom_of(row: InboundItem | OutboxEntry, names: Names) -> SafeString | str:
    """Whom a poke or a like is for, by name; empty for all else."""
    account = mentions.whom(row)
    return display.coded(display.name(mentions.name(names, row.chat_id, account)), account)


def in_line(pieces: Iterable[Piece], most: int = 80) -> SafeString:
    """The beginning of what was said, on one line: words, and the names of what else there is."""
    shown: list[tuple[SafeString | str]] = []
    left = most
    for piece in pieces:
        text = piece.text if piece.is_words else f"[{piece.text}]"
        cut = text if len(text) <= left else text[: max(0, left - 1)] + "…"
        shown.append((display.coded(cut, piece.account) or cut,))
        left -= len(text)
        if left < 0:
            break
    return (
        format_html("<bdi>{}</bdi>", format_html_join("", "{}", shown)) if shown else SafeString()
    )


def _held(entry: OutboxEntry | None) -> str:
    """Why it waits, or why it ended as it did, in words."""
    if entry is None:
        return ""
    is_waiting = entry.state == OutboxEntry.State.PENDING
    return holding.reason(entry) if is_waiting else reasons.told_of_entry(entry.reason)


def _piece(part: Mapping[str, Any], chat_id: int, names: Names, picture_url: str = "") -> Piece:
    kind, data = str(part.get("type")), part.get("data") or {}
    match kind:
        case "text":
            return Piece(str(data.get("text", "")), is_words=True)
        case "mention":
            account = str(data.get("id", ""))
            name = data.get("name") or mentions.name(names, chat_id, account)
            return Piece(f"@{name}", is_words=True, account=account)
        case "face":
            return Piece(emoji_of(str(data.get("id", ""))))
        case "image" | "sticker":
            return Piece(str(_NAMED[kind]), picture_url=picture_url)
        case _:
            named = str(_NAMED.get(kind, _("something else")))
            told = str(data.get("name") or "")
            return Piece(display.titled(named, told) if told else named)


def _pictures(chat: Chat, items: Sequence[InboundItem]) -> Mapping[tuple[int, int], str]:
    """The addresses of the pictures that are kept of items, of none that was taken back."""
    keys = [item.pk for item in items if item.recalled_at is None]
    rows = ItemMedia.objects.filter(item__in=keys).exclude(view="")
    return {
        (item, index): reverse("admin:core_chat_picture", args=[chat.pk, item, index])
        for item, index in rows.values_list("item", "index")
    }


def _message_id(line: Line) -> str:
    """The platform's id of what a line shows; empty where it has none."""
    if line.item is not None:
        return line.item.platform_message_id
    return line.message.entry.platform_message_id if line.message and line.message.entry else ""


def _by_message_id(lines: Sequence[Line]) -> dict[str, Line]:
    return {found: line for line in lines if (found := _message_id(line))}


def _target(line: Line) -> str:
    """Which message a reaction is under; empty for all other lines."""
    if line.item is not None and line.item.kind == InboundItem.Kind.REACTION:
        return line.item.target_id
    if line.gesture is not None and line.gesture.action == OutboxEntry.Action.REACTION:
        return line.gesture.subject
    return ""


def _reactions(chat: Chat, message_ids: Sequence[str]) -> Mapping[str, Sequence[Reaction]]:
    """What stands under messages now: one that was taken back does not."""
    found: defaultdict[str, dict[tuple[str, str], Reaction]] = defaultdict(dict)
    items = InboundItem.objects.filter(
        chat=chat, kind=InboundItem.Kind.REACTION, target_id__in=message_ids
    )
    for item in items.order_by("pk")[:_MOST_REACTIONS]:
        for emoji in item.emoji:
            place = (item.sender_id, emoji)
            found[item.target_id].pop(place, None)
            if not item.removed:
                who = item.sender_name or item.sender_id
                found[item.target_id][place] = Reaction(emoji_of(emoji), who)
    own = OutboxEntry.objects.filter(
        bot=chat.bot_id, chat=chat, action=OutboxEntry.Action.REACTION, subject__in=message_ids
    ).exclude(subject="")
    for entry in own.order_by("pk")[:_MOST_REACTIONS]:
        found[entry.subject][("", str(entry.pk))] = Reaction(_own_emoji(entry), "", entry)
    return {place: list(under.values()) for place, under in found.items()}


def _own_emoji(entry: OutboxEntry) -> str:
    told = [part["data"].get("emoji") for part in entry.parts]
    return emoji_of(str(told[0])) if told and told[0] else ""


def emoji_of(code: str) -> str:
    """A decimal code point as its character, the platform's own face by its number."""
    number = int(code[:7]) if code.isdecimal() else 0
    # Any number may be told: a surrogate can't be sent to a browser, an override turns lines round.
    if 1000 <= number < 0x110000 and chr(number).isprintable():
        return chr(number)
    return _("face %(number)s") % {"number": code}


def _quoted(line: Line, places: Mapping[str, Line]) -> Quoted | None:
    wanted = line.item.reply_to if line.item else _own_quote(line)
    if not wanted:
        return None
    found = places.get(wanted)
    return Quoted(found.key, in_line(found.pieces)) if found else Quoted("", "")


def _own_quote(line: Line) -> str:
    parts = line.message.entry.parts if line.message and line.message.entry else ()
    quotes = [part["data"].get("id") for part in parts if part.get("type") == "reply"]
    return str(quotes[0] or "") if quotes else ""


def _judged(chat: Chat, items: Sequence[InboundItem]) -> Mapping[str, Judged]:
    """What was decided, under the last item of each decision that is on the page."""
    if not items:
        return {}
    keys = sorted(item.pk for item in items)
    covering = Q(last_item_id__gte=keys[0], first_item_id__lte=keys[-1])
    decisions = Decision.objects.filter(covering, chat=chat).order_by("last_item_id")
    found: dict[str, Judged] = {}
    for decision in decisions[: 2 * MOST]:
        covered = [pk for pk in keys if decision.first_item_id <= pk <= decision.last_item_id]
        if covered:
            said = "" if decision.turn_id else reasons.told(decision.reason).said
            found[f"i{covered[-1]}"] = Judged(decision, said)
    if keys[-1] > chat.judged_item_id:
        found[f"i{keys[-1]}"] = Judged(None, due_at=chat.turn_due_at)
    return found


def _separated(chat: Chat, lines: Sequence[Line], *, is_newest: bool) -> Sequence[Line]:
    """With the days, the pauses, and the gap of which words may be missing."""
    shown = []
    before: datetime | None = None
    gap_told = chat.gap_after is None
    for line in lines:
        day = timezone.localtime(line.at).date()
        begins = before is None or timezone.localtime(before).date() != day
        pause = before is not None and not begins and line.at - before >= _PAUSE
        gap = not gap_told and _is_beyond(line, chat.gap_after or 0)
        gap_told = gap_told or gap
        shown.append(replace(line, begins_day=begins, after_pause=pause, after_gap=gap))
        before = line.at
    return shown


def _is_beyond(line: Line, sequence: int) -> bool:
    told = line.item.platform_sequence if line.item else ""
    return _is_key(told) and int(told) > sequence


def _is_key(text: Any) -> bool:
    return isinstance(text, str) and text.isdecimal() and len(text) <= _LONGEST_KEY
