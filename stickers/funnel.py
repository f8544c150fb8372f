"""What became of the pictures that people sent: counted by chat, day and stage or reason.

A sticker passes free gates before anything is paid for; where it stops is a reason here, so that an
operator sees why nothing is learned.

Each that is seen ends once: it is dropped for a reason, or ends as one of ENDS, on the day on which it
was seen. So what was seen is the sum of the ends and of what is still under way (OpenSighting).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from django.db import connection, transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from core import budgets
from core.models import Chat, InboundItem
from stickers.models import FunnelCount, OpenSighting, Sighting

SEEN = "seen"
CANDIDATE = "candidate"
PAID = "paid"
STORED = "stored"
REUSED = "reused"
VETOED = "vetoed"
SENSITIVE = "sensitive"
FAILED = "failed"
LOST = "lost"
EVICTED = "evicted"
OFFERED = "offered"
SENT = "sent"

STAGES: Mapping[str, str | Promise] = {
    SEEN: _("seen"),
    CANDIDATE: _("passed the free gates"),
    PAID: _("paid for"),
    STORED: _("stored"),
    REUSED: _("stored with a meaning learned before"),
    SENSITIVE: _("sensitive"),
    VETOED: _("vetoed"),
    FAILED: _("failed"),
    LOST: _("lost"),
    EVICTED: _("made room for another one"),
    OFFERED: _("offered to the model"),
    SENT: _("sent"),
}
"""Stages in the order in which a sticker goes through them."""

ENDS = (STORED, REUSED, SENSITIVE, VETOED, FAILED, LOST)
"""Stages in which a sighting ends; all others it passes, or what was stored does later."""
SIGHTINGS_KEPT = timedelta(days=90)
"""After that a sticker has to be seen often enough anew."""
LONGEST = timedelta(days=1)
"""Whatever has not ended a day after its day was never handed over, or its worker died early."""

OFF = "off"
CAPABILITY = "capability"
NOT_A_STICKER = "not_a_sticker"
OLD = "old"
RECALLED = "recalled"
KNOWN = "known"
KNOWN_REJECTED = "known_rejected"
NOT_SHARED = "not_shared"
TOO_FEW_SIGHTINGS = "too_few_sightings"
RATE = "rate"
NO_ROOM = "no_room"
BUDGET = "budget"
NO_MODEL = "no_model"
NO_WORKER = "no_worker"
FORGOTTEN = "forgotten"
DISK_FULL = "disk_full"
TRY_LATER = "try_later"
DOWNLOAD = "download_"

DROPS: Mapping[str, str | Promise] = {
    OFF: _("learning is off in the chat"),
    CAPABILITY: _("no stickers can be sent there"),
    NOT_A_STICKER: _("a picture, and no sticker"),
    OLD: _("old when it came in"),
    RECALLED: _("taken back"),
    KNOWN: _("known already"),
    KNOWN_REJECTED: _("known, and rejected"),
    NOT_SHARED: _("its meaning stays in another chat"),
    TOO_FEW_SIGHTINGS: _("not seen often enough yet"),
    RATE: _("more than may be tried in a minute"),
    NO_ROOM: _("all places taken by pinned ones"),
    BUDGET: _("the day's learning budget is spent"),
    NO_MODEL: _("no model takes stickers"),
    NO_WORKER: _("no worker could be told of it"),
    FORGOTTEN: _("forgotten before it was learned"),
    DISK_FULL: _("no room for pictures on the disk"),
    TRY_LATER: _("the endpoint was busy or away"),
}
"""Reasons for which it goes no further; those of the download stand behind DOWNLOAD."""

DOWNLOADS: Mapping[str, str | Promise] = {
    "no_address": _("nothing says where the picture is"),
    "bad_address": _("its address is none to fetch from"),
    "blocked_address": _("its address is not public"),
    "unreachable": _("its host can't be reached"),
    "timeout": _("its host did not answer in time"),
    "http_status": _("its host does not give it"),
    "too_large": _("it is too large"),
    "not_a_picture": _("it is no picture"),
    "too_many_pixels": _("it has too many pixels"),
    "too_many_frames": _("it has too many frames"),
    "broken": _("it is broken"),
}
"""Why a picture can't be had, by the code of core.errors.MediaFailure."""


