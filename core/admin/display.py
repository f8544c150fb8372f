"""How values look in the console: labels of states, names of strangers, JSON, links. All escaped."""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from core.models import Turn
from core.text import clean_text

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


def label(text: object, state: str = "") -> SafeString:
    """A short text as a label; console.css gives the colour by `state`, grey where it knows none."""
    return format_html('<span class="arise-label {}">{}</span>', state, text)


def name(text: str) -> SafeString:
    """What somebody wrote or calls himself: isolated, so that it can't turn its surroundings round."""
    return format_html("<bdi>{}</bdi>", text)


def listed(words: Iterable[object]) -> str:
    """Words one after another, as the language separates them."""
    return pgettext("between words of a list", ", ").join(map(str, words))


def forgotten() -> SafeString:
    """Stands where words stood that were forgotten with a person."""
    return format_html('<span class="arise-muted">{}</span>', _("forgotten"))


def titled(name: object, value: object) -> str:
    """A value behind what it is of, as the language writes it."""
    return _("%(name)s: %(value)s") % {"name": name, "value": value}


def coded(words: object, code: str) -> SafeString | str:
    """What a code means, with the code itself where one points at it: logs and commands have that."""
    return format_html('<span title="{}">{}</span>', code, words) if code else ""


def excerpt(text: str, length: int = 80) -> SafeString:
    """The beginning of what somebody wrote."""
    return name(text if len(text) <= length else text[: length - 1] + "…")


def pretty(value: Any) -> str:
    """JSON for reading; a string that is JSON is laid out too, any other one stays as it is.

    A model may nest its arguments deeper than Python follows, and escape half a character in them.
    """
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
        return clean_text(json.dumps(parsed, indent=2, ensure_ascii=False))
    except (ValueError, RecursionError):
        return str(value)


def json_block(value: Any) -> SafeString:
    """JSON as a block that wraps."""
    return format_html('<pre class="arise-json">{}</pre>', pretty(value))


def change_url(model: type[Model], key: object) -> str:
    """The page of one row."""
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[key])


def page_of(row: Model) -> str:
    """The page of a row at hand."""
    return change_url(type(row), row.pk)


def list_url(model: type[Model], **filters: object) -> str:
    """The list of a model's rows, filtered."""
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def turn_link(turn_id: int | None) -> str:
    """A turn by its number alone: its row is long, so lists do not join it."""
    return link(change_url(Turn, turn_id), f"#{turn_id}") if turn_id else "–"


def moment(field: str, description: "str | _StrPromise") -> Callable[[Model], str]:
    """A list's column of times to the second, in the person's zone, sorted by `field`."""

    @admin.display(description=description, ordering=field)
    def shown(row: Model) -> str:
        value: datetime | None = getattr(row, field)
        if value is None:
            return "–"
        return format_html(
            '<span class="arise-when">{}</span> <span class="arise-when">{}</span>',
            *clock(value).split(),
        )

    return shown


def clock(moment: datetime) -> str:
    """A time to the second, in the person's zone."""
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M:%S")


def link(url: str, text: object) -> SafeString:
    """A link, its text escaped."""
    return format_html('<a class="arise-link" href="{}"><bdi>{}</bdi></a>', url, text)
