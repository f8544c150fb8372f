"""Pausing bots and chats on their pages and in their lists; who did it stays in the history."""

from typing import Any, Generic, TypeVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseNotAllowed,
)
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core import pausing, wake
from core.admin import acts, banners, display, moderating, review
from core.admin.theme import ModelAdmin
from core.models import Bot, Chat, OutboxEntry

Row = TypeVar("Row", Bot, Chat)


class PausingAdmin(ModelAdmin[Row], Generic[Row]):
    """The pages of what can be paused. Its template shows admin/core/pausing.html above the form."""

    def has_pause_permission(self, request: HttpRequest) -> bool:
        """Whether the person may pause what this page is of, and let it go on."""
        return acts.may(request, "pause", self.model)

    def get_urls(self) -> list[URLPattern]:
        name = f"core_{self.opts.model_name}_pause"
        view = self.admin_site.admin_view(self.pause_view)
        return [path("<path:object_id>/pause/", view, name=name), *super().get_urls()]

    def pause_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The button of a page: pauses, or lets go on; leads back."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_pause_permission(request):
            raise PermissionDenied
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        one: QuerySet[Row] = self.model._default_manager.filter(pk=row.pk)
        match request.POST.get("decision"):
            case "pause":
                done = self._pause(request, one, request.POST.get("reason", ""))
                said = _("It is paused.") if done else _("It was paused already.")
            case "resume":
                done = self._resume(request, one)
                said = _("It goes on.") if done else _("It was not paused any more.")
            case _:
                return HttpResponseBadRequest("decision is pause or resume")
        tell = messages.success if done else messages.warning
        tell(request, said)
        return redirect(display.page_of(row))

    @admin.action(description=gettext_lazy("Pause"), permissions=["pause"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Row]) -> None:
        count = len(self._pause(request, queryset, ""))
        told = ngettext("%(count)d was paused.", "%(count)d were paused.", count)
        messages.success(request, told % {"count": count})

    @admin.action(description=gettext_lazy("Resume"), permissions=["pause"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Row]) -> None:
        count = len(self._resume(request, queryset))
        told = ngettext("%(count)d goes on.", "%(count)d go on.", count)
        messages.success(request, told % {"count": count})

    def _pause(self, request: HttpRequest, rows: QuerySet[Row], reason: str) -> list[Row]:
        with transaction.atomic():
            done = pausing.pause_all(rows, by=moderating.person(request), reason=reason)
            told = _("Paused: %(reason)s") % {"reason": pausing.reason_of(reason) or "–"}
            acts.log_changes(request, done, told)
        return done

    def _resume(self, request: HttpRequest, rows: QuerySet[Row]) -> list[Row]:
        with transaction.atomic():
            done = pausing.resume_all(rows, by=moderating.person(request))
            acts.log_changes(request, done, _("Resumed."))
        for bot_id in {_bot_id(row) for row in done}:
            wake.outbox(bot_id)
        return done

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        context = {
            "banners": banners.of(row) if row else (),
            "may_pause": self.has_pause_permission(request),
            "paused": row is not None and row.paused_at is not None,
            "pause_url_name": f"admin:core_{self.opts.model_name}_pause",
            **_held(request, row),
        }
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **context}
        )


def _bot_id(row: Bot | Chat) -> int:
    return row.bot_id if isinstance(row, Chat) else row.pk


def _held(request: HttpRequest, chat: Bot | Chat | None) -> dict[str, Any]:
    """How much of a chat waits for review, and who may let it go."""
    if not isinstance(chat, Chat):
        return {}
    return {
        "held_chat": chat.pk,
        "held_count": review.waiting(OutboxEntry.objects.filter(chat=chat)).count(),
        "may_moderate": acts.may(request, "moderate", OutboxEntry),
        "back": display.page_of(chat),
    }


@admin.display(description=gettext_lazy("delivery"), ordering="paused_at")
def delivery(row: Bot | Chat) -> SafeString | str:
    """For lists: whether it is paused, and how a chat delivers where it is not live."""
    found = banners.of(row)
    if not found:
        return display.label(_("live"), "good")
    labels = dict.fromkeys(banner.label for banner in found)
    return SafeString(" ".join(display.label(label, "warn") for label in labels))
