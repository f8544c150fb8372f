"""The console's pages of chats and of the people seen in them."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import BaseModelFormSet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from core import chatsettings
from core.admin import display
from core.admin.facts import CappedPaginator, ChatFilter, FactAdmin
from core.admin.theme import ModelAdmin, ModelForm, TabularInline
from core.models import (
    CapabilitySetting,
    Chat,
    Decision,
    InboundItem,
    Member,
    OutboxEntry,
    SentMessage,
    Turn,
)

_LAST_ITEM = display.moment("last_message_at", _("last item"))
_DUE = display.moment("turn_due_at", _("due"))
_LAST_SEEN = display.moment("last_seen_at", _("last seen"))


class CapabilitySettingForm(ModelForm[CapabilitySetting]):
    """Refuses names that nothing reads: a mistyped one would switch nothing off in silence."""

    class Meta:
        model = CapabilitySetting
        fields = ("target", "name", "allowed")

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or self.cleaned_data
        target, name = cleaned.get("target"), cleaned.get("name")
        if target and name and name not in chatsettings.NAMES.get(target, ()):
            known = ", ".join(chatsettings.NAMES[target])
            raise forms.ValidationError(_("Known names: %(names)s"), params={"names": known})
        return cleaned


class CapabilitySettings(TabularInline[CapabilitySetting, Chat]):
    """What this chat's operator says; a name without a row inherits."""

    model = CapabilitySetting
    form = CapabilitySettingForm
    fields = ("target", "name", "allowed", "set_at", "set_by")
    readonly_fields = ("set_at", "set_by")
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[CapabilitySetting]:
        return super().get_queryset(request).select_related("set_by")


@admin.register(Chat)
class ChatAdmin(ModelAdmin[Chat]):
    """Chats appear by themselves when somebody speaks in them; here they are switched."""

    list_display = (
        "shown",
        "bot",
        "kind",
        "enabled",
        "sticker_learning",
        "messages",
        _LAST_ITEM,
        _DUE,
    )
    list_display_links = ("shown",)
    list_editable = ("enabled", "sticker_learning")
    list_filter = (
        "bot",
        "kind",
        "enabled",
        "sticker_learning",
        ("turn_due_at", admin.EmptyFieldListFilter),
    )
    list_select_related = ("bot",)
    search_fields = ("external_id", "title")
    search_help_text = _("Platform id or title")
    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    actions = ("enable", "disable")
    inlines = (CapabilitySettings,)
    readonly_fields = (
        "links",
        "bot",
        "kind",
        "external_id",
        "title",
        "messages",
        "last_message_at",
        "turn_due_at",
        "lease_until",
        "created_at",
    )
    fieldsets = (
        (None, {"fields": ("links", ("bot", "kind"), ("external_id", "title"))}),
        (
            _("What it may"),
            {"fields": ("enabled", "sticker_learning", ("patience_seconds", "daily_model_calls"))},
        ),
        (
            _("How it stands"),
            {
                "fields": (
                    ("messages", "last_message_at"),
                    ("turn_due_at", "lease_until"),
                    "created_at",
                )
            },
        ),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Chat | None = None) -> bool:
        # One that was mistyped can go; one in which something was said is switched off instead.
        has_history = obj is None or obj.messages > 0
        return not has_history and super().has_delete_permission(request, obj)

    def save_model(
        self, request: HttpRequest, obj: Chat, form: ModelForm[Chat], change: bool
    ) -> None:
        # Only what the operator changed: the row also carries the running turn's lease.
        if form.changed_data:
            obj.save(update_fields=form.changed_data)

    def save_formset(
        self,
        request: HttpRequest,
        form: ModelForm[Chat],
        formset: "BaseModelFormSet[Any, Any]",
        change: bool,
    ) -> None:
        for row in formset.save(commit=False):
            row.set_by_id = request.user.pk
            row.save()
        for row in formset.deleted_objects:
            row.delete()
        formset.save_m2m()

    @admin.action(description=_("Enable"), permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        self._flip(request, queryset, enabled=True)

    @admin.action(description=_("Disable"), permissions=["change"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        self._flip(request, queryset, enabled=False)

    def _flip(self, request: HttpRequest, queryset: QuerySet[Chat], *, enabled: bool) -> None:
        change = chatsettings.Change({"enabled": enabled}, {})
        chats = list(queryset.exclude(enabled=enabled))
        for chat in chats:
            chatsettings.apply(chat, change)
            self.log_change(request, chat, [{"changed": {"fields": ["enabled"]}}])
        told = ngettext("%(count)d chat switched.", "%(count)d chats switched.", len(chats))
        messages.success(request, told % {"count": len(chats)})

    @admin.display(description=_("chat"), ordering="external_id")
    def shown(self, chat: Chat) -> SafeString:
        return display.name(str(chat))

    @admin.display(description=_("see"))
    def links(self, chat: Chat) -> SafeString:
        shown = (
            (InboundItem, _("what was said")),
            (Turn, _("turns")),
            (SentMessage, _("Sent Log")),
            (OutboxEntry, _("Outbox")),
            (Decision, _("decisions")),
            (Member, _("members")),
        )
        made = [
            (display.link(display.list_url(model, chat=chat.pk), text),) for model, text in shown
        ]
        return format_html_join(" · ", "{}", made)


@admin.register(Member)
class MemberAdmin(FactAdmin[Member]):
    list_display = ("shown_name", "user_id", "role", "chat", _LAST_SEEN)
    list_select_related = ("chat",)
    list_filter = (ChatFilter,)
    search_fields = ("user_id", "name")

    @admin.display(description=_("name"), ordering="name")
    def shown_name(self, member: Member) -> SafeString:
        return display.name(member.name or member.user_id)
