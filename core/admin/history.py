"""What the console's history (Django's log of its forms) says, in the language of whoever reads it."""

import json
from copy import copy
from typing import Any

from django.contrib.admin.models import LogEntry
from django.utils.translation import gettext

from core.admin import switches


def said(entry: LogEntry) -> str:
    """One entry in a sentence. Django keeps the labels of changed fields in English, as its forms have
    them, and asks the catalogue for just these."""
    try:
        parts = json.loads(entry.change_message)
    except json.JSONDecodeError:
        return entry.get_change_message()
    if not isinstance(parts, list):
        return entry.get_change_message()
    for part in parts:
        for told in part.values():
            if "fields" in told:
                told["fields"] = [_called(label) for label in told["fields"]]
            if "name" in told:
                told["name"] = _called(told["name"])
    read: Any = copy(entry)
    read.change_message = json.dumps(parts)
    return str(read.get_change_message())


def _called(label: str) -> str:
    """A field by its label, whose first letter forms make a capital, or by its name in the model."""
    words = label.replace("_", " ")
    asked = (label, label[:1].lower() + label[1:], words, words[:1].lower() + words[1:])
    found = (gettext(words) for words in asked)
    known = next((told for told, name in zip(found, asked, strict=True) if told != name), "")
    switch = switches.described(label)
    return gettext("the switch “%(what)s”") % {"what": switch} if switch else known or label
