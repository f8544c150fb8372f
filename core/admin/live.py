"""The live conversation on a chat's page, and a page of its own for what was said earlier.

The browser asks again every few seconds with the version that it shows: most answers are one query
and no body, which is why there is no socket.
"""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags, quote_etag
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from core.admin import conversation, holding, pictures, silence
from core.admin.theme import ModelAdmin
from core.models import Chat, ItemMedia

RIGHTS = (
    "core.view_inbounditem",
    "core.view_sentmessage",
    "core.view_outboxentry",
    "core.view_decision",
)
"""What of a conversation one sees in lists is what one sees of it here."""


class Live(ModelAdmin[Chat]):
    """The page of a chat, with its conversation."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path(
                "<int:object_id>/conversation/",
                view(self.conversation_view),
                name="core_chat_conversation",
            ),
            path(
                "<int:object_id>/picture/<int:item_id>/<int:index>/",
                view(self.picture_view, cacheable=True),
                name="core_chat_picture",
            ),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = extra_context or {}
        if request.method == "GET" and _may_read(request):
            context = {**context, **_newest(self.get_object(request, object_id))}
        return super().change_view(request, object_id, form_url, context)

    def conversation_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The conversation as a page or, with `part`, as a fragment; before the lines of a cursor
        where the address has one. The newest fragment is not sent again to who has it."""
        chat = self._chat(request, object_id)
        asked = request.GET.get("before", "")
        before = conversation.cursor(asked)
        if asked and before is None:
            raise Http404
        is_part = "part" in request.GET
        tag = _tag(chat) if is_part and before is None else ""
        if tag and tag in parse_etags(request.headers.get("If-None-Match", "")):
            return _fresh(HttpResponseNotModified(), tag)
        context: dict[str, Any] = {**self.admin_site.each_context(request), "opts": self.opts}
        context |= _newest(chat) if before is None else _earlier(chat, before)
        context |= {"title": _("Conversation"), "subtitle": str(chat), "original": chat}
        context["whole_page"] = not is_part
        name = "lines" if is_part else "page"
        answer = TemplateResponse(request, f"admin/core/chat/{name}.html", context)
        return _fresh(answer, tag)

    def picture_view(
        self, request: HttpRequest, object_id: int, item_id: int, index: int
    ) -> HttpResponse:
        """What models are shown of a picture that somebody sent, unless it was taken back."""
        chat = self._chat(request, object_id)
        found = ItemMedia.objects.filter(item=item_id, index=index, item__chat=chat)
        view = found.filter(item__recalled_at=None).values_list("view", flat=True).first()
        if not view:
            raise Http404
        return pictures.serve(request, view, still=True)

    def _chat(self, request: HttpRequest, object_id: int) -> Chat:
        chat: Chat = self.get_object(request, str(object_id))
        if not self.has_view_permission(request, chat) or not _may_read(request):
            raise PermissionDenied
        return chat


def _may_read(request: HttpRequest) -> bool:
    return request.user.has_perms(RIGHTS)


def _newest(chat: Chat) -> Mapping[str, Any]:
    # The version first: what changes meanwhile is then asked for once too often, not missed.
    version = _tag(chat)
    return {
        "live_version": version,
        "page": conversation.page(chat),
        "chat": chat,
        "is_newest": True,
        "obstacles": silence.now(chat),
        "silences": silence.lately(chat),
    }


def _earlier(chat: Chat, before: conversation.Cursor) -> Mapping[str, Any]:
    return {"page": conversation.page(chat, before), "chat": chat, "is_newest": False}


def _tag(chat: Chat) -> str:
    # Whether it is connected is told under what waits.
    is_connected = holding.is_connected(chat.bot_id)
    return quote_etag(f"{conversation.version(chat)}-{is_connected:d}-{get_language()}")


def _fresh(answer: HttpResponse, tag: str) -> HttpResponse:
    if tag:
        answer.headers["ETag"] = tag
    patch_cache_control(answer, private=True, no_cache=True)
    return answer
