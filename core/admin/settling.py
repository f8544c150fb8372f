"""Saying by hand what became of an entry whose outcome is unknown; who said it stays in the history."""

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core import evidence
from core.admin.facts import FactAdmin
from core.admin.switches import person
from core.models import OutboxEntry

Row = TypeVar("Row", bound=Model)
LONGEST_ID = 128
MOST_AT_ONCE = 100
"""Each is settled by itself, behind its own locks: a thousand would keep a request for a minute."""
UNKNOWN = OutboxEntry.State.UNKNOWN


class SettlingAdmin(FactAdmin[Row], Generic[Row]):
    """Facts, among them outcomes that nobody knows: whoever has the right to settle may say what became of those.

    Nothing else about a row is changed by hand.
    """

    actions: tuple[str, ...] | None = ("was_done", "was_not_done")

    def has_settle_permission(self, request: HttpRequest) -> bool:
        """Whether the person may say what became of entries."""
        return request.user.has_perm("core.settle_outboxentry")

    @abstractmethod
    def entries_of(self, rows: QuerySet[Row]) -> QuerySet[OutboxEntry]:
        """The entries that chosen rows of the list stand for."""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # Django would drop the action that a person may not take without a word.
        allowed, asked = self.get_actions(request), request.POST.get("action")
        if request.method == "POST" and (not allowed or (asked and asked not in allowed)):
            raise PermissionDenied
        return super().changelist_view(request, extra_context)

    def settle(self, request: HttpRequest, entry: OutboxEntry, **said: Any) -> bool:
        """Settle one entry as `evidence.settle_by_hand` does, and keep who said so."""
        with transaction.atomic():
            settled = evidence.settle_by_hand(entry, by=person(request), **said)
            if settled:
                rows: tuple[Any, ...] = (entry, entry.message)
                for row in filter(None, rows):
                    self.log_change(request, row, _kept(entry, **said))
        return settled

    @admin.action(
        description=gettext_lazy("Of unknown outcome: it was sent, or done"),
        permissions=["settle"],
    )
    def was_done(self, request: HttpRequest, queryset: QuerySet[Row]) -> None:
        self._settle_all(request, queryset, was_sent=True)

    @admin.action(
        description=gettext_lazy("Of unknown outcome: it was not sent, or not done"),
        permissions=["settle"],
    )
    def was_not_done(self, request: HttpRequest, queryset: QuerySet[Row]) -> None:
        self._settle_all(request, queryset, was_sent=False)

    def _settle_all(self, request: HttpRequest, rows: QuerySet[Row], *, was_sent: bool) -> None:
        chosen = rows.count()
        unknown = self.entries_of(rows).filter(state=UNKNOWN).order_by("pk")
        later = max(0, unknown.count() - MOST_AT_ONCE)
        entries = unknown.select_related("message")[:MOST_AT_ONCE]
        settled = sum(self.settle(request, entry, was_sent=was_sent) for entry in entries)
        told = ngettext("%(count)d was settled.", "%(count)d were settled.", settled)
        parts = [told % {"count": settled}]
        if left := chosen - settled - later:
            others = ngettext(
                "%(count)d is not of unknown outcome and was left as it is.",
                "%(count)d are not of unknown outcome and were left as they are.",
                left,
            )
            parts.append(others % {"count": left})
        if later:
            more = ngettext(
                "%(count)d more is left for the next time: at most %(most)d are settled at once.",
                "%(count)d more are left for the next time: at most %(most)d are settled at once.",
                later,
            )
            parts.append(more % {"count": later, "most": MOST_AT_ONCE})
        tell = messages.success if settled else messages.warning
        tell(request, " ".join(parts))


def settle_and_tell(
    page: SettlingAdmin[Any], request: HttpRequest, entry: OutboxEntry, *, was_sent: bool
) -> None:
    """One click of the two buttons of an entry; what came of it is told on the next page."""
    message_id = request.POST.get("message_id", "").strip() if was_sent else ""
    if not is_id(message_id):
        wrong = _(
            "A message id has no spaces and at most %(most)d characters. Nothing was changed."
        )
        messages.error(request, wrong % {"most": LONGEST_ID})
    elif message_id and evidence.is_anothers(entry, message_id):
        wrong = _("%(id)s is the id of another message of this chat. Nothing was changed.")
        messages.error(request, wrong % {"id": message_id})
    elif page.settle(request, entry, was_sent=was_sent, message_id=message_id):
        messages.success(request, _kept(entry, was_sent=was_sent, message_id=message_id))
    else:
        entry.refresh_from_db()
        told = _("Its outcome is known meanwhile: %(state)s. Nothing was changed.")
        messages.warning(request, told % {"state": entry.get_state_display()})


def is_id(text: str) -> bool:
    """Whether a text can be a platform's id of a message; an empty one says that it is not known."""
    return len(text) <= LONGEST_ID and text.isprintable() and " " not in text


def _kept(entry: OutboxEntry, *, was_sent: bool, message_id: str = "") -> str:
    if entry.action != OutboxEntry.Action.SEND:
        return (
            _("Settled by hand: it was done.")
            if was_sent
            else _("Settled by hand: it was not done.")
        )
    if not was_sent:
        return _("Settled by hand: it was not sent.")
    if not message_id:
        return _("Settled by hand: it was sent; its message id is not known.")
    return _("Settled by hand: it was sent, with the message id %(id)s.") % {"id": message_id}
