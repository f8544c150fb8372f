"""The door in: what a host received is stored once, and its chat becomes due.

Many items that arrive together are one transaction and a handful of statements.
"""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.conf import settings
from django.db import connection, transaction

from core import accumulation, evidence, members, news, standing
from core.database import database_now
from core.members import Seen
from core.messages import BotNews, News, PartType, Received, ReceivedItem
from core.models import Bot, Chat, InboundItem, OutboxEntry
from core.models.turns import Trigger

logger = logging.getLogger(__name__)
ChatKey = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class DueChat:
    """A chat whose due time was set or moved; `seconds` from now."""

    chat_id: int
    seconds: float


def receive(received: Sequence[Received]) -> list[DueChat]:
    """Store a batch in its order; return the chats that became due by it.

    What was stored before is dropped by its identity, what is said in a disabled chat is not
    stored. All or nothing: an exception means that nothing of the batch was stored. News of a chat
    is taken in at its place between the items: it tells of what was said before it.
    """
    due = []
    with transaction.atomic():
        chats = _lock_chats(received)
        for are_items, run in groupby(received, lambda one: isinstance(one, ReceivedItem)):
            ones = list(run)
            if are_items:
                due += _store([one for one in ones if isinstance(one, ReceivedItem)], chats)
            else:
                due += _hear([one for one in ones if not isinstance(one, ReceivedItem)], chats)
    return due


def _store(items: Sequence[ReceivedItem], chats: dict[ChatKey, Chat]) -> list[DueChat]:
    open_items = [
        item
        for item in items
        # Evidence counts also where the chat was switched off while a message was being sent.
        if not _is_echo(item, chats[_key(item)]) and chats[_key(item)].enabled
    ]
    fresh = _named(_claim_identities(open_items), chats)
    if not fresh:
        return []
    quotes = _quotes_of_the_bot(fresh, chats)
    rows = [_row(item, chats[_key(item)], quotes) for item in fresh]
    _tell_listeners(InboundItem.objects.bulk_create(rows))
    _see_members(fresh, chats)
    for chat in {chats[_key(item)] for item in fresh if not item.is_old}:
        standing.heard(chat)
    return _gather(fresh, chats, quotes)


Listener = Callable[[Sequence[InboundItem]], None]
_listeners: list[tuple[frozenset[PartType], Listener]] = []


def register_listener(*kinds: PartType) -> Callable[[Listener], Listener]:
    """Have a function told of items with parts of these kinds, right after they were stored, in
    their transaction. Their chats are locked; it touches the database alone, and briefly: people
    wait."""

    def register(listener: Listener) -> Listener:
        _listeners.append((frozenset(kinds), listener))
        return listener

    return register


def _tell_listeners(items: Sequence[InboundItem]) -> None:
    for kinds, listener in _listeners:
        told = [item for item in items if any(part["type"] in kinds for part in item.parts)]
        if not told:
            continue
        try:
            with transaction.atomic():
                listener(told)
        except Exception:  # what people said is stored, whatever is made of it
            logger.exception("%s failed over %s items", listener.__qualname__, len(told))


def _hear(told: Sequence[News], chats: dict[ChatKey, Chat]) -> list[DueChat]:
    """Take in news; a chat in which nobody spoke yet has nothing that most of it could change."""
    now = database_now()
    known = [(chats[_key(one)], one) for one in told if _key(one) in chats]
    return [DueChat(chat.pk, 0) for chat, one in known if news.apply(chat, one, now=now)]


def _key(one: Received) -> ChatKey:
    return (one.bot_id, one.chat.kind, one.chat.external_id.value)


def _lock_chats(received: Sequence[Received]) -> dict[ChatKey, Chat]:
    """The chats of a batch, locked in the order of their ids, made where they are new."""
    keys = {_key(one) for one in received}
    first = {_key(one): one for one in reversed(received) if _makes_chat(one)}
    found = _select_chats(keys)
    # Sorted, so that two processes that meet the same new chats make them in one order.
    missing = [first[key] for key in sorted(first.keys() - found.keys())]
    if missing:
        bots = Bot.objects.in_bulk({one.bot_id for one in missing})
        Chat.objects.bulk_create(
            [_new_chat(one, bots[one.bot_id]) for one in missing], ignore_conflicts=True
        )
        found = _select_chats(keys)
    for item in received:
        if isinstance(item, ReceivedItem):
            chat = found[_key(item)]
            chat.title = item.chat.title or chat.title
            chat.address = dict(item.chat.address) or chat.address
    return found


