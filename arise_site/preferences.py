"""A person's own language and time zone: the page where they are chosen, and what they do.

Who chose no language has the browser's, who chose no time zone has the site's (TIME_ZONE).
"""

import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arise_site import languages
from arise_site.models import PersonSettings

if TYPE_CHECKING:
    _Form = forms.ModelForm[PersonSettings]
else:
    _Form = forms.ModelForm


def personal(
    respond: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: answer each person of the console in his own language and time zone."""

    def answer(request: HttpRequest) -> HttpResponse:
        person: Any = request.user
        if not person.is_authenticated:
            return respond(request)
        chosen = PersonSettings.objects.filter(person=person).first() or PersonSettings()
        with _in_language(request, chosen.language), timezone.override(_zone(chosen.time_zone)):
            response = respond(request)
            response.headers.setdefault("Content-Language", translation.get_language())
            return response

    return answer


def _language_choices() -> list[tuple[str, str]]:
    return [("", _("The browser's")), *languages.NAMES.items()]


def _zone_choices() -> list[tuple[str, str]]:
    as_site = _("The site's: %(zone)s") % {"zone": settings.TIME_ZONE}
    return [("", as_site), *((zone, zone) for zone in languages.zones())]


class PreferencesForm(_Form):
    """What a person may choose; nothing else passes."""

    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=_language_choices,
        required=False,
        widget=forms.Select(attrs={"class": "arise-input"}),
    )
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        choices=_zone_choices,
        required=False,
        widget=forms.Select(attrs={"class": "arise-input"}),
    )

    class Meta:
        model = PersonSettings
        fields = ("language", "time_zone")


def page(request: HttpRequest) -> HttpResponse:
    """Show and keep the person's choice."""
    person: Any = request.user
    kept = PersonSettings.objects.filter(person=person).first() or PersonSettings(person=person)
    form = PreferencesForm(request.POST or None, instance=kept)
    if request.method == "POST" and form.is_valid():
        form.save()
        with _in_language(request, kept.language):
            messages.success(request, _("Your choice is kept."))
        return redirect("preferences")
    context = {**admin.site.each_context(request), "title": _("Language and time"), "form": form}
    return TemplateResponse(request, "admin/preferences.html", context)


def urls() -> list[Any]:
    """The address of the page, for people who have logged in."""
    return [path("", admin.site.admin_view(page), name="preferences")]


@contextmanager
def _in_language(request: HttpRequest, language: str) -> Iterator[None]:
    """Empty: the one that the browser asks for, which LocaleMiddleware has read."""
    chosen = language or translation.get_language_from_request(request)
    before = getattr(request, "LANGUAGE_CODE", chosen)
    request.LANGUAGE_CODE = chosen
    with translation.override(chosen):
        yield
    request.LANGUAGE_CODE = before


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    """None, which is the site's, also where this machine has unlearned the zone."""
    try:
        return zoneinfo.ZoneInfo(name) if name else None
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None
