"""How values look in the console: labels of states, names of strangers, JSON, links. All escaped."""

import json
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString


def label(text: object, state: str = "") -> SafeString:
    """A short text as a label; console.css gives the colour by `state`, grey where it knows none."""
    return format_html('<span class="arise-label {}">{}</span>', state, text)


def name(text: str) -> SafeString:
    """What somebody wrote or calls himself: isolated, so that it can't turn its surroundings round."""
    return format_html("<bdi>{}</bdi>", text)


def excerpt(text: str, length: int = 80) -> SafeString:
    """The beginning of what somebody wrote."""
    return name(text if len(text) <= length else text[: length - 1] + "…")


def pretty(value: Any) -> str:
    """JSON for reading; a string that is JSON is laid out too, any other one stays as it is."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return str(value)
    return json.dumps(value, indent=2, ensure_ascii=False)


def json_block(value: Any) -> SafeString:
    """JSON as a block that wraps."""
    return format_html('<pre class="arise-json">{}</pre>', pretty(value))


def change_url(model: type[Model], key: object) -> str:
    """The page of one row."""
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[key])


def list_url(model: type[Model], **filters: object) -> str:
    """The list of a model's rows, filtered."""
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def link(url: str, text: object) -> SafeString:
    """A link, its text escaped."""
    return format_html('<a class="arise-link" href="{}"><bdi>{}</bdi></a>', url, text)
