"""The console's pages of the Outbox."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Func, IntegerField, QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseNotAllowed,
)
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core import by_hand, reach, standing
from core.admin import (
    banners,
    conversation,
    deeds,
    display,
    holding,
    mentions,
    moderating,
    reasons,
    review,
)
from core.admin.facts import ChatFilter
from core.admin.moderating import ModeratingAdmin
from core.admin.settling import UNKNOWN, settle_and_tell
from core.by_hand import NotDone
from core.models import OutboxEntry

if TYPE_CHECKING:
    from django.contrib.admin.options import ModelAdmin as DjangoModelAdmin

LONGEST_KEY = 18
WRITTEN = display.moment("created_at", gettext_lazy("written"))
_DUE = display.moment("due_at", gettext_lazy("due"))
_SETTLED = display.moment("settled_at", gettext_lazy("settled"))


class HeldFilter(admin.SimpleListFilter):
    """By why an entry waits although it is due; the reasons are known, so no table is read for them."""

    title = gettext_lazy("held")
    parameter_name = "held"
    NOTHING = "nothing"

    def lookups(
        self, request: HttpRequest, model_admin: "DjangoModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        held = [(code, reasons.told_of_entry(code)) for code in standing.REASONS if code]
        return [*held, (self.NOTHING, _("Nothing holds it."))]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[OutboxEntry]
    ) -> QuerySet[OutboxEntry] | None:
        # What was held when it ended keeps the reason: only what waits is held.
        value = "" if self.value() == self.NOTHING else self.value()
        waits = {"state": OutboxEntry.State.PENDING, "held": value}
        return queryset.filter(**waits) if self.value() else None


@admin.register(OutboxEntry)
class OutboxEntryAdmin(ModeratingAdmin[OutboxEntry]):
    list_title = gettext_lazy("Outbox")
    belongs = reach.to_chat()
    list_display = (
        WRITTEN,
        "chat",
        "action",
        "shown_state",
        "shown_reason",
        "shown_held",
        "said",
        _DUE,
        _SETTLED,
        "turn_link",
    )
    list_display_links = (WRITTEN, "said")
    list_select_related = ("chat", "message")
    list_filter = ("state", HeldFilter, "action", "message__kind", "bot", "created_at", ChatFilter)
    search_fields = ("content", "subject", "platform_message_id", "reason", "error")
    search_help_text = gettext_lazy("Content, chat, target, message id, reason or error")
    found_by_chat = True
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "shown_message",
                    "shown_content",
                    ("action", "shown_state"),
                    "subject",
                    ("shown_reason", "shown_held"),
                    "shown_deeds",
                    "error",
                    ("shown_target", "shown_waits_for"),
                    ("bot", "chat"),
                    ("turn", "shown_step", "shown_call"),
                )
            },
        ),
        (
            gettext_lazy("When"),
            {
                "fields": (
                    ("created_at", "due_at"),
                    ("shown_draft", "expires_at"),
                    ("sending_at", "settled_at"),
                    "recalled_at",
                )
            },
        ),
        (
            gettext_lazy("On the platform"),
            {
                "fields": (
                    ("platform_message_id", "shown_connection"),
                    ("shown_history", "shown_evidence_until"),
                    ("shown_parts", "payload_size"),
                )
            },
        ),
    )
    readonly_fields = (
        "shown_message",
        "shown_content",
        "shown_state",
        "shown_reason",
        "shown_held",
        "shown_target",
        "shown_waits_for",
        "shown_history",
        "shown_evidence_until",
        "shown_connection",
        "shown_parts",
        "payload_size",
        "shown_draft",
        "shown_deeds",
        "shown_step",
        "shown_call",
    )

    def entries_of(self, rows: QuerySet[OutboxEntry]) -> QuerySet[OutboxEntry]:
        return rows

    def get_urls(self) -> list[URLPattern]:
        settle = self.admin_site.admin_view(self.settle_view)
        name = "core_outboxentry_settle"
        views = (
            ("review/", self.review_view, "review"),
            ("confirm/<str:act>/", self.confirm_view, "confirm"),
            ("<int:object_id>/decide/", self.decide_view, "decide"),
            ("<int:object_id>/edit/", self.edit_view, "edit"),
        )
        return [
            path("<int:object_id>/settle/", settle, name=name),
            *(
                path(route, self.admin_site.admin_view(view), name=f"core_outboxentry_{name}")
                for route, view, name in views
            ),
            *super().get_urls(),
        ]

    def review_view(self, request: HttpRequest) -> HttpResponse:
        """What waits for review, oldest first; of one chat where the address says so."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = review.waiting(self.get_queryset(request))
        chat = request.GET.get("chat", "")
        if chat.isdecimal() and len(chat) <= LONGEST_KEY:
            rows = rows.filter(chat=int(chat))
        cards, count = review.cards(rows), rows.count()
        context = {
            "title": _("Review"),
            "cards": cards,
            "count": count,
            "more": count - len(cards),
            "may_moderate": self.has_moderate_permission(request),
            "back": request.get_full_path(),
        }
        return self._page(request, "review", context)

    def decide_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The buttons of an entry that waits for review; leads back to the page they were on."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        self._demand_moderator(request)
        entry = get_object_or_404(self._rows(request), pk=object_id)
        if not review.decide(self, request, entry):
            return HttpResponseBadRequest("decision is approve or discard")
        return redirect(moderating.way_back(request, reverse("admin:core_outboxentry_review")))

    def confirm_view(self, request: HttpRequest, act: str) -> HttpResponse:
        """Shows what an act would be done to, and does it to what was ticked."""
        sweeping = moderating.SWEEPING.get(act)
        if sweeping is None:
            raise Http404
        self._demand_moderator(request)
        otherwise = reverse("admin:core_outboxentry_changelist")
        back = moderating.way_back(request, otherwise)
        if request.method == "POST":
            moderating.sweep(self, request, act, self._rows(request))
            return redirect(back)
        asked = moderating.asked_about(request, self._rows(request)).filter(sweeping.which)
        entries = list(asked[: moderating.MOST])
        if not entries:
            messages.warning(request, _("There is nothing left to which that can be done."))
            return redirect(back)
        picks = [(one, by_hand.digest(one), sweeping.refusal(one)) for one in entries]
        may = any(not refusal for _entry, _seen, refusal in picks)
        context = {
            "title": sweeping.title,
            "act": sweeping,
            "picks": picks,
            "may": may,
            "back": back,
        }
        return self._page(request, "confirm", context)

    def edit_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Other words for something that waits, or that was said."""
        self._demand_moderator(request)
        entry = get_object_or_404(self._rows(request), pk=object_id)
        back = moderating.way_back(request, display.page_of(entry))
        text = request.POST.get("text", entry.content)
        if request.method == "POST" and self._edit(request, entry, text):
            return redirect(back)
        context = {
            "title": _("Change its words"),
            "subtitle": str(entry),
            "original": entry,
            "entry": entry,
            "text": text,
            "seen": request.POST.get("seen") or by_hand.digest(entry),
            "explanation": by_hand.edit_refusal(entry)
            or moderating.what_an_edit_does(entry, entry.chat),
            "back": back,
        }
        return self._page(request, "edit", context)

    def _edit(self, request: HttpRequest, entry: OutboxEntry, text: str) -> bool:
        """Whether it was done; else why not is told."""
        seen, by = request.POST.get("seen", ""), moderating.person(request)
        waits = entry.state == OutboxEntry.State.PENDING
        try:
            with transaction.atomic():
                if waits:
                    by_hand.reword(entry.pk, seen=seen, by=by, text=text)
                else:
                    by_hand.edit(entry.message_id or 0, seen=seen, by=by, text=text)
                moderating.keep(self, request, entry, _("Changed by hand."))
        except NotDone as refusal:
            messages.warning(request, str(refusal))
            return False
        told = _("It says other words now.") if waits else _("Its words are being changed.")
        messages.success(request, moderating.let_go(told, [entry]))
        return True

    def _rows(self, request: HttpRequest) -> QuerySet[OutboxEntry]:
        return self.get_queryset(request).select_related("chat__bot", "message")

    def _demand_moderator(self, request: HttpRequest) -> None:
        if not self.has_moderate_permission(request):
            raise PermissionDenied

    def _page(self, request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
        shared = {**self.admin_site.each_context(request), "opts": self.opts}
        template = f"admin/core/outboxentry/{name}.html"
        return TemplateResponse(request, template, {**shared, **context})

    def settle_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The two buttons of an entry of unknown outcome; leads back to the page they were on."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_settle_permission(request):
            raise PermissionDenied
        outcome = request.POST.get("outcome")
        if outcome not in ("done", "not_done"):
            return HttpResponseBadRequest("outcome is done or not_done")
        entries = self.reached(request, OutboxEntry.objects.select_related("message"))
        entry = get_object_or_404(entries, pk=object_id)
        settle_and_tell(self, request, entry, was_sent=outcome == "done")
        shown = entry.message if request.POST.get("back") == "message" else None
        return redirect(display.page_of(shown or entry))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        entry = self.get_object(request, unquote(object_id))
        may_moderate = self.has_moderate_permission(request)
        waits = entry is not None and review.waiting(self.get_queryset(request)).filter(pk=entry.pk)
        context = {
            "banners": banners.of(entry.chat) if entry else (),
            "offer": moderating.offer([entry], display.page_of(entry))
            if entry and may_moderate
            else moderating.Offer(),
            "cards": review.cards(waits) if waits else (),
            "may_moderate": may_moderate,
            "back": display.page_of(entry) if entry else "",
            "unknown": [entry] if entry and entry.state == UNKNOWN else [],
            "may_settle": self.has_settle_permission(request),
        }
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **context}
        )

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def shown_state(self, entry: OutboxEntry) -> SafeString:
        return display.label(entry.get_state_display(), entry.state)

    @admin.display(description=gettext_lazy("reason"), ordering="reason")
    def shown_reason(self, entry: OutboxEntry) -> SafeString | str:
        return coded(entry.reason)

    @admin.display(description=gettext_lazy("held"), ordering="held")
    def shown_held(self, entry: OutboxEntry) -> SafeString | str:
        is_waiting = entry.state == OutboxEntry.State.PENDING
        return holding.reason(entry) if is_waiting else coded(entry.held)

    @admin.display(description=gettext_lazy("content"))
    def said(self, entry: OutboxEntry) -> SafeString | str:
        if entry.is_forgotten:
            return display.forgotten()
        names = mentions.given(entry)
        pieces = conversation.in_line(conversation.own_pieces(entry, names), 60)
        return pieces or conversation.whom_of(entry, names) or display.name(entry.subject or "–")

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        mentions.give(shown.result_list)
        holding.give(shown.result_list)
        return shown

    @admin.display(description=gettext_lazy("content"))
    def shown_content(self, entry: OutboxEntry) -> SafeString:
        return display.forgotten() if entry.is_forgotten else display.name(entry.content or "–")

    @admin.display(description=gettext_lazy("done by hand"))
    def shown_deeds(self, entry: OutboxEntry) -> SafeString | str:
        return lines(deeds.of([entry]))

    @admin.display(description=gettext_lazy("step"))
    def shown_step(self, entry: OutboxEntry) -> str:
        """As the page of the turn counts, from 1."""
        return str(entry.step_index + 1) if entry.turn_id else "–"

    @admin.display(description=gettext_lazy("tool call"))
    def shown_call(self, entry: OutboxEntry) -> str:
        return str(entry.call_index + 1) if entry.turn_id else "–"

    @admin.display(description=gettext_lazy("message"))
    def shown_message(self, entry: OutboxEntry) -> SafeString | str:
        message = entry.message
        return display.link(display.page_of(message), message.handle) if message else "–"

    @admin.display(description=gettext_lazy("what it takes back or edits"))
    def shown_target(self, entry: OutboxEntry) -> SafeString | str:
        return _linked(entry.target)

    @admin.display(description=gettext_lazy("sent only after"))
    def shown_waits_for(self, entry: OutboxEntry) -> SafeString | str:
        return _linked(entry.waits_for)

    @admin.display(description=gettext_lazy("asked in the chat's history"))
    def shown_history(self, entry: OutboxEntry) -> str:
        """How often the history was asked for it, and how often it should have been there."""
        if not entry.history_asked:
            return _("never")
        asked = ngettext("%(count)d time", "%(count)d times", entry.history_asked)
        told = [asked % {"count": entry.history_asked}]
        if entry.history_asked_at:
            told.append(_("last %(time)s") % {"time": display.clock(entry.history_asked_at)})
        lacked = ngettext(
            "%(count)d reading lacked it", "%(count)d readings lacked it", entry.history_lacked
        )
        told.append(lacked % {"count": entry.history_lacked})
        return display.listed(told)

    @admin.display(description=gettext_lazy("the chat's later messages wait for evidence"))
    def shown_evidence_until(self, entry: OutboxEntry) -> str:
        until = entry.evidence_until
        if entry.state != UNKNOWN:
            return "–"
        if until is None:
            return _("from the bot's next connection on")
        if until > timezone.now():
            return _("until %(time)s") % {"time": display.clock(until)}
        return _("no longer, since %(time)s") % {"time": display.clock(until)}

    @admin.display(description=gettext_lazy("a draft until"))
    def shown_draft(self, entry: OutboxEntry) -> str:
        return display.clock(entry.draft_until) if entry.draft_until else "–"

    @admin.display(description=gettext_lazy("number of the connection"))
    def shown_connection(self, entry: OutboxEntry) -> str:
        return str(entry.connection_number or "–")

    @admin.display(description=gettext_lazy("parts"))
    def shown_parts(self, entry: OutboxEntry) -> SafeString:
        return display.json_block(entry.parts)

    @admin.display(description=gettext_lazy("recording or file"))
    def payload_size(self, entry: OutboxEntry) -> str:
        """Its size alone: nobody reads it here, and it is dropped once the entry is settled."""
        size = Func("payload", function="octet_length", output_field=IntegerField())
        found = OutboxEntry.objects.filter(pk=entry.pk).values_list(size, flat=True).first()
        return filesizeformat(found) if found else "–"


def lines(sentences: Iterable[str]) -> SafeString | str:
    """Sentences one below the other."""
    return format_html_join("", "<div><bdi>{}</bdi></div>", ((one,) for one in sentences)) or "–"


def coded(reason: str) -> SafeString | str:
    """Why an entry ended as it did, in words, with its code."""
    return display.coded(reasons.told_of_entry(reason), reason)


def _linked(entry: OutboxEntry | None) -> SafeString | str:
    """Another entry in words: what it does, how it stands, and its page."""
    if entry is None:
        return "–"
    told = display.listed((f"{entry.get_action_display()} #{entry.pk}", entry.get_state_display()))
    return display.link(display.page_of(entry), told)
