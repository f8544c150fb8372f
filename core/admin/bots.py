"""The console's page of bots. Whether they are connected is the gateway's to say, which extends it."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import reach, tokens
from core.admin import display, switches
from core.admin.audit import Audited
from core.admin.pausing import PausingAdmin, delivery
from core.admin.switches import ListForm, SwitchesForm
from core.admin.theme import ModelForm
from core.models import Bot, Chat


@admin.register(Bot)
class BotAdmin(Audited[Bot], PausingAdmin[Bot]):
    """Bots are made and switched here; one that has chats is switched off rather than deleted."""

    belongs = reach.to_bot("pk")
    list_display: tuple[Any, ...] = (
        "self_id",
        "shown_name",
        "enabled",
        delivery,
        "chat_model",
        "chat_total",
    )
    list_display_links = ("self_id",)
    list_editable = ("enabled",)
    list_filter = ("enabled", ("paused_at", admin.EmptyFieldListFilter))
    list_select_related = ("paused_by",)
    search_fields = ("self_id", "name")
    ordering = ("self_id",)
    actions = ("new_token", "pause", "resume")
    form = SwitchesForm
    change_form_template = "admin/core/switched_form.html"
    readonly_fields: ClassVar[tuple[str, ...]] = ("has_token", "created_at")
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("self_id", "name", "enabled", "has_token")}),
        (gettext_lazy("Persona and model"), {"fields": ("persona", "chat_model")}),
        (
            gettext_lazy("New chats"),
            {"fields": ("new_group_chats_enabled", "new_private_chats_enabled")},
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bot]:
        return super().get_queryset(request).annotate(chat_count=Count("chats"))

    def get_readonly_fields(self, request: HttpRequest, obj: Bot | None = None) -> tuple[str, ...]:
        # Chats belong to an account: a mistyped one can be put right only until it has some.
        # A playground's account is made of who it is for.
        is_fixed = obj is not None and (obj.is_playground or obj.chats.exists())
        fixed = ("self_id",) if is_fixed else ()
        return (*self.readonly_fields, *fixed)

    def has_delete_permission(self, request: HttpRequest, obj: Bot | None = None) -> bool:
        # One that was mistyped can go; one with a history is switched off instead.
        has_history = obj is None or obj.chats.filter(messages__gt=0).exists()
        return not has_history and super().has_delete_permission(request, obj)

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[ModelForm[Bot]]:
        return super().get_changelist_form(request, form=ListForm, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: Bot, form: SwitchesForm | ListForm, change: bool
    ) -> None:
        if change:
            # The fields of the form alone: what else the row holds may have moved meanwhile.
            if form.changed_columns:
                obj.save(update_fields=form.changed_columns)
            switches.save(request, form)
            return
        token = _with_new_token(obj)
        obj.save()
        _show_token(request, obj, token)

    @admin.action(description=gettext_lazy("New token (the old one ends)"), permissions=["change"])
    def new_token(self, request: HttpRequest, queryset: QuerySet[Bot]) -> None:
        if queryset.filter(is_playground=True).exists():
            messages.warning(
                request, _("A playground has no token: its page alone connects as it.")
            )
        for bot in queryset.filter(is_playground=False):
            token = _with_new_token(bot)
            bot.save(update_fields=["token_hash"])
            self.log_change(request, bot, _("Gave it a new token."))
            _show_token(request, bot, token)

    @admin.display(description=gettext_lazy("name"), ordering="name")
    def shown_name(self, bot: Bot) -> SafeString:
        if bot.is_playground:
            return format_html("{} {}", display.name(bot.name), display.label(_("playground")))
        return display.name(bot.name)

    @admin.display(description=gettext_lazy("chats"), ordering="chat_count")
    def chat_total(self, bot: Bot) -> SafeString:
        count: int = getattr(bot, "chat_count", 0)
        return display.link(display.list_url(Chat, bot__id__exact=bot.pk), count)

    @admin.display(description=gettext_lazy("token"))
    def has_token(self, bot: Bot) -> str:
        if bot._state.adding:
            return _("Made when you save, and shown once.")
        if bot.is_playground:
            return _("None: the playground's page alone connects as it.")
        if not bot.token_hash:
            return _("None: it can't connect. Use “New token” in the list of bots.")
        return _("Set; only its hash is kept. “New token” in the list of bots replaces it.")


def _with_new_token(bot: Bot) -> str:
    token = tokens.new_token()
    bot.token_hash = tokens.hash_token(token)
    return token


def _show_token(request: HttpRequest, bot: Bot, token: str) -> None:
    messages.warning(
        request,
        format_html(
            _("Token of {}, shown only now: {}"),
            bot,
            format_html('<code class="arise-token">{}</code>', token),
        ),
    )
