"""Gaps in what is stored of a group: what its own sequence says was said and nobody stored.

While a connection lives, what it tells is stored in order; a gap begins where one ended. It is owed
from the moment the next connection is up (`Chat.gap_after`) until what the history had of it is
stored, over any number of connections and crashes between.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from core.messages import PlatformId
from core.models import Chat

RECENT_DAYS = 2
MOST_CHATS = 50


@dataclass(frozen=True, slots=True)
class Gap:
    """A group of which words with sequences above `after` may be missing; `stored` are those that
    are not."""

    chat_id: int
    group_id: PlatformId
    after: int
    stored: frozenset[int]


# Locked in the order of ids, as the door in locks them.
OPEN = """
WITH recent AS (
    SELECT id FROM core_chat
     WHERE bot_id = %(bot)s AND kind = 'group' AND enabled AND gap_after IS NULL
       AND last_message_at >= now() - make_interval(days => %(days)s)
     ORDER BY last_message_at DESC LIMIT %(most)s
), locked AS (
    SELECT chat.id FROM core_chat chat JOIN recent USING (id)
     ORDER BY chat.id FOR NO KEY UPDATE OF chat
), newest AS (
    SELECT locked.id, (
        SELECT max(item.platform_sequence::bigint)
          FROM (SELECT platform_sequence FROM core_inbounditem
                 WHERE chat_id = locked.id ORDER BY id DESC LIMIT 100) item
         WHERE item.platform_sequence ~ '^[0-9]{1,18}$') AS sequence
      FROM locked
)
UPDATE core_chat SET gap_after = newest.sequence
  FROM newest WHERE core_chat.id = newest.id AND newest.sequence IS NOT NULL
"""


def begin(bot_id: int) -> None:
    """A connection of the bot is up, and nothing that it tells is stored yet: from here on, what was
    said since the last stored words is owed in each group where somebody spoke lately and whose
    platform tells sequences. What was said before anything was stored is no gap."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN, {"bot": bot_id, "days": RECENT_DAYS, "most": MOST_CHATS})


def owed(bot_id: int) -> list[Gap]:
    """The bot's groups with a gap, those of the newest words first."""
    chats = Chat.objects.filter(bot=bot_id, enabled=True, gap_after__isnull=False)
    return [_gap(chat) for chat in chats.order_by("-last_message_at")[:MOST_CHATS]]


def _gap(chat: Chat) -> Gap:
    assert chat.gap_after is not None  # noqa: S101 - asked for
    stored = _stored(chat.pk, chat.gap_after)
    group_id = PlatformId(chat.external_id, chat.external_id_is_number)
    return Gap(chat.pk, group_id, chat.gap_after, frozenset(stored))


def close(gap: Gap, found: Collection[int]) -> bool:
    """The whole of a gap was fetched: it is filled once all that was `found` is stored. False where
    something is not stored yet."""
    if not set(found) <= _stored(gap.chat_id, gap.after):
        return False
    Chat.objects.filter(pk=gap.chat_id, gap_after=gap.after).update(gap_after=None)
    return True


def _stored(chat_id: int, after: int) -> set[int]:
    """The sequences above one that are stored of a chat."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT platform_sequence::bigint FROM core_inbounditem
             WHERE chat_id = %s AND platform_sequence ~ '^[0-9]{1,18}$'
               AND platform_sequence::bigint > %s
             ORDER BY id DESC LIMIT 5000
            """,
            [chat_id, after],
        )
        return {row[0] for row in cursor.fetchall()}
