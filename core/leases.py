"""Leases: one turn at a time per chat, over all workers.

The fencing token is the chat row's `lease_token`. It rises with each claim, so a worker that was
stopped for longer than its lease finds another number there and commits nothing. Times are the
database's own: workers' clocks do not matter.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from core.database import ClockTimestamp
from core.errors import LeaseLost
from core.models import Chat


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a turn in a chat, until it lapses or is taken over."""

    chat_id: int
    token: int


_held: set[Lease] = set()
_dropped: set[Lease] = set()
_guard = threading.Lock()


def claim(chat_id: int, owner: str) -> Lease | None:
    """Take the lease of a chat that is due; None when it is not, or another worker holds it."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE core_chat
               SET lease_token = lease_token + 1, lease_owner = %s,
                   lease_until = clock_timestamp() + make_interval(secs => %s)
             WHERE id = %s AND turn_due_at <= clock_timestamp()
               AND (lease_until IS NULL OR lease_until < clock_timestamp())
            RETURNING lease_token
            """,
            [owner[:200], settings.ARISE_LEASE_SECONDS, chat_id],
        )
        row = cursor.fetchone()
    return Lease(chat_id, row[0]) if row else None


def take_over(chat_id: int, owner: str) -> Lease:
    """Take the lease of a chat, due or not, also from a worker that holds it: that one commits
    nothing any more. Raises Chat.DoesNotExist."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE core_chat
               SET lease_token = lease_token + 1, lease_owner = %s,
                   lease_until = clock_timestamp() + make_interval(secs => %s)
             WHERE id = %s
            RETURNING lease_token
            """,
            [owner[:200], settings.ARISE_LEASE_SECONDS, chat_id],
        )
        row = cursor.fetchone()
    if row is None:
        raise Chat.DoesNotExist(f"there is no chat {chat_id}")
    return Lease(chat_id, row[0])


@dataclass(frozen=True, slots=True)
class Held:
    """The chat's row, locked, and the database's time when it was."""

    chat: Chat
    now: datetime


def hold(lease: Lease) -> Held:
    """Lock the chat's row for this transaction; LeaseLost where the token is no longer ours.

    Every transaction of a turn begins with this: it is the fence.
    """
    chat = (
        Chat.objects.select_for_update(of=("self",))
        .select_related("bot")
        .annotate(held_at=ClockTimestamp())
        .filter(pk=lease.chat_id, lease_token=lease.token)
        .first()
    )
    if chat is None:
        raise LeaseLost(f"chat {lease.chat_id}: lease {lease.token} was taken over")
    return Held(chat, chat.held_at)


def extend(lease: Lease) -> None:
    """Count the lease's time anew, in a transaction that holds it."""
    seconds = timedelta(seconds=settings.ARISE_LEASE_SECONDS)
    Chat.objects.filter(pk=lease.chat_id, lease_token=lease.token).update(
        lease_until=ClockTimestamp() + seconds
    )


def release(lease: Lease) -> None:
    """Give the lease back without finishing: whoever claims next goes on where we stopped."""
    Chat.objects.filter(pk=lease.chat_id, lease_token=lease.token).update(
        lease_until=None, hinted_at=None
    )


@contextmanager
def kept(lease: Lease) -> Iterator[None]:
    """While inside, `extend_held` keeps the lease from lapsing; after a failure it gives it back
    (the failure may be the database's, so that it can't be given back here)."""
    with _guard:
        _held.add(lease)
    try:
        yield
    except Exception:
        with _guard:
            _dropped.add(lease)
        raise
    finally:
        with _guard:
            _held.discard(lease)


def held() -> list[Lease]:
    """The leases that this process is running turns under."""
    with _guard:
        return list(_held)


def _give_back_dropped() -> None:
    with _guard:
        dropped = list(_dropped)
    for lease in dropped:
        release(lease)
        with _guard:
            _dropped.discard(lease)


def extend_held() -> None:
    """Extend all leases of this process; called every quarter of a lease by the worker.

    Rows are locked in the order in which the door in locks them, or the two would wait for each
    other.
    """
    _give_back_dropped()
    leases = held()
    if not leases:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE core_chat
               SET lease_until = clock_timestamp() + make_interval(secs => %s)
              FROM (SELECT chat.id, mine.token
                      FROM core_chat chat
                      JOIN unnest(%s::bigint[], %s::bigint[]) AS mine(chat_id, token)
                        ON chat.id = mine.chat_id
                     ORDER BY chat.id FOR NO KEY UPDATE OF chat) AS locked
             WHERE core_chat.id = locked.id AND core_chat.lease_token = locked.token
               AND core_chat.lease_until IS NOT NULL
            """,
            [
                settings.ARISE_LEASE_SECONDS,
                [lease.chat_id for lease in leases],
                [lease.token for lease in leases],
            ],
        )
