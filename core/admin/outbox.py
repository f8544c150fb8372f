"""The console's pages of the Sent Log and the Outbox."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Func, IntegerField, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core import reach
from core.admin import display, versions
from core.admin.facts import ChatFilter
from core.admin.settling import UNKNOWN, SettlingAdmin, settle_and_tell
from core.models import OutboxEntry, SentMessage

_WRITTEN = display.moment("created_at", gettext_lazy("written"))
_DUE = display.moment("due_at", gettext_lazy("due"))
_SETTLED = display.moment("settled_at", gettext_lazy("settled"))


@admin.register(SentMessage)
class SentMessageAdmin(SettlingAdmin[SentMessage]):
    belongs = reach.to_chat()
    list_display = (
        _WRITTEN,
        "chat",
        "handle",
        "said",
        "send_state",
        "reason",
        "message_id",
        "turn_link",
    )
    list_display_links = (_WRITTEN, "said")
    list_filter = ("entry__state", "kind", "chat__bot", "created_at", ChatFilter)
    search_fields = ("entries__content", "handle", "entry__platform_message_id")
    search_help_text = gettext_lazy("Content, handle or message id")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "shown_content",
                    ("send_state", "reason"),
                    "error",
                    ("chat", "turn"),
                    ("handle", "message_id"),
                    ("kind", "created_at"),
                    ("edits", "recall_asked"),
                )
            },
        ),
    )
    readonly_fields = ("shown_content", "send_state", "reason", "error", "message_id")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SentMessage]:
        rows = super().get_queryset(request)
        # All of it here: where a query joins something, the list's own joins are left out.
        return rows.select_related("chat", "entry").defer("entry__payload")

    def entries_of(self, rows: QuerySet[SentMessage]) -> QuerySet[OutboxEntry]:
        return OutboxEntry.objects.filter(current_of__in=rows)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        message = self.get_object(request, unquote(object_id))
        shown = versions.of(message) if message else ()
        context = {
            "versions": shown,
            "unknown": [version.entry for version in shown if version.entry.state == UNKNOWN],
            "may_settle": self.has_settle_permission(request),
            "back": "message",
        }
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **context}
        )

    @admin.display(description=gettext_lazy("content"))
    def said(self, message: SentMessage) -> SafeString:
        return display.excerpt(message.entry.content if message.entry else "")

    @admin.display(description=gettext_lazy("content"))
    def shown_content(self, message: SentMessage) -> SafeString:
        return display.name(message.entry.content if message.entry else "")

    @admin.display(description=gettext_lazy("state"), ordering="entry__state")
    def send_state(self, message: SentMessage) -> SafeString | str:
        entry = message.entry
        return display.label(entry.get_state_display(), entry.state) if entry else "–"

    @admin.display(description=gettext_lazy("reason"))
    def reason(self, message: SentMessage) -> str:
        return (message.entry.reason or message.entry.held) if message.entry else ""

    @admin.display(description=gettext_lazy("error in words"))
    def error(self, message: SentMessage) -> str:
        return message.entry.error if message.entry else ""

    @admin.display(description=gettext_lazy("message id"))
    def message_id(self, message: SentMessage) -> str:
        return message.entry.platform_message_id if message.entry else ""


@admin.register(OutboxEntry)
class OutboxEntryAdmin(SettlingAdmin[OutboxEntry]):
    belongs = reach.to_chat()
    list_display = (
        _WRITTEN,
        "chat",
        "action",
        "shown_state",
        "reason",
        "held",
        "said",
        _DUE,
        _SETTLED,
        "turn_link",
    )
    list_display_links = (_WRITTEN, "said")
    list_select_related = ("chat", "message")
    list_filter = ("state", "action", "bot", "created_at", ChatFilter)
    search_fields = ("content", "subject", "platform_message_id", "reason", "error")
    search_help_text = gettext_lazy("Content, target, message id, reason or error")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "shown_message",
                    "shown_content",
                    ("action", "shown_state"),
                    "subject",
                    ("reason", "held"),
                    "error",
                    ("shown_target", "shown_waits_for"),
                    ("bot", "chat"),
                    ("turn", "step_index", "call_index"),
                )
            },
        ),
        (
            gettext_lazy("When"),
            {
                "fields": (
                    ("created_at", "due_at"),
                    ("draft_until", "expires_at"),
                    ("sending_at", "settled_at"),
                    "recalled_at",
                )
            },
        ),
        (
            gettext_lazy("On the platform"),
            {
                "fields": (
                    ("platform_message_id", "connection_number"),
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
        "shown_target",
        "shown_waits_for",
        "shown_history",
        "shown_evidence_until",
        "shown_parts",
        "payload_size",
    )

    def entries_of(self, rows: QuerySet[OutboxEntry]) -> QuerySet[OutboxEntry]:
        return rows

    def get_urls(self) -> list[URLPattern]:
        settle = self.admin_site.admin_view(self.settle_view)
        name = "core_outboxentry_settle"
        return [path("<int:object_id>/settle/", settle, name=name), *super().get_urls()]

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
        context = {
            "unknown": [entry] if entry and entry.state == UNKNOWN else [],
            "may_settle": self.has_settle_permission(request),
        }
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **context}
        )

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def shown_state(self, entry: OutboxEntry) -> SafeString:
        return display.label(entry.get_state_display(), entry.state)

    @admin.display(description=gettext_lazy("content"))
    def said(self, entry: OutboxEntry) -> SafeString:
        return display.excerpt(entry.content or entry.subject or "–", 60)

    @admin.display(description=gettext_lazy("content"))
    def shown_content(self, entry: OutboxEntry) -> SafeString:
        return display.name(entry.content or "–")

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
        return ", ".join(told)

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

    @admin.display(description=gettext_lazy("parts"))
    def shown_parts(self, entry: OutboxEntry) -> SafeString:
        return display.json_block(entry.parts)

    @admin.display(description=gettext_lazy("recording or file"))
    def payload_size(self, entry: OutboxEntry) -> str:
        """Its size alone: nobody reads it here, and it is dropped once the entry is settled."""
        size = Func("payload", function="octet_length", output_field=IntegerField())
        found = OutboxEntry.objects.filter(pk=entry.pk).values_list(size, flat=True).first()
        return filesizeformat(found) if found else "–"


def _linked(entry: OutboxEntry | None) -> SafeString | str:
    """Another entry in words: what it does, how it stands, and its page."""
    if entry is None:
        return "–"
    told = f"{entry.get_action_display()} #{entry.pk}, {entry.get_state_display()}"
    return display.link(display.page_of(entry), told)
