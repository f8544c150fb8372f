"""The console's sidebar: what the person may see, in the order in which one looks for it."""

from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Entry(NamedTuple):
    """One line of the sidebar: a model's list, or another page that is for who sees that list and has
    the `right`, where one is named."""

    title: str | Promise
    icon: str
    model: str
    page: str = "changelist"
    query: str = ""
    right: str = ""


_GROUPS: tuple[tuple[str | Promise, tuple[Entry, ...]], ...] = (
    (
        _("Bots"),
        (
            Entry(_("Bots"), "smart_toy", "core.bot"),
            Entry(_("Chats"), "forum", "core.chat"),
            Entry(_("Members"), "group", "core.member"),
            Entry(_("Playground"), "science", "core.bot", "playground", right="core.change_chat"),
            Entry(_("Skills"), "menu_book", "skills.skill"),
        ),
    ),
    (
        _("What happened"),
        (
            Entry(_("What was said"), "chat_bubble", "core.inbounditem"),
            Entry(_("Decisions"), "call_split", "core.decision"),
            Entry(_("Turns"), "psychology", "core.turn"),
            Entry(_("Review"), "rate_review", "core.outboxentry", "review"),
            Entry(_("Sent Log"), "outgoing_mail", "core.sentmessage"),
            Entry(_("Outbox"), "outbox", "core.outboxentry"),
        ),
    ),
    (
        _("Stickers"),
        (
            Entry(_("Gallery"), "add_reaction", "stickers.sticker"),
            Entry(
                _("Waiting for review"),
                "new_label",
                "stickers.sticker",
                query="?state__exact=review",
            ),
            Entry(_("Try a search"), "search", "stickers.sticker", "try"),
            Entry(_("Funnel"), "filter_alt", "stickers.sticker", "funnel"),
        ),
    ),
    (
        _("Gateway"),
        (
            Entry(_("Connections"), "cable", "botgateway.connection"),
            Entry(_("Refused connections"), "block", "botgateway.refusedconnection"),
        ),
    ),
    (
        _("People"),
        (
            Entry(_("Users"), "person", "auth.user"),
            Entry(_("Roles"), "shield_person", "auth.group"),
            Entry(_("Limits"), "visibility_lock", "core.personlimit"),
            Entry(_("Audit"), "history", "auditlog.logentry"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """What the theme's SIDEBAR navigation is; groups with nothing to see are left out."""
    home = {"title": _("Overview"), "icon": "dashboard", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"items": [home]}]
    for title, entries in _GROUPS:
        items = [_item(entry) for entry in entries if _may_see(request, entry)]
        if items:
            _mark(request, items)
            groups.append({"title": title, "separator": True, "items": items})
    return groups


def _item(entry: Entry) -> dict[str, Any]:
    name = f"admin:{entry.model.replace('.', '_')}_{entry.page}"
    return {"title": entry.title, "icon": entry.icon, "link": reverse(name) + entry.query}


def _mark(request: HttpRequest, items: list[dict[str, Any]]) -> None:
    """Say which of these lines leads here: of several the one that says it most closely."""
    leading = [item for item in items if _leads_to(request, item["link"])]
    here = max(leading, key=lambda item: len(item["link"]), default=None)
    for item in items:
        item["active"] = item is here


def _leads_to(request: HttpRequest, link: str) -> bool:
    address = urlsplit(link)
    asked = parse_qs(address.query).items()
    return request.path.startswith(address.path) and all(
        request.GET.getlist(name) == values for name, values in asked
    )


def _may_see(request: HttpRequest, entry: Entry) -> bool:
    if entry.right and not request.user.has_perm(entry.right):
        return False
    app, model = entry.model.split(".")[:2]
    page = admin.site.get_model_admin(apps.get_model(app, model))
    return page.has_view_or_change_permission(request)
