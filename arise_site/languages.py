"""The languages and time zones that people may have, and the one of a terminal."""

import zoneinfo
from collections.abc import Mapping

from django.apps import apps
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

NAMES = {"en": "English", "zh-hans": "简体中文"}
"""Each language in its own words: who does not read the present one finds his."""

_LANGUAGE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def of_terminal(environment: Mapping[str, str]) -> str:
    """The language in which commands speak: Chinese under a Chinese locale, else English.

    The first of the variables that is set counts, as in POSIX (Base Definitions, 8.2).
    """
    locale = next((environment[name] for name in _LANGUAGE_VARIABLES if environment.get(name)), "")
    return "zh-hans" if locale.lower().startswith("zh") else "en"


def early(text: str) -> str:
    """gettext for what may be said before the apps, and with them the catalogue, are loaded: it is
    English then."""
    return _(text) if apps.ready else text


def zones() -> list[str]:
    """The time zones by the names of places, and UTC."""
    names = zoneinfo.available_timezones()
    return ["UTC", *sorted(name for name in names if "/" in name and not name.startswith("Etc/"))]


def known_zone(value: str) -> None:
    """Raise ValidationError where this machine knows no such time zone."""
    if value not in zoneinfo.available_timezones():
        raise ValidationError(_("There is no such time zone."))
