"""The page of everything that waits for review: all chats, oldest first, with the words around it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from core import by_hand
from core.admin import holding, moderating, previews, surroundings
from core.admin.moderating import WAITS_FOR_REVIEW, ModeratingAdmin
from core.admin.surroundings import Line
from core.by_hand import NotDone
from core.models import OutboxEntry

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Card:
    """One entry that waits: what was seen of it, the words that it would change, the last lines of
    its chat, whether something before it in the chat waits too, and what would hold it once it was
    approved."""

    entry: OutboxEntry
    seen: str
    is_text: bool
    instead_of: str
    lines: Sequence[Line]
    is_behind: bool
    preview: SafeString | str
    waits: str

    @property
    def rows(self) -> int:
        """How high its text's box is."""
        return min(12, max(2, self.entry.content.count("\n") + len(self.entry.content) // 90 + 1))


def waiting(rows: QuerySet[OutboxEntry]) -> QuerySet[OutboxEntry]:
    """Those of some entries that wait for review, oldest first."""
    return rows.filter(WAITS_FOR_REVIEW).order_by("pk")


def cards(rows: QuerySet[OutboxEntry]) -> Sequence[Card]:
    """The oldest SHOWN of these as they are shown; the same few queries, however many there are."""
    entries = list(rows.select_related("chat__bot", "message__entry")[:SHOWN])
    lines = surroundings.last_lines(sorted({entry.chat_id for entry in entries}))
    shown = previews.of(entries)
    waits = holding.besides_review({entry.chat_id: entry.chat for entry in entries}.values())
    met: set[int] = set()
    found = []
    for entry in entries:
        current = entry.message.entry if entry.message else None
        found.append(
            Card(
                entry,
                by_hand.digest(entry),
                by_hand.is_text(entry),
                current.content if current and current.pk != entry.pk else "",
                lines.get(entry.chat_id, ()),
                entry.chat_id in met,
                shown.get(entry.pk, ""),
                waits.get(entry.chat_id, ""),
            )
        )
        met.add(entry.chat_id)
    return found


def decide(page: ModeratingAdmin[Any], request: HttpRequest, entry: OutboxEntry) -> bool:
    """Approve an entry, as it stands or with the words of the form, or discard it, and tell what came
    of it; False where the form asks for neither."""
    seen, text = request.POST.get("seen", ""), request.POST.get("text")
    before, by = entry.content, moderating.person(request)
    try:
        with transaction.atomic():
            match request.POST.get("decision"):
                case "approve":
                    after = by_hand.approve(entry.pk, seen=seen, by=by, text=text)
                    said = _("Approved.")
                    if after.content != before:
                        said = _("Approved with other words.")
                case "discard":
                    by_hand.discard(entry.pk, seen=seen, by=by)
                    said = _("Discarded by hand.")
                case _:
                    return False
            moderating.keep(page, request, entry, said)
    except NotDone as refusal:
        messages.warning(request, str(refusal))
    else:
        is_approval = request.POST.get("decision") == "approve"
        messages.success(request, moderating.let_go(said, [entry]) if is_approval else said)
    return True
