"""The console's pages of chats and of the people seen in them."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core import chatsettings, reach, standing
from core.admin import acts, display, reasons, switches
from core.admin.audit import Audited
from core.admin.facts import CappedPaginator, ChatFilter, FactAdmin
from core.admin.forgetting import ForgetChat, ForgetPerson
from core.admin.live import Live
from core.admin.pausing import PausingAdmin, delivery
from core.admin.switches import ListForm, SwitchesForm
from core.admin.theme import ModelForm
from core.models import (
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
_LEARNING_WAS_TOLD = "arise.learning_was_told"
_LEFT = display.moment("left_at", _("left"))


@admin.register(Chat)
class ChatAdmin(Audited[Chat], PausingAdmin[Chat], Live, ForgetChat):
    """Chats appear by themselves when somebody speaks in them; here they are switched."""

    belongs = reach.to_chat("pk")
    list_display = (
        "shown",
        "bot",
        "kind",
        "enabled",
        "sticker_learning",
        delivery,
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
        "delivery_mode",
        ("paused_at", admin.EmptyFieldListFilter),
        ("turn_due_at", admin.EmptyFieldListFilter),
        ("silence_reason", admin.EmptyFieldListFilter),
    )
    list_select_related = ("bot__paused_by", "paused_by")
    search_fields = ("external_id", "title")
    search_help_text = _("Platform id or title")
    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    actions: tuple[str, ...] = (
        "enable",
        "disable",
        "pause",
        "resume",
        "learn_stickers",
        "stop_learning_stickers",
    )
    form = SwitchesForm
    change_form_template = "admin/core/switched_form.html"
    readonly_fields: ClassVar[tuple[str, ...]] = (
        "links",
        "learning_set",
        "bot",
        "kind",
        "external_id",
        "title",
        "shown_role",
        "speech",
        "messages",
        "last_message_at",
        "turn_due_at",
        "lease_until",
        "created_at",
    )
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("links", ("bot", "kind"), ("external_id", "title"))}),
        (
            _("What it may"),
            {
                "fields": (
                    "enabled",
                    "delivery_mode",
                    "persona_override",
                    ("patience_seconds", "daily_model_calls"),
                )
            },
        ),
        (
            _("Sticker learning"),
            {
                "description": lazy(chatsettings.why_nothing_is_learned, str)(),
                "fields": (
                    ("sticker_learning", "learning_set"),
                    ("sticker_sightings", "sticker_rate"),
                    ("sticker_daily_calls", "sticker_daily_tokens"),
                    "sticker_cap",
                    ("sticker_review", "sticker_context"),
                ),
            },
        ),
        (
            _("How it stands"),
            {
                "fields": (
                    ("speech", "shown_role"),
                    ("messages", "last_message_at"),
                    ("turn_due_at", "lease_until"),
                    "created_at",
                )
            },
        ),
    )

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == chatsettings.MODE:
            # As with the switches: only what the operator changed is set.
            kwargs["required"] = False
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Chat | None = None) -> bool:
        # One that was mistyped can go; one in which something was said is switched off instead.
        has_history = obj is None or obj.messages > 0
        return not has_history and super().has_delete_permission(request, obj)

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[ModelForm[Chat]]:
        return super().get_changelist_form(request, form=ListForm, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: Chat, form: SwitchesForm | ListForm, change: bool
    ) -> None:
        # Only what the operator changed, on the row as it is now: it also carries the running turn's
        # lease, and whoever switched the learning before stays named.
        fields = {name: form.cleaned_data[name] for name in form.changed_columns}
        if not fields.get(chatsettings.MODE, True):
            del fields[chatsettings.MODE]  # what was not chosen is as it was
        with transaction.atomic():
            stored = Chat.objects.select_for_update().get(pk=obj.pk)
            wanted = chatsettings.Change(fields, switches.chosen(form))
            chatsettings.apply(stored, wanted, by=switches.person(request))
        if fields.get("sticker_learning"):
            _tell_of_learning(request)

    @admin.action(description=_("Enable"), permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        self._flip(request, queryset, "enabled", on=True)

    @admin.action(description=_("Disable"), permissions=["change"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        self._flip(request, queryset, "enabled", on=False)

    @admin.action(description=_("Let it learn stickers"), permissions=["change"])
    def learn_stickers(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        self._flip(request, queryset, "sticker_learning", on=True)

    @admin.action(description=_("Stop learning stickers"), permissions=["change"])
    def stop_learning_stickers(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        self._flip(request, queryset, "sticker_learning", on=False)

    def _flip(self, request: HttpRequest, queryset: QuerySet[Chat], name: str, *, on: bool) -> None:
        with transaction.atomic():
            chats = chatsettings.switch_all(queryset, name, on=on, by=switches.person(request))
            acts.log_changes(request, chats, [{"changed": {"fields": [name]}}])
        told = ngettext("%(count)d chat switched.", "%(count)d chats switched.", len(chats))
        messages.success(request, told % {"count": len(chats)})
        if on and name == "sticker_learning":
            _tell_of_learning(request)

    @admin.display(description=_("last switched"))
    def learning_set(self, chat: Chat) -> SafeString | str:
        if chat.sticker_learning_set_at is None:
            return gettext("never")
        moment = display.clock(chat.sticker_learning_set_at)
        by = chat.sticker_learning_set_by
        if by is None:
            told = gettext("%(moment)s, by a command or an account that is gone")
            return told % {"moment": moment}
        return format_html(gettext("{}, by {}"), moment, display.name(by.get_username()))

    @admin.display(description=_("chat"), ordering="external_id")
    def shown(self, chat: Chat) -> SafeString:
        return display.name(str(chat))

    @admin.display(description=_("may speak"))
    def speech(self, chat: Chat) -> SafeString:
        reason = standing.silence(chat, now=timezone.now())
        if not reason:
            return display.label(gettext("yes"), "good")
        if reason == standing.LOGGED_OUT:
            return display.label(gettext("no: logged out"), "bad")
        told = gettext("no: %(reason)s") % {"reason": reasons.in_brief(reason)}
        if chat.silenced_until is not None:
            told = gettext("%(told)s until %(moment)s") % {
                "told": told,
                "moment": display.clock(chat.silenced_until),
            }
        return display.label(told, "warn")

    @admin.display(description=_("the bot's role"))
    def shown_role(self, chat: Chat) -> SafeString | str:
        return display.coded(reasons.role(chat.bot_role), chat.bot_role) or "–"

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


def _tell_of_learning(request: HttpRequest) -> None:
    """Say once, however many chats were switched on, where learning comes to nothing."""
    told = chatsettings.why_nothing_is_learned()
    if told and not request.META.get(_LEARNING_WAS_TOLD):
        request.META[_LEARNING_WAS_TOLD] = True
        messages.warning(request, told)


@admin.register(Member)
class MemberAdmin(ForgetPerson, FactAdmin[Member]):
    belongs = reach.to_chat()
    list_display = ("shown_name", "user_id", "shown_role", "chat", _LAST_SEEN, _LEFT)
    list_select_related = ("chat",)
    list_filter = (ChatFilter,)
    search_fields = ("user_id", "name")
    named_by = "user_id"
    fields = ("chat", "user_id", "name", "shown_role", "last_seen_at", "left_at")
    readonly_fields = ("shown_role",)

    @admin.display(description=_("name"), ordering="name")
    def shown_name(self, member: Member) -> SafeString:
        return display.name(member.name or member.user_id)

    @admin.display(description=_("role"), ordering="role")
    def shown_role(self, member: Member) -> SafeString | str:
        return display.coded(reasons.role(member.role), member.role) or "–"