def _makes_chat(one: Received) -> bool:
    """What is said makes its chat known, and so does a mute: the first question may come in it."""
    return isinstance(one, ReceivedItem) or (isinstance(one, BotNews) and one.mutes)


def _select_chats(keys: Iterable[ChatKey]) -> dict[ChatKey, Chat]:
    bot_ids, kinds, external_ids = zip(*keys, strict=True)
    rows = (
        Chat.objects.select_for_update()
        .filter(bot_id__in=set(bot_ids), kind__in=set(kinds), external_id__in=set(external_ids))
        .order_by("pk")
    )
    wanted = set(zip(bot_ids, kinds, external_ids, strict=True))
    found = {(row.bot_id, row.kind, row.external_id): row for row in rows}
    return {key: row for key, row in found.items() if key in wanted}


def _new_chat(one: Received, bot: Bot) -> Chat:
    return Chat(
        bot=bot,
        kind=one.chat.kind,
        external_id=one.chat.external_id.value,
        external_id_is_number=one.chat.external_id.is_number,
        title=one.chat.title,
        address=dict(one.chat.address),
        enabled=bot.enables_new(one.chat.kind),
    )


def _is_echo(item: ReceivedItem, chat: Chat) -> bool:
    """The platform's echo of what the Outbox sent is evidence, not something that was said."""
    if not item.from_self:
        return False
    kinds = [part.type for part in item.parts]
    return evidence.take_echo(chat, message_id=item.message_id, text=item.text, kinds=kinds)


def _claim_identities(items: Sequence[ReceivedItem]) -> list[ReceivedItem]:
    """Those items that nobody stored before, in their order."""
    if not items:
        return []
    first: dict[bytes, ReceivedItem] = {}
    for item in items:
        first.setdefault(item.identity(), item)
    with connection.cursor() as cursor:
        # Sorted, so that two processes with the same items take the keys in one order.
        cursor.execute(
            """
            INSERT INTO core_inboundkey (key, created_at)
            SELECT key, now() FROM unnest(%s::bytea[]) AS key
            ON CONFLICT DO NOTHING RETURNING key
            """,
            [sorted(first)],
        )
        new = {bytes(row[0]) for row in cursor.fetchall()}
    return [item for identity, item in first.items() if identity in new]


def _named(items: Sequence[ReceivedItem], chats: dict[ChatKey, Chat]) -> list[ReceivedItem]:
    """Items with the names of their senders; frames of pokes and reactions tell ids alone. Who spoke
    before in the batch is called as he was then."""
    people = [(chats[_key(item)].pk, item.sender_id) for item in items]
    nameless = [who for who, item in zip(people, items, strict=True) if not item.sender_name]
    known = members.names(nameless)
    named = []
    for who, item in zip(people, items, strict=True):
        if item.sender_name:
            known[who] = item.sender_name
            named.append(item)
        else:
            named.append(replace(item, sender_name=known.get(who, "")))
    return named


def _quotes_of_the_bot(
    items: Iterable[ReceivedItem], chats: dict[ChatKey, Chat]
) -> set[tuple[int, str]]:
    """(chat, message id) of those quoted messages that are the bot's own words."""
    quoted = {(chats[_key(item)].pk, item.reply_to) for item in items if item.reply_to}
    if not quoted:
        return set()
    rows = OutboxEntry.objects.filter(
        chat_id__in={chat_id for chat_id, _ in quoted},
        platform_message_id__in={message_id for _, message_id in quoted},
    ).values_list("chat_id", "platform_message_id")
    return set(rows) & quoted


def _trigger(item: ReceivedItem, chat: Chat, quotes: set[tuple[int, str]]) -> str:
    """How an item addresses the bot; empty where it does not."""
    if item.kind == "poke" and item.is_at_bot:
        return Trigger.POKE
    if item.from_self or item.kind != "message":
        return ""
    if item.mentions_bot:
        return Trigger.MENTION
    if (chat.pk, item.reply_to) in quotes:
        return Trigger.QUOTE
    return Trigger.PRIVATE if chat.kind == Chat.Kind.PRIVATE else ""


