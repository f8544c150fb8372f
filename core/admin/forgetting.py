"""“Forget …” on the pages of chats and members: a page that says what will go, then the act.

Whoever may change and delete chats may. The console's history keeps who did it, without a name of
whom.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from django.contrib import messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core import addresses, reach
from core.admin import display
from core.admin.switches import person
from core.admin.theme import ModelAdmin
from core.errors import LeaseLost
from core.forgetting import chats, people, registry
from core.models import Chat, InboundItem, Member, SentMessage, Turn

Row = TypeVar("Row", bound=Model)
Counted = Sequence[tuple[str | Promise, int]]
_PERMISSIONS = ("core.change_chat", "core.delete_chat")


class ForgettingAdmin(ModelAdmin[Row], Generic[Row]):
    """A page with a way to forget what it shows."""

    forget_label: str | Promise

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.forget_view)
        return [path("<int:object_id>/forget/", view, name=self._url_name()), *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        more = dict(extra_context or {})
        key = unquote(object_id)
        if may_forget(request) and key.isascii() and key.isdecimal():
            more["forget_url"] = reverse(f"admin:{self._url_name()}", args=[key])
            more["forget_label"] = self.forget_label
        return super().change_view(request, object_id, form_url, more)

    def forget_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """What will go, and the buttons; with a POST it goes."""
        if not may_forget(request):
            raise PermissionDenied
        row: Row = get_object_or_404(self.get_queryset(request), pk=object_id)
        if request.method == "POST":
            return self._forget(request, row)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": self.forget_label,
            "subtitle": str(row),
            "original": row,
            "row": row,
            "page_url": display.page_of(row),
            "counts": self.what_goes(request, row),
            "buttons": self.buttons(request, row),
            "is_person": isinstance(row, Member),
        }
        return TemplateResponse(request, "admin/core/forget.html", context)

    def _forget(self, request: HttpRequest, row: Row) -> HttpResponse:
        page = display.page_of(row)
        try:
            went = self.forget(request, row)
        except addresses.BadAddress as error:
            messages.error(request, str(error))
        except LeaseLost:
            messages.error(request, _("The same is being forgotten already. Try it again."))
        else:
            messages.success(request, _told(went))
            page = self.page_after(row)
        return redirect(page)

    def _url_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_forget"

    @abstractmethod
    def what_goes(self, request: HttpRequest, row: Row) -> Counted:
        """What there is of it, in numbers."""

    @abstractmethod
    def buttons(self, request: HttpRequest, row: Row) -> Sequence[tuple[str, str]]:
        """Ways to forget it: the value that is posted as `with`, and the label."""

    @abstractmethod
    def forget(self, request: HttpRequest, row: Row) -> registry.Counts:
        """Forget it, and keep who did."""

    @abstractmethod
    def page_after(self, row: Row) -> str:
        """Where it leads."""


def may_forget(request: HttpRequest) -> bool:
    """Whether the person at the console may forget chats and people."""
    return all(map(request.user.has_perm, _PERMISSIONS))


class ForgetChat(ForgettingAdmin[Chat]):
    """The page of a chat."""

    forget_label = gettext_lazy("Forget this chat…")

    def what_goes(self, request: HttpRequest, row: Chat) -> Counted:
        labels = registry.labels()
        models: dict[str, Callable[[], int]] = {
            "items": InboundItem.objects.filter(chat=row).count,
            "sent_messages": SentMessage.objects.filter(chat=row).count,
            "turns": Turn.objects.filter(chat=row).count,
            "members": Member.objects.filter(chat=row).count,
        }
        return [(labels[kind], count()) for kind, count in models.items()]

    def buttons(self, request: HttpRequest, row: Chat) -> Sequence[tuple[str, str]]:
        return [("", _("Forget it"))]

    def forget(self, request: HttpRequest, row: Chat) -> registry.Counts:
        went = chats.forget(row, by=person(request))
        row.refresh_from_db()
        self.log_change(request, row, _("Forgot what was stored of it."))
        return went

    def page_after(self, row: Chat) -> str:
        return display.page_of(row)


class ForgetPerson(ForgettingAdmin[Member]):
    """The page of somebody of a chat: the person is forgotten in all chats, or in those of one bot."""

    forget_label = gettext_lazy("Forget this person…")

    def what_goes(self, request: HttpRequest, row: Member) -> Counted:
        chats_reached = _reached(request)
        own = chats_reached.filter(kind=Chat.Kind.PRIVATE, external_id=row.user_id)
        said = InboundItem.objects.filter(sender_id=row.user_id, chat__in=chats_reached)
        known = Member.objects.filter(user_id=row.user_id, chat__in=chats_reached)
        return [
            (_("items"), said.count()),
            (_("private chats, whole"), own.count()),
            (_("chats with the person"), known.count()),
        ]

    def buttons(self, request: HttpRequest, row: Member) -> Sequence[tuple[str, str]]:
        everywhere = ("", _("Forget the person in all chats"))
        if reach.of(request.user) is not None:
            everywhere = ("", _("Forget the person in all chats that you may see"))
        if not _reached(request).exclude(bot=row.chat.bot_id).exists():
            return [everywhere]
        one = _("Only in the chats of %(bot)s") % {"bot": row.chat.bot}
        return [everywhere, (str(row.chat.bot_id), one)]

    def forget(self, request: HttpRequest, row: Member) -> registry.Counts:
        within = _reached(request)
        if request.POST.get("with") == str(row.chat.bot_id):
            within = within.filter(bot=row.chat.bot_id)
        key = row.pk
        went = people.forget(row.user_id, within=within, by=person(request))
        assert request.user.is_authenticated  # noqa: S101 - nobody else comes here
        LogEntry.objects.create(
            user=request.user,
            content_type=ContentType.objects.get_for_model(Member),
            object_id=str(key),
            object_repr="–",
            action_flag=DELETION,
            change_message=_("Forgot a person."),
        )
        return went

    def page_after(self, row: Member) -> str:
        return display.list_url(Member)


def _reached(request: HttpRequest) -> QuerySet[Chat]:
    return reach.narrowed(Chat.objects.all(), reach.to_chat("pk"), request.user)


def _told(went: Counter[str] | registry.Counts) -> str:
    labels = registry.labels()
    counts = registry.told(went).items()
    parts = display.listed(display.titled(labels[kind], count) for kind, count in counts if count)
    rows = sum(went.values())
    if not parts:
        return _("There was nothing to forget.")
    told = ngettext(
        "Forgotten, %(rows)d row. %(parts)s.", "Forgotten, %(rows)d rows. %(parts)s.", rows
    )
    return told % {"rows": rows, "parts": parts}