def download(code: str) -> str:
    """The reason for a picture that can't be had, by the code of its core.errors.MediaFailure."""
    return f"{DOWNLOAD}{code}"[:40]


def label(name: str) -> str | Promise:
    """A stage or reason in words."""
    if name.startswith(DOWNLOAD):
        code = name.removeprefix(DOWNLOAD)
        return format_lazy(_("not downloaded: {why}"), why=DOWNLOADS.get(code, code))
    return STAGES.get(name) or DROPS.get(name) or name


def count(chat_id: int, name: str, times: int = 1) -> None:
    """Count what became of pictures; see count_all."""
    count_all([(chat_id, name)] * times)


def count_all(seen: Iterable[tuple[int, str]], day: date | None = None) -> None:
    """Count many (chat id, name), of today or another day, in one statement, at the end of a
    transaction or outside of one: the rows stay locked until it ends. Everybody takes them in one
    order, which the statement has to say itself: a plan may join them to chats in any other."""
    totals: dict[tuple[int, str], int] = {}
    for one in seen:
        totals[one] = totals.get(one, 0) + 1
    if not totals:
        return
    ordered = list(totals)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO stickers_funnelcount AS counted (chat_id, day, name, times)
            SELECT chat_id, %s, name, times
              FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) AS new(chat_id, name, times)
             -- a chat may have been forgotten while its sticker was being learned
             WHERE EXISTS (SELECT 1 FROM core_chat WHERE core_chat.id = new.chat_id)
             ORDER BY chat_id, name
            ON CONFLICT (chat_id, day, name) DO UPDATE SET times = counted.times + excluded.times
            """,
            [
                day or budgets.today(),
                [chat_id for chat_id, _name in ordered],
                [name for _chat_id, name in ordered],
                [totals[one] for one in ordered],
            ],
        )


def see(seen: Sequence[tuple[InboundItem, int, str]]) -> None:
    """Count what was seen: each part of an item with the reason for which it stopped at once, or
    CANDIDATE, which is under way from here on. In the transaction that stores the items."""
    day = budgets.today()
    under_way = [
        OpenSighting(chat_id=item.chat_id, item=item, index=index, day=day)
        for item, index, name in seen
        if name == CANDIDATE
    ]
    OpenSighting.objects.bulk_create(under_way)
    names = [(item.chat_id, one) for item, _index, name in seen for one in (SEEN, name)]
    count_all(names, day)


def open_of(item_id: int, index: int) -> QuerySet[OpenSighting]:
    """The sighting of one part of an item, while it is under way."""
    return OpenSighting.objects.filter(item=item_id, index=index)


def end(sightings: QuerySet[OpenSighting], name: str) -> int:
    """Count the end of sightings that are under way; how many ended by this, and not before."""
    with transaction.atomic():
        ended = list(sightings.select_for_update(of=("self",)).order_by("pk"))
        OpenSighting.objects.filter(pk__in=[one.pk for one in ended]).delete()
        for day in sorted({one.day for one in ended}):
            ends = [(one.chat_id, name) for one in ended if one.day == day]
            paid = [(one.chat_id, PAID) for one in ended if one.day == day and one.is_paid]
            count_all([*ends, *paid], day)
    return len(ended)


def prune() -> int:
    """Remove what was counted in the moment in which its chat went, counts of days long past, and
    how often was seen what was not seen for long; end as lost what nobody can end any more. How many
    rows went."""
    today = budgets.today()
    rows = end(OpenSighting.objects.filter(day__lt=today - LONGEST), LOST)
    for old in (
        FunnelCount.objects.exclude(chat__in=Chat.objects.all()),
        FunnelCount.objects.filter(day__lt=today - budgets.COUNTS_KEPT),
        Sighting.objects.filter(last_at__lt=timezone.now() - SIGHTINGS_KEPT),
    ):
        rows += old.delete()[0]
    return rows


def counts(chat_id: int | None, since: date) -> Mapping[str, int]:
    """Totals by name from that day on, of one chat or of all."""
    rows = FunnelCount.objects.filter(day__gte=since)
    if chat_id is not None:
        rows = rows.filter(chat=chat_id)
    return dict(rows.values_list("name").annotate(total=Sum("times")).order_by())