def _row(item: ReceivedItem, chat: Chat, quotes: set[tuple[int, str]]) -> InboundItem:
    return InboundItem(
        bot_id=item.bot_id,
        chat=chat,
        kind=item.kind,
        platform_message_id=item.message_id.value if item.message_id else "",
        platform_message_id_is_number=item.message_id.is_number if item.message_id else True,
        platform_sequence=item.sequence,
        sender_id=item.sender_id,
        sender_name=item.sender_name,
        sender_role=item.sender_role,
        text=item.text,
        parts=[part.as_json() for part in item.parts],
        mentions=item.mentions,
        mentions_bot=item.mentions_bot,
        reply_to=item.reply_to,
        target_id=item.target_id,
        emoji=list(item.emoji),
        removed=item.removed,
        from_self=item.from_self,
        trigger=_trigger(item, chat, quotes),
        is_old=item.is_old,
        sent_at=item.sent_at,
        received_at=item.received_at,
    )


def _see_members(items: Iterable[ReceivedItem], chats: dict[ChatKey, Chat]) -> None:
    def seen(item: ReceivedItem) -> Seen:
        chat = chats[_key(item)]
        name, role = item.sender_name, item.sender_role
        return Seen(chat.pk, item.sender_id, name, role, item.received_at)

    others = [item for item in items if not item.from_self]
    members.keep(seen(item) for item in others if not item.is_old)
    if any(item.is_old for item in others):
        members.keep_unknown(seen(item) for item in others if item.is_old)


def _gather(
    items: Sequence[ReceivedItem], chats: dict[ChatKey, Chat], quotes: set[tuple[int, str]]
) -> list[DueChat]:
    """Move the chats' due times and counts; one statement for all of them."""
    now = database_now()
    waits = accumulation.Waits(
        debounce=settings.ARISE_DEBOUNCE_SECONDS,
        debounce_max=settings.ARISE_DEBOUNCE_MAX_SECONDS,
        ambient=settings.ARISE_AMBIENT_SECONDS,
    )
    touched: dict[int, Chat] = {}
    due: dict[int, DueChat] = {}
    for item in items:
        chat = touched.setdefault(chats[_key(item)].pk, chats[_key(item)])
        before = accumulation.Gathering(
            chat.turn_due_at, chat.addressed_at, tuple(chat.addressed_by)
        )
        after = accumulation.extend(
            before,
            sender_id=item.sender_id,
            addresses_bot=bool(_trigger(item, chat, quotes)) and not item.is_old,
            now=now,
            waits=waits,
        )
        chat.messages += 1
        chat.last_message_at = item.received_at
        if after != before and after.due_at is not None:
            chat.turn_due_at = after.due_at
            chat.addressed_at = after.addressed_at
            chat.addressed_by = list(after.addressed_by)
            chat.hinted_at = None
            due[chat.pk] = DueChat(chat.pk, max(0.0, (after.due_at - now).total_seconds()))
    _save_chats(list(touched.values()))
    return list(due.values())


SAVE_CHATS = """
UPDATE core_chat AS chat
   SET title = new.title, address = new.address, messages = new.messages,
       last_message_at = new.last_message_at, turn_due_at = new.turn_due_at,
       addressed_at = new.addressed_at, hinted_at = new.hinted_at,
       addressed_by = ARRAY(SELECT jsonb_array_elements_text(new.addressed_by))
  FROM unnest(%s::bigint[], %s::text[], %s::jsonb[], %s::bigint[], %s::timestamptz[],
              %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::jsonb[])
       AS new(id, title, address, messages, last_message_at, turn_due_at, addressed_at,
              hinted_at, addressed_by)
 WHERE chat.id = new.id
"""


def _save_chats(chats: Sequence[Chat]) -> None:
    """The rows are locked since they were read. Written by hand: `bulk_update` spends more time on
    its CASE expressions than all the rest of a batch takes."""
    with connection.cursor() as cursor:
        cursor.execute(
            SAVE_CHATS,
            [
                [chat.pk for chat in chats],
                [chat.title for chat in chats],
                [json.dumps(chat.address) for chat in chats],
                [chat.messages for chat in chats],
                [chat.last_message_at for chat in chats],
                [chat.turn_due_at for chat in chats],
                [chat.addressed_at for chat in chats],
                [chat.hinted_at for chat in chats],
                [json.dumps(chat.addressed_by) for chat in chats],
            ],
        )
