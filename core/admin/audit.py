"""What people changed in the console or by commands: the list of it, and the last of a chat or a bot."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from auditlog.models import LogEntry
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from core.admin import changes, display, switches
from core.admin.facts import ChatFilter, FactAdmin
from core.admin.reached import Reached
from core.models import Bot, CapabilitySetting, Chat
from core.reach import Reach, Rule

Row = TypeVar("Row", bound=Model)
_SHOWN = 5
_FLIPPED = (Bot, Chat, CapabilitySetting)
"""What is set for a chat or a bot; acts on its messages and stickers would drown it."""
_WHEN = display.moment("timestamp", gettext_lazy("when"))
_THERE = "_is_there"


@dataclass(frozen=True, slots=True)
class Flip:
    """One change for a person to read: what it was of, and what changed, a line each. `code` is the
    switch that was turned, where it was one, as commands name it."""

    entry: LogEntry
    who: str
    what: str
    code: str
    lines: Sequence[SafeString]


def read(entry: LogEntry) -> Flip:
    """Lay out one row of the audit."""
    switch = (entry.additional_data or {}).get("switch", "")
    return Flip(
        entry=entry,
        who=entry.actor.get_username() if entry.actor else _("a command"),
        what=switches.described(switch) or _named(entry),
        code=switch,
        lines=changes.told(entry),
    )


def _within(entries: QuerySet[Any], within: Reach) -> QuerySet[Any]:
    """Changes of chats and bots within reach; all others concern the whole site."""
    return entries.filter(
        Q(additional_data__bot__in=list(within.bots))
        | Q(additional_data__chat__in=list(within.chats))
    )


class ChangedChatFilter(ChatFilter):
    """The changes of one chat and of its switches."""

    def narrow(self, rows: QuerySet[Any], key: int) -> QuerySet[Any]:
        return rows.filter(additional_data__chat=key)


class ChangedBotFilter(ChatFilter):
    """The changes of one bot and of what is set for all of its chats."""

    title = gettext_lazy("bot")
    parameter_name = "bot"
    model = Bot

    def narrow(self, rows: QuerySet[Any], key: int) -> QuerySet[Any]:
        return rows.filter(additional_data__bot=key, additional_data__chat__isnull=True)


admin.site.unregister(LogEntry)


@admin.register(LogEntry)
class AuditAdmin(FactAdmin[LogEntry]):
    """Who changed what, when, from what and to what."""

    list_title = gettext_lazy("Audit")
    belongs = Rule(_within, may_edit=False)
    list_display = (_WHEN, "who", "kind", "what", "changes_made")
    list_display_links = (_WHEN,)
    list_select_related = ("actor", "content_type")
    list_filter = ("action", "timestamp", ChangedChatFilter, ChangedBotFilter)
    search_fields = ("object_repr", "actor__username")
    search_help_text = gettext_lazy("Person, or what was changed")
    fields = ("when", "who", "kind", "what", "changes_made")
    readonly_fields = ("when", "who", "kind", "what", "changes_made")

    @admin.display(description=gettext_lazy("when"))
    def when(self, entry: LogEntry) -> str:
        return display.clock(entry.timestamp)

    @admin.display(description=gettext_lazy("who"), ordering="actor__username")
    def who(self, entry: LogEntry) -> SafeString:
        return display.name(read(entry).who)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        _look_for(shown.result_list)
        return shown

    @admin.display(description=pgettext_lazy("audit", "what"))
    def what(self, entry: LogEntry) -> SafeString:
        data = entry.additional_data or {}
        chat, bot = data.get("chat"), data.get("bot")
        flip = read(entry)
        told = display.name(flip.what)
        if not hasattr(entry, _THERE):
            _look_for([entry])
        if getattr(entry, _THERE):
            url = display.change_url(_model(entry), entry.object_pk)
            told = display.link(url, flip.what)
            chat = None if entry.content_type.model == "chat" else chat
        if flip.code:
            told = format_html("{} <code>{}</code>", told, flip.code)
        if chat:
            return format_html("{} {}", told, _link_of(Chat, chat))
        return format_html("{} {}", told, _link_of(Bot, bot)) if flip.code and bot else told

    @admin.display(description=pgettext_lazy("audit", "of"), ordering="content_type")
    def kind(self, entry: LogEntry) -> str:
        return str(capfirst(_(entry.content_type.name)))

    @admin.display(description=gettext_lazy("change"))
    def changes_made(self, entry: LogEntry) -> SafeString:
        lines = format_html_join("", "<div>{}</div>", ((line,) for line in read(entry).lines))
        return format_html('<div class="arise-changes">{}</div>', lines)


class Audited(Reached[Row], Generic[Row]):
    """The page of a chat or a bot, with the last changes of it."""

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = {**(extra_context or {}), **_latest(self, request, object_id)}
        return super().change_view(request, object_id, form_url, context)


def _latest(page: Any, request: HttpRequest, object_id: str) -> dict[str, Any]:
    if not request.user.has_perm("auditlog.view_logentry"):
        return {}
    row: Bot | Chat = page.get_object(request, object_id)
    flipped = ContentType.objects.get_for_models(*_FLIPPED).values()
    entries = LogEntry.objects.select_related("actor").order_by("-id")
    entries = entries.filter(content_type__in=flipped)
    if isinstance(row, Chat):
        found = entries.filter(additional_data__chat=row.pk)
        url = display.list_url(LogEntry, chat=row.pk)
    else:
        found = entries.filter(additional_data__bot=row.pk, additional_data__chat__isnull=True)
        url = display.list_url(LogEntry, bot=row.pk)
    return {"flips": [read(entry) for entry in found[:_SHOWN]], "flips_url": url}


def _link_of(model: type[Bot | Chat], key: int) -> SafeString:
    return display.link(display.change_url(model, key), model._meta.verbose_name)


def _named(entry: LogEntry) -> str:
    """What the row was called; a role in the language of whoever reads it."""
    is_role = entry.content_type.model == "group"
    return pgettext("role", entry.object_repr) if is_role else entry.object_repr


def _model(entry: LogEntry) -> Any:
    return entry.content_type.model_class()


def _look_for(entries: Iterable[LogEntry]) -> None:
    """Note of each of these which is of a row that is still there and has a page: a query a model."""
    keys: defaultdict[Any, set[str]] = defaultdict(set)
    for entry in entries:
        keys[_model(entry)].add(entry.object_pk)
    there = {
        (model, str(key))
        for model, wanted in keys.items()
        if model in admin.site._registry
        for key in model._default_manager.filter(pk__in=wanted).values_list("pk", flat=True)
    }
    for entry in entries:
        setattr(entry, _THERE, (_model(entry), entry.object_pk) in there)
