"""The playground's pages; they hang on the page of bots."""

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from botgateway.playground import admission, bots, story, words
from core import reach
from core.admin.forgetting import may_forget
from core.admin.theme import ModelAdmin
from core.errors import LeaseLost
from core.forgetting import chats
from core.models import Bot, Chat

SOCKET = "/admin/playground/ws"
LATE_AFTER_SECONDS = 3.0
"""How long after the wait for an answer is over one that comes late comes."""


class PlaygroundAdmin(ModelAdmin[Bot]):
    """The page of bots, with a playground for each person who may change chats."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("playground/", view(self.playground_view), name="core_bot_playground"),
            path(
                "playground/state/",
                view(require_GET(self.playground_state_view)),
                name="core_bot_playground_state",
            ),
            path(
                "playground/forget/",
                view(require_POST(self.playground_forget_view)),
                name="core_bot_playground_forget",
            ),
            *super().get_urls(),
        ]

    def playground_view(self, request: HttpRequest) -> HttpResponse:
        """The page; with a POST the person's bot is made, if there is none."""
        person = _person(request)
        bot = bots.bot_of(person)
        if request.method == "POST":
            try:
                bots.provide(person)
            except bots.Taken:
                told = _("Another bot has the account %(account)s already.")
                messages.error(request, told % {"account": bots.self_id_of(person)})
            return redirect("admin:core_bot_playground")
        is_open = bot is not None and bots.is_reached(person, bot)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Playground"),
            "bot": bot,
            "is_open": is_open,
            "is_limited": reach.of(person) is not None,
            "may_forget": may_forget(request),
            "is_demo": settings.ARISE_DEMO_MODEL,
            "config": _config(request, person, bot) if bot is not None and is_open else None,
            "words": words.for_script(),
        }
        return TemplateResponse(request, "admin/playground/page.html", context)

    def playground_state_view(self, request: HttpRequest) -> JsonResponse:
        """What became of what was said, as JSON; the page asks once a second."""
        return JsonResponse(story.tell(_bot(request)))

    def playground_forget_view(self, request: HttpRequest) -> HttpResponse:
        """Forget all chats of the person's own playground."""
        bot = _bot(request)
        if not may_forget(request):
            raise PermissionDenied
        try:
            chats.forget_all(Chat.objects.filter(bot=bot), by=_person(request))
        except LeaseLost:
            messages.error(request, _("The same is being forgotten already. Try it again."))
        else:
            self.log_change(request, bot, _("Forgot what was said in the playground."))
            messages.success(request, _("What was said in the playground is forgotten."))
        return redirect("admin:core_bot_playground")


def _person(request: HttpRequest) -> User:
    person = cast("User", request.user)
    if not bots.may_use(person):
        raise PermissionDenied
    return person


def _bot(request: HttpRequest) -> Bot:
    """The person's own bot; where there is none within reach, the page is not there."""
    person = _person(request)
    bot = bots.bot_of(person)
    if bot is None or not bots.is_reached(person, bot):
        raise Http404
    return bot


def _config(request: HttpRequest, person: User, bot: Bot) -> dict[str, Any]:
    """What the page's script is told. Accounts are numbers, as on the platform."""
    return {
        "socket": f"{SOCKET}?ticket={admission.ticket(request.session.session_key or '', person)}",
        "state": reverse("admin:core_bot_playground_state"),
        "bot": {"id": int(bot.self_id), "name": bot.name},
        "group": {"id": bots.group_id_of(person), "name": _("Playground")},
        "firstMember": bots.first_member_of(person),
        "members": ["Ann", "小明", "Bo"],
        "lateSeconds": settings.ARISE_SEND_TIMEOUT_SECONDS + LATE_AFTER_SECONDS,
    }
