"""The console's pages of turns: the list, and one page that tells a turn from beginning to end."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from core import reach
from core.admin import acts, display, pictures, reasons, rerunning, turn_request, turn_story
from core.admin.facts import ChatFilter, FactAdmin
from core.models import Turn

_STARTED = display.moment("started_at", _("started"))


@admin.register(Turn)
class TurnAdmin(FactAdmin[Turn]):
    belongs = reach.to_chat()
    list_display = (
        "number",
        _STARTED,
        "chat",
        "shown_state",
        "trigger",
        "model",
        "steps",
        "sends",
        "tokens",
        "seconds",
        "shown_error",
    )
    list_display_links = ("number", _STARTED)
    list_select_related = ("chat",)
    list_filter = ("state", "trigger", "chat__bot", "started_at", ChatFilter)
    named_by = "pk"
    search_fields = ("chat__external_id", "chat__title", "model", "error", "error_detail")
    search_help_text = _("Turn number, chat, model or error")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Turn]:
        # A turn's context is long, and only its own page shows it.
        return super().get_queryset(request).defer("messages", "tools")

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        turn = turn_story.find(self.reached(request, Turn.objects.all()), object_id)
        story = turn_story.tell(turn) if turn else None
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), "story": story}
        )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:object_id>/curl/<int:index>/", view(self.curl_view), name="core_turn_curl"),
            path(
                "<int:object_id>/picture/<str:digest>/",
                view(self.picture_view, cacheable=True),
                name="core_turn_picture",
            ),
            path("<int:object_id>/rerun/", view(self.rerun_view), name="core_turn_rerun"),
            *super().get_urls(),
        ]

    def rerun_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Asks the turn once more without doing anything of it, and shows what came of it beside the
        original."""
        turn = self._turn(request, object_id)
        may = acts.may(request, "rerun", turn)
        if request.method == "POST":
            if not may:
                raise PermissionDenied
            rerunning.ask(request, turn)
            return redirect("admin:core_turn_rerun", turn.pk)
        context = {
            **self.admin_site.each_context(request),
            **rerunning.shown(turn, request.GET.get("of", "")),
            "opts": self.opts,
            "title": _("Run it again without sending"),
            "subtitle": str(turn),
            "original": turn,
            "turn": turn,
            "may_rerun": may,
        }
        return TemplateResponse(request, "admin/core/turn/rerun.html", context)

    def curl_view(self, request: HttpRequest, object_id: int, index: int) -> HttpResponse:
        """What one step asked the model, as a command for a shell, without the key."""
        command = turn_request.curl(self._turn(request, object_id), index)
        if command is None:
            raise Http404
        return HttpResponse(command, content_type="text/plain; charset=utf-8")

    def picture_view(self, request: HttpRequest, object_id: int, digest: str) -> HttpResponse:
        """A picture that the turn's model was shown."""
        if not turn_request.shows(self._turn(request, object_id), digest):
            raise Http404
        return pictures.serve(request, digest, still=True)

    def _turn(self, request: HttpRequest, object_id: int) -> Turn:
        turn = turn_story.find(self.reached(request, Turn.objects.all()), str(object_id))
        if turn is None:
            raise Http404
        if not self.has_view_permission(request, turn):
            raise PermissionDenied
        return turn

    @admin.display(description=_("state"), ordering="state")
    def shown_state(self, turn: Turn) -> SafeString:
        return display.label(turn.get_state_display(), turn.state)

    @admin.display(description=_("error"), ordering="error")
    def shown_error(self, turn: Turn) -> SafeString | str:
        return display.coded(reasons.told(turn.error).said, turn.error)

    @admin.display(description=_("turn"), ordering="pk")
    def number(self, turn: Turn) -> str:
        return f"#{turn.pk}"

    @admin.display(description=_("tokens in / out"), ordering="prompt_tokens")
    def tokens(self, turn: Turn) -> str:
        return f"{turn.prompt_tokens} / {turn.completion_tokens}"

    @admin.display(description=_("took"))
    def seconds(self, turn: Turn) -> str:
        return turn_story.duration(turn)
