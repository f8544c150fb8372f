"""Who is in a chat: seen to speak there, listed by the platform, told to have come or gone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Q

from core.messages import ListedMember, MemberList, MemberNews
from core.models import Chat, Member

LIST_AGE = timedelta(days=1)
"""A chat's member list is asked for again after this."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Somebody who is in a chat; `at` is when he spoke, None where he did not."""

    chat_id: int
    user_id: str
    name: str = ""
    role: str = ""
    at: datetime | None = None


KEEP = """
INSERT INTO core_member AS member (chat_id, user_id, name, role, last_seen_at)
SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::timestamptz[])
    ON CONFLICT (chat_id, user_id) DO UPDATE
   SET name = coalesce(nullif(EXCLUDED.name, ''), member.name),
       role = coalesce(nullif(EXCLUDED.role, ''), member.role),
       last_seen_at = coalesce(EXCLUDED.last_seen_at, member.last_seen_at),
       left_at = CASE WHEN member.left_at > %s THEN member.left_at END
 WHERE (member.name, member.role, member.last_seen_at, member.left_at) IS DISTINCT FROM
       (coalesce(nullif(EXCLUDED.name, ''), member.name),
        coalesce(nullif(EXCLUDED.role, ''), member.role),
        coalesce(EXCLUDED.last_seen_at, member.last_seen_at), NULL)
"""


def keep(seen: Iterable[Seen], *, as_of: datetime | None = None) -> None:
    """Keep who is there, with what is told of him; what is not told stays as it was. Who left after
    `as_of` stays gone."""
    latest: dict[tuple[int, str], Seen] = {}
    for one in seen:
        before = latest.get((one.chat_id, one.user_id))
        latest[one.chat_id, one.user_id] = _with(before, one) if before else one
    # Sorted, so that two processes with the same people lock them in one order.
    rows = [latest[key] for key in sorted(latest)]
    if not rows:
        return
    columns: list[list[Any]] = [
        [row.chat_id for row in rows],
        [row.user_id for row in rows],
        [row.name for row in rows],
        [row.role for row in rows],
        [row.at for row in rows],
    ]
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [*columns, as_of])


def _with(before: Seen, after: Seen) -> Seen:
    return Seen(
        after.chat_id, after.user_id, after.name or before.name, after.role or before.role, after.at
    )


def keep_unknown(seen: Iterable[Seen]) -> None:
    """Keep those whom nobody knows yet: what was said long ago tells nothing newer of the others."""
    Member.objects.bulk_create(
        [
            Member(
                chat_id=one.chat_id,
                user_id=one.user_id,
                name=one.name,
                role=one.role,
                last_seen_at=one.at,
            )
            for one in sorted(seen, key=lambda one: (one.chat_id, one.user_id))
        ],
        ignore_conflicts=True,
    )


def apply(chat: Chat, news: MemberNews, *, now: datetime) -> None:
    """Take in news of somebody in a chat whose row is locked."""
    if news.is_here is False:
        Member.objects.filter(chat=chat, user_id=news.user_id).update(left_at=now)
    elif news.is_here:
        keep([Seen(chat.pk, news.user_id, news.name, news.role)])
    else:
        told = {"name": news.name, "role": news.role}
        known = Member.objects.filter(chat=chat, user_id=news.user_id)
        known.update(**{field: value for field, value in told.items() if value})


def apply_list(chat: Chat, told: MemberList, *, now: datetime) -> None:
    """Take in the member list of a chat whose row is locked. Who is not on a whole one has left,
    unless he was seen since it was asked for."""
    listed = [_listed(chat, member) for member in told.members]
    keep(listed, as_of=told.asked_at)
    if told.is_whole:
        there = [member.user_id for member in told.members]
        unseen = Q(last_seen_at=None) | Q(last_seen_at__lt=told.asked_at)
        Member.objects.filter(unseen, chat=chat, left_at=None).exclude(user_id__in=there).update(
            left_at=now
        )
    chat.members_synced_at = now
    chat.save(update_fields=["members_synced_at"])


def _listed(chat: Chat, member: ListedMember) -> Seen:
    return Seen(chat.pk, member.user_id, member.name, member.role)


def wants_list(bot_id: int, group_id: str, *, now: datetime) -> bool:
    """Whether a group's member list is to be asked for: it is not known, or a day old. Of a group
    that is switched off nobody is kept."""
    chat = Chat.objects.filter(bot=bot_id, kind=Chat.Kind.GROUP, external_id=group_id).first()
    if chat is None:
        return True
    return chat.enabled and (
        chat.members_synced_at is None or chat.members_synced_at < now - LIST_AGE
    )


def names(people: Sequence[tuple[int, str]]) -> dict[tuple[int, str], str]:
    """How people are called, by (chat, account), as far as it is known."""
    if not people:
        return {}
    rows = Member.objects.filter(
        chat__in={chat for chat, _ in people}, user_id__in={user for _, user in people}
    ).exclude(name="")
    return {(chat, user): name for chat, user, name in rows.values_list("chat", "user_id", "name")}
