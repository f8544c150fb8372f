"""The console's pages of the Sent Log."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import outbox, reach
from core.admin import (
    banners,
    conversation,
    deeds,
    display,
    holding,
    moderating,
    versions,
)
from core.admin.facts import ChatFilter
from core.admin.moderating import ModeratingAdmin
from core.admin.outbox import WRITTEN, coded, lines
from core.admin.settling import UNKNOWN
from core.models import OutboxEntry, SentMessage


class SendStateFilter(admin.ChoicesFieldListFilter):
    """By the state of the current entry. What few entries are is looked up among them, once each: a
    list in its order would be gone through until enough had been met."""

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[SentMessage]
    ) -> QuerySet[SentMessage] | None:
        asked = self.lookup_val[-1] if self.lookup_val else ""
        few = set(OutboxEntry.State.values) - {OutboxEntry.State.SENT}
        if asked not in few:
            return super().queryset(request, queryset)
        entries = OutboxEntry.objects.filter(state=asked).order_by().values("pk")
        return queryset.filter(entry__in=entries.distinct())


@admin.register(SentMessage)
class SentMessageAdmin(ModeratingAdmin[SentMessage]):
    list_title = gettext_lazy("Sent Log")
    belongs = reach.to_chat()
    list_display = (
        WRITTEN,
        "chat",
        "handle",
        "kind",
        "said",
        "send_state",
        "reason",
        "message_id",
        "turn_link",
    )
    list_display_links = (WRITTEN, "said")
    list_filter = (("entry__state", SendStateFilter), "kind", "chat__bot", "created_at", ChatFilter)
    search_fields = ("entry__content", "handle", "entry__platform_message_id")
    search_help_text = gettext_lazy("Content, chat, handle or message id")
    found_by_chat = True
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
                    ("edits", "shown_recall"),
                    "shown_deeds",
                )
            },
        ),
    )
    readonly_fields = (
        "shown_content",
        "send_state",
        "reason",
        "error",
        "message_id",
        "shown_recall",
        "shown_deeds",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SentMessage]:
        rows = super().get_queryset(request)
        # All of it here: where a query joins something, the list's own joins are left out.
        return rows.select_related("chat", "entry").defer("entry__payload")

    def entries_of(self, rows: QuerySet[SentMessage]) -> QuerySet[OutboxEntry]:
        return OutboxEntry.objects.filter(current_of__in=rows)

    def waiting_of(self, rows: QuerySet[SentMessage]) -> QuerySet[OutboxEntry]:
        return OutboxEntry.objects.filter(message__in=rows)

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
            "banners": banners.of(message.chat) if message else (),
            "offer": self._offer(request, message, shown),
            "versions": shown,
            "unknown": [version.entry for version in shown if version.entry.state == UNKNOWN],
            "may_settle": self.has_settle_permission(request),
            "back": "message",
        }
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **context}
        )

    def _offer(
        self,
        request: HttpRequest,
        message: SentMessage | None,
        shown: Sequence[versions.Version],
    ) -> moderating.Offer:
        if message is None or not self.has_moderate_permission(request):
            return moderating.Offer()
        entries = [version.entry for version in shown]
        for entry in entries:
            entry.message, entry.chat = message, message.chat
        return moderating.offer(entries, display.page_of(message))

    @admin.display(description=gettext_lazy("content"))
    def said(self, message: SentMessage) -> SafeString:
        entry = message.entry
        if entry is None or entry.is_forgotten:
            return display.forgotten() if entry else SafeString()
        return conversation.in_line(conversation.own_pieces(entry, {}))

    @admin.display(description=gettext_lazy("content"))
    def shown_content(self, message: SentMessage) -> SafeString:
        entry = message.entry
        if entry is None or entry.is_forgotten:
            return display.forgotten() if entry else SafeString()
        return display.name(entry.content)

    @admin.display(description=gettext_lazy("state"), ordering="entry__state")
    def send_state(self, message: SentMessage) -> SafeString | str:
        entry = message.entry
        return display.label(entry.get_state_display(), entry.state) if entry else "–"

    @admin.display(description=gettext_lazy("reason"))
    def reason(self, message: SentMessage) -> SafeString | str:
        entry = message.entry
        return (coded(entry.reason) or holding.reason(entry)) if entry else ""

    @admin.display(description=gettext_lazy("asked to take it back"))
    def shown_recall(self, message: SentMessage) -> str:
        if not message.recall_asked:
            return _("nobody")
        # A recall for which other words wait is a change.
        rows = message.entries.filter(waiting=None).select_related("decided_by").order_by("-pk")
        by_operator = Q(reason=outbox.BY_OPERATOR)
        asked = rows.filter(Q(action=OutboxEntry.Action.RECALL) | by_operator).first()
        if asked is None or not (asked.by_hand or asked.reason == outbox.BY_OPERATOR):
            return _("the model")
        return asked.decided_by.get_username() if asked.decided_by else _("somebody")

    @admin.display(description=gettext_lazy("done by hand"))
    def shown_deeds(self, message: SentMessage) -> SafeString | str:
        return lines(deeds.of(list(message.entries.select_related("decided_by").order_by("pk"))))

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        holding.give(message.entry for message in shown.result_list)
        return shown

    @admin.display(description=gettext_lazy("error in words"))
    def error(self, message: SentMessage) -> str:
        return message.entry.error if message.entry else ""

    @admin.display(description=gettext_lazy("message id"))
    def message_id(self, message: SentMessage) -> str:
        return message.entry.platform_message_id if message.entry else ""
