"""The console's sidebar: what the person may see, in the order in which one looks for it."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# (heading, [(text, icon, "app.model", or "app.model.page" for a page beside its list), …])
_GROUPS: tuple[tuple[str | Promise, tuple[tuple[str | Promise, str, str], ...]], ...] = (
    (
        _("Bots"),
        (
            (_("Bots"), "smart_toy", "core.bot"),
            (_("Chats"), "forum", "core.chat"),
            (_("Members"), "group", "core.member"),
            (_("Skills"), "menu_book", "skills.skill"),
        ),
    ),
    (
        _("What happened"),
        (
            (_("What was said"), "chat_bubble", "core.inbounditem"),
            (_("Decisions"), "call_split", "core.decision"),
            (_("Turns"), "psychology", "core.turn"),
            (_("Review"), "rate_review", "core.outboxentry.review"),
            (_("Sent Log"), "outgoing_mail", "core.sentmessage"),
            (_("Outbox"), "outbox", "core.outboxentry"),
        ),
    ),
    (
        _("Gateway"),
        (
            (_("Connections"), "cable", "botgateway.connection"),
            (_("Refused connections"), "block", "botgateway.refusedconnection"),
        ),
    ),
    (
        _("People"),
        (
            (_("Users"), "person", "auth.user"),
            (_("Groups"), "shield_person", "auth.group"),
            (_("Limits"), "visibility_lock", "core.personlimit"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """What the theme's SIDEBAR navigation is; groups with nothing to see are left out."""
    home = {"title": _("Overview"), "icon": "dashboard", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"items": [home]}]
    for title, entries in _GROUPS:
        items = [_item(*entry) for entry in entries if _may_see(request, entry[2])]
        if items:
            groups.append({"title": title, "separator": True, "items": items})
    return groups


def _item(title: str | Promise, icon: str, name: str) -> dict[str, Any]:
    app, model, page = (*name.split("."), "changelist")[:3]
    return {"title": title, "icon": icon, "link": reverse(f"admin:{app}_{model}_{page}")}


def _may_see(request: HttpRequest, name: str) -> bool:
    app, model = name.split(".")[:2]
    page = admin.site.get_model_admin(apps.get_model(app, model))
    return page.has_view_or_change_permission(request)
