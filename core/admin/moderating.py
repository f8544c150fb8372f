"""Stepping in on the pages of the Sent Log and the Outbox: discard, take back, change, approve.

Each page posts what its operator saw (core.by_hand.digest), so that nothing else is decided about.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from core import by_hand, capabilities, outbox, standing
from core.admin import acts, holding
from core.admin.settling import SettlingAdmin
from core.by_hand import NotDone
from core.models import Chat, DeliveryMode, OutboxEntry

Row = TypeVar("Row", bound=Model)
State = OutboxEntry.State
MOST = 100
_MOST_REFUSALS = 5
WAITS_FOR_REVIEW = Q(state=State.PENDING, held=standing.REVIEW) & ~Q(
    action=OutboxEntry.Action.RECALL
)
"""A recall that is held waits with the words that it makes room for, and is not decided about."""

_SAID_IN_SHADOW = Q(
    state=State.DISCARDED, reason=standing.SHADOW, chat__delivery_mode=DeliveryMode.SHADOW
)


@dataclass(frozen=True, slots=True)
class Sweeping:
    """An act that is done to many entries after one confirmation: which it can be done to, what the
    page and the history say, how one is done (entry, what was seen of it, by whom), whether something
    goes out then, and why one would not be done (empty: it would be)."""

    which: Q
    title: str | Promise
    warning: str | Promise
    button: str | Promise
    kept: str | Promise
    done: Any
    do: Callable[[OutboxEntry, str, by_hand.Operator], object]
    leaves: bool = True
    refusal: Callable[[OutboxEntry], str] = lambda entry: ""


def _approve(entry: OutboxEntry, seen: str, by: by_hand.Operator) -> object:
    return by_hand.approve(entry.pk, seen=seen, by=by)


def _discard(entry: OutboxEntry, seen: str, by: by_hand.Operator) -> object:
    return by_hand.discard(entry.pk, seen=seen, by=by)


def _recall(entry: OutboxEntry, seen: str, by: by_hand.Operator) -> object:
    return by_hand.recall(entry.message_id or 0, seen=seen, by=by)


SWEEPING = {
    "approve": Sweeping(
        WAITS_FOR_REVIEW,
        gettext_lazy("Let what is held go"),
        gettext_lazy("All of it leaves as it stands here, in its order. What left can't be held."),
        gettext_lazy("Let all of it go"),
        gettext_lazy("Approved."),
        ngettext_lazy("%(count)d was approved.", "%(count)d were approved.", "count"),
        _approve,
    ),
    "discard": Sweeping(
        Q(state=State.PENDING),
        gettext_lazy("Discard what waits"),
        gettext_lazy("It never leaves, and the model is told. This can't be undone."),
        gettext_lazy("Discard it"),
        gettext_lazy("Discarded by hand."),
        ngettext_lazy("%(count)d was discarded.", "%(count)d were discarded.", "count"),
        _discard,
        leaves=False,
    ),
    "recall": Sweeping(
        Q(current_of__isnull=False) & (Q(state__in=(State.SENT, State.SENDING)) | _SAID_IN_SHADOW),
        gettext_lazy("Take back what was said"),
        gettext_lazy("It vanishes from the chat, and the model is told. This can't be undone."),
        gettext_lazy("Take it back"),
        gettext_lazy("Taken back by hand."),
        ngettext_lazy("%(count)d is being taken back.", "%(count)d are being taken back.", "count"),
        _recall,
        refusal=by_hand.recall_refusal,
    ),
}


class ModeratingAdmin(SettlingAdmin[Row], Generic[Row]):
    """Facts of which some can still be changed: by whoever may moderate."""

    actions = ("was_done", "was_not_done", "discard", "take_back")

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        """Whether the person may decide about the bot's words."""
        return acts.may(request, "moderate", OutboxEntry)

    @admin.action(description=gettext_lazy("Discard what waits…"), permissions=["moderate"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Row]) -> HttpResponse | None:
        return self._ask(request, "discard", self.waiting_of(queryset))

    @admin.action(description=gettext_lazy("Take back what was said…"), permissions=["moderate"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[Row]) -> HttpResponse | None:
        return self._ask(request, "recall", self.entries_of(queryset))

    def waiting_of(self, rows: QuerySet[Row]) -> QuerySet[OutboxEntry]:
        """What may still wait of chosen rows of the list."""
        return self.entries_of(rows)

    def _ask(
        self, request: HttpRequest, act: str, entries: QuerySet[OutboxEntry]
    ) -> HttpResponse | None:
        fitting = entries.filter(SWEEPING[act].which).order_by("pk").values_list("pk", flat=True)
        chosen = list(fitting[:MOST])
        if not chosen:
            messages.warning(request, _("There is nothing among them to which that can be done."))
            return None
        back = reverse(f"admin:core_{self.opts.model_name}_changelist")
        return redirect(confirm_url(act, chosen, back=back))


def confirm_url(act: str, entry_ids: Iterable[int] = (), **more: object) -> str:
    """The page that shows what an act would be done to, and asks."""
    url = reverse("admin:core_outboxentry_confirm", args=[act])
    return f"{url}?{urlencode([*(('entry', pk) for pk in entry_ids), *more.items()])}"


def asked_about(request: HttpRequest, rows: QuerySet[OutboxEntry]) -> QuerySet[OutboxEntry]:
    """The entries that an address names: some, or those of one chat."""
    keys = [int(key) for key in request.GET.getlist("entry") if _is_key(key)]
    chat = request.GET.get("chat", "")
    named = Q(chat=int(chat)) if _is_key(chat) else Q(pk__in=keys)
    shown = rows.filter(named).select_related("chat__bot", "message__entry")
    return shown.order_by("pk")


def sweep(
    page: SettlingAdmin[Any], request: HttpRequest, act: str, rows: QuerySet[OutboxEntry]
) -> None:
    """Do an act to the entries that were ticked on its page, and tell what came of it."""
    sweeping = SWEEPING[act]
    picks = [pick.split(":", 1) for pick in request.POST.getlist("pick") if ":" in pick]
    seen = {int(key): what for key, what in picks if _is_key(key)}
    keys = list(seen)[:MOST]
    done, refused = list[OutboxEntry](), Counter[str]()
    for entry in rows.filter(pk__in=keys).select_related("message").order_by("pk"):
        try:
            with transaction.atomic():
                sweeping.do(entry, seen[entry.pk], person(request))
                keep(page, request, entry, str(sweeping.kept))
        except NotDone as refusal:
            refused[str(refusal)] += 1
        else:
            done.append(entry)
    if done:
        told = str(sweeping.done % {"count": len(done)})
        messages.success(request, let_go(told, done) if sweeping.leaves else told)
    for sentence, count in refused.most_common(_MOST_REFUSALS):
        times = f"{count} × " if count > 1 else ""
        messages.warning(request, f"{times}{sentence}")


def let_go(told: str, entries: Iterable[OutboxEntry]) -> str:
    """What was done to some entries, and what becomes of what waits now of their messages."""
    keys = [entry.pk for entry in entries]
    waits = Q(pk__in=keys) | Q(message__entries__in=keys)
    found = OutboxEntry.objects.filter(waits, state=State.PENDING).distinct()
    return f"{told} {holding.told(found)}".strip()


def keep(page: SettlingAdmin[Any], request: HttpRequest, entry: OutboxEntry, said: str) -> None:
    """Keep in the history of an entry and of its message who did what."""
    for row in filter(None, (entry, entry.message)):
        page.log_change(request, row, said)


def person(request: HttpRequest) -> by_hand.Operator:
    """Who asks."""
    return request.user if request.user.is_authenticated else None


def way_back(request: HttpRequest, otherwise: str) -> str:
    """The page from which a form came, where it says a page of this site."""
    asked = request.POST.get("back") or request.GET.get("back", "")
    is_safe = url_has_allowed_host_and_scheme(asked, {request.get_host()}, request.is_secure())
    return asked if asked.startswith("/") and is_safe else otherwise


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that can be done to an entry now: a link with its text."""

    text: str | Promise
    url: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be done by hand now, and why what is missing there can't, a sentence each."""

    choices: Sequence[Choice] = ()
    refusals: Sequence[str] = ()


def offer(entries: Sequence[OutboxEntry], back: str) -> Offer:
    """What can be done by hand to an entry, or to the entries of a message, as they stand; by_hand
    says what would be refused."""
    making_room = {one.waits_for_id for one in entries if one.state == State.PENDING}
    # What is to make room for other words is discarded with them.
    asked = [entry for entry in entries if entry.pk not in making_room]
    refusals: dict[str, None] = {}
    found = [choice for entry in asked for choice in _choices(entry, back, refusals)]
    return Offer(found, list(refusals))


def _choices(entry: OutboxEntry, back: str, refusals: dict[str, None]) -> Iterator[Choice]:
    """The choices of one entry; why others are not given goes to `refusals`."""
    waits = entry.state == State.PENDING
    if _has_words(entry) and (waits or _is_current(entry)):
        if refusal := by_hand.edit_refusal(entry):
            refusals[refusal] = None
        else:
            edit = reverse("admin:core_outboxentry_edit", args=[entry.pk])
            yield Choice(_changes(entry), f"{edit}?{urlencode({'back': back})}")
    if waits:
        yield Choice(_discards(entry), confirm_url("discard", [entry.pk], back=back))
    elif _has_words(entry) and _is_current(entry):
        if refusal := by_hand.recall_refusal(entry):
            refusals[refusal] = None
        else:
            url = confirm_url("recall", [entry.pk], back=back)
            yield Choice(gettext_lazy("Take it back…"), url)


def _has_words(entry: OutboxEntry) -> bool:
    return entry.action in outbox.VERSIONS and entry.message is not None


def _changes(entry: OutboxEntry) -> str | Promise:
    if _is_current(entry):
        return gettext_lazy("Change its words…")
    return gettext_lazy("Change the words that are to replace it…")


def _discards(entry: OutboxEntry) -> str | Promise:
    if entry.action == OutboxEntry.Action.RECALL:
        return gettext_lazy("Discard the recall…")
    if entry.message is not None and not _is_current(entry):
        return gettext_lazy("Discard the change…")
    return gettext_lazy("Discard it…")


def _is_current(entry: OutboxEntry) -> bool:
    return entry.message is not None and entry.message.entry_id == entry.pk


def what_an_edit_does(entry: OutboxEntry, chat: Chat) -> str:
    """How other words would get to people, in a sentence."""
    if entry.state == State.PENDING:
        return _("It has not left yet: it goes out with these words instead.")
    if capabilities.in_chat(chat).edits_in_place:
        return _("The platform changes it in place.")
    return _(
        "The platform can't edit: the message is taken back and sent anew with these words. If it can't"
        " be taken back, it stays as it is."
    )


def _is_key(text: str) -> bool:
    return text.isdecimal() and len(text) <= 18
