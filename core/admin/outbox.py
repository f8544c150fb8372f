"""The console's pages of the Sent Log and the Outbox."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from core.admin import display
from core.admin.facts import ChatFilter, FactAdmin
from core.models import OutboxEntry, SentMessage

_WRITTEN = display.moment("created_at", _("written"))
_DUE = display.moment("due_at", _("due"))
_SETTLED = display.moment("settled_at", _("settled"))


@admin.register(SentMessage)
class SentMessageAdmin(FactAdmin[SentMessage]):
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
    list_select_related = ("chat", "entry")
    list_filter = ("entry__state", "kind", "chat__bot", "created_at", ChatFilter)
    search_fields = ("entries__content", "handle", "entry__platform_message_id")
    search_help_text = _("Content, handle or message id")
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
                    ("kind", "edits"),
                    ("created_at", "versions"),
                )
            },
        ),
    )
    readonly_fields = ("shown_content", "send_state", "reason", "error", "message_id", "versions")

    @admin.display(description=_("content"))
    def said(self, message: SentMessage) -> SafeString:
        return display.excerpt(message.entry.content if message.entry else "")

    @admin.display(description=_("content"))
    def shown_content(self, message: SentMessage) -> SafeString:
        return display.name(message.entry.content if message.entry else "")

    @admin.display(description=_("state"), ordering="entry__state")
    def send_state(self, message: SentMessage) -> SafeString | str:
        entry = message.entry
        return display.label(entry.get_state_display(), entry.state) if entry else "–"

    @admin.display(description=_("reason"))
    def reason(self, message: SentMessage) -> str:
        return (message.entry.reason or message.entry.held) if message.entry else ""

    @admin.display(description=_("error in words"))
    def error(self, message: SentMessage) -> str:
        return message.entry.error if message.entry else ""

    @admin.display(description=_("message id"))
    def message_id(self, message: SentMessage) -> str:
        return message.entry.platform_message_id if message.entry else ""

    @admin.display(description=_("Outbox"))
    def versions(self, message: SentMessage) -> SafeString:
        url = display.list_url(OutboxEntry, message__id__exact=message.pk)
        return display.link(url, _("its entries"))


@admin.register(OutboxEntry)
class OutboxEntryAdmin(FactAdmin[OutboxEntry]):
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
    search_fields = ("content", "platform_message_id", "reason", "error")
    search_help_text = _("Content, message id, reason or error")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "message",
                    ("action", "shown_state"),
                    ("reason", "held"),
                    "error",
                    ("bot", "chat"),
                    ("turn", "step_index", "call_index"),
                    ("created_at", "due_at"),
                    ("draft_until", "expires_at"),
                    ("sending_at", "settled_at"),
                    ("platform_message_id", "connection_number"),
                    "shown_parts",
                )
            },
        ),
    )
    readonly_fields = ("shown_state", "shown_parts")

    @admin.display(description=_("state"), ordering="state")
    def shown_state(self, entry: OutboxEntry) -> SafeString:
        return display.label(entry.get_state_display(), entry.state)

    @admin.display(description=_("content"))
    def said(self, entry: OutboxEntry) -> SafeString:
        return display.excerpt(entry.content or "–", 60)

    @admin.display(description=_("parts"))
    def shown_parts(self, entry: OutboxEntry) -> SafeString:
        return display.json_block(entry.parts)
