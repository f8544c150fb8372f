"""What a look at Postgres once a second finds: chats that are due, entries that nobody settles.

It needs neither broker nor beat, so that whatever those lose is found again.
"""

from django.db import connection

from core import outbox

HINT_SECONDS = 5
DUE = """
UPDATE core_chat SET hinted_at = clock_timestamp()
 WHERE id IN (
    SELECT id FROM core_chat
     WHERE turn_due_at <= clock_timestamp()
       AND (lease_until IS NULL OR lease_until < clock_timestamp())
       AND (hinted_at IS NULL OR hinted_at < clock_timestamp() - make_interval(secs => %s))
     ORDER BY turn_due_at LIMIT %s
       FOR UPDATE SKIP LOCKED)
RETURNING id
"""


def due_chats(limit: int = 200) -> list[int]:
    """Chats that are to be run now; each is given out again only after HINT_SECONDS."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, [HINT_SECONDS, limit])
        return [row[0] for row in cursor.fetchall()]


def settle_outbox() -> None:
    """Discard what may not be sent any more; see core.outbox.sweep."""
    outbox.sweep()
