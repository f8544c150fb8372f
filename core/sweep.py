"""What a look at Postgres once a second finds: chats that are due, entries that nobody settles.

It needs neither broker nor beat, so that whatever those lose is found again.
"""

from django.db import connection

from core import sending

HINT_SECONDS = 5
# A CTE, not `IN (SELECT … LIMIT …)`: a plan may run that select again for each row, past its limit.
DUE = """
WITH due AS (
    SELECT id FROM core_chat
     WHERE turn_due_at <= clock_timestamp()
       AND (lease_until IS NULL OR lease_until < clock_timestamp())
       AND (hinted_at IS NULL OR hinted_at < clock_timestamp() - make_interval(secs => %s))
     ORDER BY turn_due_at LIMIT %s
       FOR UPDATE SKIP LOCKED)
UPDATE core_chat SET hinted_at = clock_timestamp() FROM due WHERE core_chat.id = due.id
RETURNING core_chat.id
"""


def due_chats(limit: int = 200) -> list[int]:
    """Chats that are to be run now; each is given out again only after HINT_SECONDS."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, [HINT_SECONDS, limit])
        return [row[0] for row in cursor.fetchall()]


def settle_outbox() -> None:
    """Discard what may not be sent any more; see core.sending.sweep."""
    sending.sweep()
