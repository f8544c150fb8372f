"""What the gallery is narrowed to."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import ModelAdmin as DjangoModelAdmin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.admin import facts
from core.admin.reached import page_of
from core.models import Chat
from stickers.models import Sticker

MOST_CHATS = 20


class ChatFilter(facts.ChatFilter):
    """The chat that was chosen elsewhere; else some that have stickers, to choose from."""

    def lookups(
        self, request: HttpRequest, model_admin: "DjangoModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        chosen = super().lookups(request, model_admin)
        page = page_of(model_admin, Chat)
        if chosen or page is None:
            return chosen
        own = Sticker.objects.filter(chat=OuterRef("pk"))
        chats = page.reached(request, Chat.objects.filter(Exists(own)))
        return [(str(chat.pk), str(chat)) for chat in chats[:MOST_CHATS]]


class WhereFilter(admin.SimpleListFilter):
    """Stickers of chats, or of the catalogue."""

    title = gettext_lazy("where")
    parameter_name = "where"

    def lookups(
        self, request: HttpRequest, model_admin: "DjangoModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        return [("catalogue", _("in the catalogue")), ("chats", _("in chats"))]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Sticker]
    ) -> QuerySet[Sticker] | None:
        if self.value() not in ("catalogue", "chats"):
            return None
        return queryset.filter(chat__isnull=self.value() == "catalogue")
