"""The console's pages of what people said and did, and of what the gate decided about it."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import reach, records
from core.admin import conversation, display, mentions, reasons, turn_story
from core.admin.facts import ChatFilter, FactAdmin
from core.models import Decision, InboundItem

_RECEIVED = display.moment("received_at", _("received"))
_DECIDED = display.moment("created_at", _("decided"))
_RECALLED = display.moment("recalled_at", _("recalled"))


@admin.register(InboundItem)
class InboundItemAdmin(FactAdmin[InboundItem]):
    list_title = _("What was said")
    belongs = reach.to_chat()
    list_display = (
        _RECEIVED,
        "chat",
        "kind",
        "sender",
        "said",
        "trigger",
        "decision",
        "turn_link",
        _RECALLED,
    )
    list_display_links = (_RECEIVED, "said")
    list_select_related = ("chat",)
    list_filter = ("bot", "kind", "trigger", "from_self", "is_old", "received_at", ChatFilter)
    search_fields = ("text", "sender_name", "sender_id", "platform_message_id")
    search_help_text = _("Text, sender or message id")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "sender",
                    "shown_text",
                    ("bot", "chat"),
                    ("kind", "trigger"),
                    ("decision", "turn"),
                    ("sent_at", "received_at"),
                    ("reply_to", "shown_target"),
                    ("shown_mentions", "shown_emoji"),
                    ("recalled_at", "is_taken_back"),
                    ("from_self", "is_old"),
                    ("shown_role", "platform_message_id"),
                    "shown_parts",
                )
            },
        ),
    )
    readonly_fields = (
        "sender",
        "shown_text",
        "decision",
        "shown_role",
        "shown_target",
        "shown_mentions",
        "shown_emoji",
        "is_taken_back",
        "shown_parts",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[InboundItem]:
        return super().get_queryset(request).annotate(covering=records.covering_decision())

    @admin.display(description=_("decision"))
    def decision(self, item: InboundItem) -> SafeString | str:
        """Why it was answered, or why not; nothing while it is still gathered."""
        covering: dict[str, str] | None = getattr(item, "covering", None)
        if not covering:
            return "–"
        verdict = Decision.Verdict(covering["verdict"])
        label = display.label(verdict.label, verdict.value)
        return format_html("{} {}", label, _coded(covering["reason"]))

    @admin.display(description=_("sender"), ordering="sender_id")
    def sender(self, item: InboundItem) -> SafeString:
        return display.name(f"{item.sender_name} ({item.sender_id})")

    @admin.display(description=_("sender's role"))
    def shown_role(self, item: InboundItem) -> SafeString | str:
        return display.coded(reasons.role(item.sender_role), item.sender_role) or "–"

    @admin.display(description=_("text"))
    def said(self, item: InboundItem) -> SafeString | str:
        names = mentions.given(item)
        if item.kind == InboundItem.Kind.POKE:
            return format_html(gettext("(pokes {})"), conversation.whom_of(item, names) or "–")
        pieces = conversation.pieces_of(item, names)
        return conversation.in_line(pieces) or display.name(self.shown_emoji(item))

    @admin.display(description=_("text"))
    def shown_text(self, item: InboundItem) -> SafeString:
        pieces = conversation.pieces_of(item, mentions.known([item]))
        return conversation.in_line(pieces, len(item.text) + 10_000)

    @admin.display(description=_("mentions"))
    def shown_mentions(self, item: InboundItem) -> SafeString | str:
        names = mentions.known([item])
        told = [(mentions.name(names, item.chat_id, one), one) for one in item.mentions]
        return format_html_join(" ", '<bdi title="{1}">@{0}</bdi>', told) or "–"

    @admin.display(description=_("emoji"))
    def shown_emoji(self, item: InboundItem) -> str:
        return " ".join(map(conversation.emoji_of, item.emoji)) or "–"

    @admin.display(description=_("reaction taken back"), boolean=True)
    def is_taken_back(self, item: InboundItem) -> bool:
        return item.removed

    @admin.display(description=_("target"))
    def shown_target(self, item: InboundItem) -> SafeString | str:
        """Whom a poke was for, by name; the message that a reaction is under, by its id."""
        return conversation.whom_of(item, mentions.known([item])) or item.target_id or "–"

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        mentions.give(shown.result_list)
        return shown

    @admin.display(description=_("parts"))
    def shown_parts(self, item: InboundItem) -> SafeString:
        return display.json_block(item.parts)


@admin.register(Decision)
class DecisionAdmin(FactAdmin[Decision]):
    belongs = reach.to_chat()
    list_display = (_DECIDED, "chat", "shown_verdict", "shown_reason", "items", "turn_link")
    list_display_links = (_DECIDED,)
    list_select_related = ("chat",)
    list_filter = ("verdict", "chat__bot", "created_at", ChatFilter)
    search_fields = ("reason", "chat__external_id", "chat__title")
    readonly_fields = ("items",)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        decision: Decision = self.get_object(request, unquote(object_id))
        judgement = turn_story.judgement(decision)
        is_skip = decision.verdict == Decision.Verdict.SKIP
        told = {"title": gettext("Why silent? %(reason)s") % {"reason": judgement.reason.said}}
        context = {
            **(told if is_skip else {}),
            **(extra_context or {}),
            "judgement": judgement,
            "chat": decision.chat,
        }
        return super().change_view(request, object_id, form_url, context)

    @admin.display(description=_("verdict"), ordering="verdict")
    def shown_verdict(self, decision: Decision) -> SafeString:
        return display.label(decision.get_verdict_display(), decision.verdict)

    @admin.display(description=_("reason"), ordering="reason")
    def shown_reason(self, decision: Decision) -> SafeString | str:
        return _coded(decision.reason)

    @admin.display(description=_("items"))
    def items(self, decision: Decision) -> SafeString:
        """The items that it covers, as a filtered list."""
        url = display.list_url(
            InboundItem,
            chat=decision.chat_id,
            id__gte=decision.first_item_id,
            id__lte=decision.last_item_id,
        )
        return display.link(url, f"{decision.first_item_id} – {decision.last_item_id}")


def _coded(reason: str) -> SafeString | str:
    return display.coded(reasons.told(reason).said, reason)
