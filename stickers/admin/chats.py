"""What a chat's page tells of its stickers, on core's page of chats, which knows nothing of them."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import budgets
from core.admin import display
from core.admin.chats import ChatAdmin
from core.models import Chat
from stickers.models import Sticker

_SETTINGS = 3
"""So many fieldsets stand before the stickers: the last of them has the settings of learning."""

admin.site.unregister(Chat)


@admin.register(Chat)
class LearningChatAdmin(ChatAdmin):
    """Core's page of chats, with the stickers that each has and what they took."""

    readonly_fields = (*ChatAdmin.readonly_fields, "stickers_here", "spent_today")
    fieldsets: ClassVar[Any] = (
        *ChatAdmin.fieldsets[:_SETTINGS],
        (gettext_lazy("Its stickers"), {"fields": (("stickers_here", "spent_today"),)}),
        *ChatAdmin.fieldsets[_SETTINGS:],
    )

    @admin.display(description=gettext_lazy("stickers"))
    def stickers_here(self, chat: Chat) -> SafeString:
        counted = chat.stickers.order_by().values_list("state").annotate(count=Count("pk"))
        counts = dict(counted)
        states = [state for state in Sticker.State if counts.get(state.value)]
        links = [(display.link(display.list_url(Sticker, chat=chat.pk), _("gallery")),)]
        links += [
            (
                display.link(
                    display.list_url(Sticker, chat=chat.pk, state__exact=state.value),
                    display.titled(state.label, counts[state.value]),
                ),
            )
            for state in states
        ]
        funnel = reverse("admin:stickers_sticker_funnel")
        links.append((display.link(f"{funnel}?chat={chat.pk}", _("funnel")),))
        return format_html_join(" · ", "{}", links)

    @admin.display(description=gettext_lazy("learning today"))
    def spent_today(self, chat: Chat) -> str:
        calls, tokens = budgets.spent_today(chat, purpose=budgets.Purpose.LEARNING)
        told = _("%(calls)d of %(most_calls)d calls, %(tokens)d of %(most_tokens)d tokens")
        return told % {
            "calls": calls,
            "most_calls": chat.sticker_daily_calls,
            "tokens": tokens,
            "most_tokens": chat.sticker_daily_tokens,
        }
