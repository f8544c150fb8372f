"""The pages of what is not there, of what a person may not see, and of who is not let in, in the
console's look."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer to whatever is a 404: what is not there, and what the person does not reach."""
    why = _("There is no such page. What it showed may have been deleted.")
    return _page(request, 404, _("Not found"), why)


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer to whatever is a 403."""
    why = _("You are not allowed to do this. Somebody who manages people here can change that.")
    return _page(request, 403, _("Not allowed"), why)


def locked_out(request: HttpRequest, response: HttpResponse, credentials: Any) -> HttpResponse:
    """The answer to a log-in after too many wrong passwords; django-axes calls it."""
    why = _(
        "Nobody is let in under this name from here for a quarter of an hour, not even with the right"
        " password. An owner can let you in before: the page of users has an action for it."
    )
    return _page(request, 429, _("Too many wrong passwords"), why)


def _page(request: HttpRequest, status: int, title: str, why: str) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": title, "why": why}
    return HttpResponse(render_to_string("admin/refused.html", context, request), status=status)
