"""What people changed in the console or by commands: the list of it, and the last of a chat or a bot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Generic, TypeVar

from auditlog.models import LogEntry
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.admin import display, switches
from core.admin.facts import ChatFilter, FactAdmin
from core.admin.reached import Reached
from core.models import Bot, CapabilitySetting, Chat
from core.reach import Reach, Rule

Row = TypeVar("Row", bound=Model)
_SHOWN = 5
_LONGEST = 200
_TITLES: Mapping[str, str | Promise] = {
    "in_catalogue": gettext_lazy("in the catalogue"),
    "verdict": gettext_lazy("verdict"),
    "attachments": gettext_lazy("files with it"),
    "rerun": gettext_lazy("run again with"),
    "failed_log_ins": gettext_lazy("failed log-ins"),
    "backup_codes": gettext_lazy("backup codes"),
    "person_forgotten": gettext_lazy("a person was forgotten"),
}
"""What acts change that is no field with a name of its own (core.audit)."""
_FLIPPED = (Bot, Chat, CapabilitySetting)
"""What is set for a chat or a bot; acts on its messages and stickers would drown it."""
_WHEN = display.moment("timestamp", gettext_lazy("when"))


@dataclass(frozen=True, slots=True)
class Flip:
    """One change for a person to read. Of what was made or taken away one side is empty. `code` is the
    switch that was turned, where it was one, as commands name it."""

    entry: LogEntry
    who: str
    what: str
    code: str
    parts: Sequence[tuple[str, str, str]]


def read(entry: LogEntry) -> Flip:
    """Lay out one row of the audit."""
    switch = (entry.additional_data or {}).get("switch", "")
    return Flip(
        entry=entry,
        who=entry.actor.get_username() if entry.actor else _("a command"),
        what=switches.described(switch) or entry.object_repr,
        code=switch,
        parts=list(_parts(entry)),
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

    @admin.display(description=gettext_lazy("what"))
    def what(self, entry: LogEntry) -> SafeString:
        chat = (entry.additional_data or {}).get("chat")
        flip = read(entry)
        told = display.name(flip.what)
        if flip.code:
            told = format_html("{} <code>{}</code>", told, flip.code)
        return format_html("{} {}", told, _chat_link(chat)) if chat else told

    @admin.display(description=gettext_lazy("of"), ordering="content_type")
    def kind(self, entry: LogEntry) -> str:
        return str(capfirst(entry.content_type.name))

    @admin.display(description=gettext_lazy("change"))
    def changes_made(self, entry: LogEntry) -> SafeString:
        changes = format_html_join("", "<div><bdi>{}</bdi>: {} → {}</div>", _shown(read(entry)))
        return format_html('<div class="arise-changes">{}</div>', changes)


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


def _chat_link(key: int) -> SafeString:
    return display.link(display.change_url(Chat, key), _("chat"))


def _shown(flip: Flip) -> Iterator[tuple[str, SafeString, SafeString]]:
    for name, before, after in flip.parts:
        yield (
            name,
            display.excerpt(before or "–", _LONGEST),
            display.excerpt(after or "–", _LONGEST),
        )


def _parts(entry: LogEntry) -> Iterator[tuple[str, str, str]]:
    """What changed: of what was made what it was given, without the key."""
    parts = _changes(entry)
    return ((name, before, after) for name, before, after in parts if before or after)


def _changes(entry: LogEntry) -> Iterator[tuple[str, str, str]]:
    for name, change in (entry.changes or {}).items():
        if name == "id":
            continue
        field = _field(entry, name)
        told = str(getattr(field, "verbose_name", None) or _TITLES.get(name, name))
        if isinstance(change, dict):  # of a many-to-many relation
            chosen = ", ".join(map(str, change.get("objects", ())))
            yield (told, "", chosen) if change.get("operation") == "add" else (told, chosen, "")
        else:
            yield told, _value(field, change[0]), _value(field, change[1])


def _field(entry: LogEntry, name: str) -> Any:
    """The field of the changed row; None for what is no field, or has no name in words."""
    model = entry.content_type.model_class()
    try:
        field = model._meta.get_field(name) if model and name not in _TITLES else None
    except FieldDoesNotExist:
        return None
    return field


def _value(field: Any, text: str) -> str:
    """As the audit has it: `True`, `None`, the code of a choice, a time in UTC, or the text itself."""
    if isinstance(field, DateTimeField) and (moment := parse_datetime(text)):
        return display.clock(moment.replace(tzinfo=UTC))
    known = {"True": _("on"), "False": _("off"), "None": ""}
    choices = getattr(field, "flatchoices", None) or ()
    return str({**dict(choices), **known}.get(text, text))
