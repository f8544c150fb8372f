"""How the audit of changes reads: each change as a sentence, of acts what was done, of values their words.

The audit keeps codes (core.audit); what is no act and no code reads as field, before and after.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from auditlog.models import LogEntry
from django.contrib.auth.models import Group
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField
from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from core.admin import display, reasons
from core.audit import HIDDEN

Words = str | Promise
_LONGEST = 200
_NOTHING = {"", "None", "[]", "{}"}

_TITLES: Mapping[str, Words] = {
    "in_catalogue": gettext_lazy("in the catalogue"),
    "verdict": gettext_lazy("verdict"),
    "attachments": gettext_lazy("files with it"),
    "failed_log_ins": gettext_lazy("failed log-ins"),
    "content": gettext_lazy("content"),
}
"""What acts change that is no field with a name of its own (core.audit)."""

_DONE: Mapping[tuple[str, str], Sequence[tuple[str, str, Words]]] = {
    ("outboxentry", "held"): [("review", "", gettext_lazy("approved"))],
    ("outboxentry", "state"): [
        ("", "discarded", gettext_lazy("discarded")),
        ("unknown", "sent", gettext_lazy("settled: it was sent")),
        ("unknown", "failed", gettext_lazy("settled: it was not sent")),
    ],
    ("sentmessage", "recall_asked"): [("", "", gettext_lazy("taken back"))],
    ("chat", "person_forgotten"): [("", "", gettext_lazy("a person was forgotten"))],
    ("chat", "messages"): [("", "0", gettext_lazy("what was stored of it was forgotten"))],
    ("user", "failed_log_ins"): [("", "0", gettext_lazy("let in again"))],
    ("user", "backup_codes"): [("", "", gettext_lazy("new backup codes were made"))],
    ("totpdevice", "confirmed"): [
        ("", "True", gettext_lazy("the second factor was set up")),
        ("True", "None", gettext_lazy("the second factor was taken away")),
    ],
    ("bot", "token_hash"): [(HIDDEN, "", gettext_lazy("a new token was made"))],
    ("sticker", "in_catalogue"): [("", "True", gettext_lazy("put into the catalogue"))],
    ("sticker", "state"): [
        ("review", "stored", gettext_lazy("approved")),
        ("None", "stored", gettext_lazy("put into the catalogue")),
        ("", "rejected", gettext_lazy("rejected")),
        ("", "removed", gettext_lazy("taken down everywhere")),
    ],
    ("sticker", "pinned"): [
        ("", "True", gettext_lazy("pinned")),
        ("", "False", gettext_lazy("not pinned any more")),
    ],
} | {
    (model, "paused_at"): [
        ("", "None", gettext_lazy("resumed")),
        ("None", "", gettext_lazy("paused")),
    ]
    for model in ("bot", "chat")
}
"""What an act says of itself, by model and field: from what, to what (empty: anything), in words."""

_UNTOLD = {("sentmessage", "edits"), ("personlimit", "person")}
"""What tells nothing besides the rest of its row."""
_BY_WORDS = {("totpdevice", ""), ("capabilitysetting", ""), ("sticker", "")}
"""Models whose rows come and go by acts that have words of their own."""
_SWITCH = "capabilitysetting"


def told(entry: LogEntry) -> list[SafeString]:
    """What changed, a line each."""
    model = entry.content_type.model
    lines: list[SafeString] = []
    if (model, "") not in _BY_WORDS:
        if entry.action == LogEntry.Action.DELETE:
            return [_whole(_("deleted"))]
        if entry.action == LogEntry.Action.CREATE:
            lines.append(_whole(_("made")))
    lines += [line for name, change in _changes(entry) for line in _lines(entry, name, change)]
    return list(dict.fromkeys(lines))


def _changes(entry: LogEntry) -> Iterator[tuple[str, Any]]:
    model = entry.content_type.model
    found = entry.changes or {}
    is_discarded = found.get("state", ("",))[-1] == "discarded"
    for name, change in found.items():
        # What is discarded waits no longer: nobody approved it.
        if name != "id" and (model, name) not in _UNTOLD and not (is_discarded and name == "held"):
            yield name, change


def _lines(entry: LogEntry, name: str, change: Any) -> Iterator[SafeString]:
    model = entry.content_type.model
    field = _field(entry, name)
    title = _(str(getattr(field, "verbose_name", None) or _TITLES.get(name, name)))
    if isinstance(change, dict):  # of a many-to-many relation
        chosen = display.listed(_chosen(field, change.get("objects", ())))
        is_added = change.get("operation") == "add"
        words = _("{field}: added {names}") if is_added else _("{field}: took away {names}")
        yield format_html(words, field=title, names=_value_of(chosen))
        return
    before, after = map(str, change)
    if (model, name) == ("turn", "rerun"):
        yield format_html(_("run again with {model}"), model=_value_of(after))
        return
    # A row that is made has not been paused, and its secrets are no news.
    is_new = entry.action == LogEntry.Action.CREATE and (model, "") not in _BY_WORDS
    if is_new and ((model, name) in _DONE or HIDDEN in (before, after)):
        return
    for at_first, at_last, done in _DONE.get((model, name), ()):
        if at_first in ("", before) and at_last in ("", after):
            yield _whole(done)
            return
    if HIDDEN in (before, after):
        yield format_html(_("{field}: changed"), field=title)
        return
    was, is_now = (_value(entry, field, value) for value in (before, after))
    if was == is_now:
        return
    if model == _SWITCH:  # whose row is called by what is switched
        yield format_html("{} → {}", was, is_now)
        return
    if not was:
        yield format_html(_("{field}: {after}"), field=title, after=_value_of(is_now))
        return
    words = _("{field}: {before} → {after}")
    yield format_html(
        words, field=title, before=_value_of(was), after=_value_of(is_now or _("nothing"))
    )


def _whole(words: Words) -> SafeString:
    return format_html("{}", words)


def _value_of(text: str) -> SafeString:
    return display.excerpt(text, _LONGEST)


def _chosen(field: Any, names: Sequence[object]) -> Iterator[str]:
    """The rows of a relation, as they were called; roles in the language of whoever reads it."""
    is_role = field is not None and field.related_model is Group
    for name in map(str, names):
        yield pgettext("role", name) if is_role else name


def _field(entry: LogEntry, name: str) -> Any:
    """The field of the changed row; None for what is no field, or has no name in words."""
    model = entry.content_type.model_class()
    try:
        return model._meta.get_field(name) if model and name not in _TITLES else None
    except FieldDoesNotExist:
        return None


def _value(entry: LogEntry, field: Any, text: str) -> str:
    """As the audit has it: `True`, `None`, the code of a choice, a time in UTC, or the text."""
    if entry.content_type.model == _SWITCH and text == "None":
        return _("inherit")
    if text in _NOTHING:
        return ""
    if getattr(field, "name", "") == "held":
        return reasons.in_brief(text)
    if isinstance(field, DateTimeField) and (moment := parse_datetime(text)):
        return display.clock(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    known: dict[str, Words] = {"True": gettext_lazy("on"), "False": gettext_lazy("off")}
    choices = getattr(field, "flatchoices", None) or ()
    return str({**dict(choices), **known}.get(text, text))
