"""The gallery: stickers as cards with their pictures, the page of one, and what is done with them."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from core import reach
from core.admin import display, switches
from core.admin import pictures as stored
from core.admin.facts import CappedPaginator
from core.admin.theme import ModelAdmin
from core.models import Chat, StoredMedia
from core.reach import Reach, Rule
from stickers import acts
from stickers.admin import acting, filters, funnel_page, pictures, trying, uploading
from stickers.admin.acting import ACTS, Act
from stickers.admin.forms import TextsForm
from stickers.models import Sighting, Sticker

CONFIRMED = "confirmed"
_MOST_CARDS = 48
_MOST_NAMED = 24
_Action = Callable[["StickerAdmin", HttpRequest, QuerySet[Sticker]], HttpResponse | None]


def _within(stickers: QuerySet[Sticker], within: Reach) -> QuerySet[Sticker]:
    """Those of chats within reach, and the catalogue's, which every chat uses."""
    return stickers.filter(Q(chat=None) | Q(chat__in=within.chat_keys()))


def _bulk(act: Act) -> _Action:
    """An act for many: one of the list's actions."""

    @admin.action(description=act.label, permissions=[act.permission])
    def many(
        page: "StickerAdmin", request: HttpRequest, queryset: QuerySet[Sticker]
    ) -> HttpResponse | None:
        if act.permission == acting.TAKE_DOWN and CONFIRMED not in request.POST:
            return page.confirm(request, list(queryset.select_related("picture", "chat")), act)
        stickers = list(queryset.select_related("picture"))
        acting.perform(request, act, [one for one in stickers if page.may_steer(request, one)])
        return None

    many.__name__ = act.name
    return cast("_Action", many)


@admin.register(Sticker)
class StickerAdmin(ModelAdmin[Sticker]):
    """Stickers are learned, or brought into the catalogue; here they are looked at and steered."""

    belongs = Rule(_within)
    list_display = ("shown", "times_sent", "learned_at")
    list_display_links = ("shown",)
    list_filter = (
        filters.ChatFilter,
        filters.WhereFilter,
        "state",
        "pinned",
    )
    list_filter_sheet = True
    list_select_related = ("chat", "picture")
    list_per_page = _MOST_CARDS
    paginator = CappedPaginator
    show_full_result_count = False
    search_fields = ("meaning", "use_when", "avoid_when", "moods", "words", "=ref", "=file_id")
    search_help_text = gettext_lazy("Meaning, moods, words in the picture, ref or stable id")
    actions = tuple(_bulk(act) for act in ACTS.values())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Sticker]:
        moving = StoredMedia.objects.filter(sha256=OuterRef("picture__sha256"), frames__gt=1)
        return super().get_queryset(request).annotate(**{pictures.IS_MOVING: Exists(moving)})

    @admin.display(description=gettext_lazy("sticker"), ordering="pk")
    def shown(self, sticker: Sticker) -> str:
        return display.excerpt(str(sticker))

    # Who may what: nobody deletes a row, which would let the picture be learned once more.

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Sticker | None = None) -> bool:
        return False

    def has_take_down_permission(self, request: HttpRequest) -> bool:
        """Whether the person may take stickers down everywhere: also where a limited one is not."""
        return self._is_unlimited_with(request, "stickers.delete_sticker")

    def has_catalogue_permission(self, request: HttpRequest) -> bool:
        """Whether the person may bring stickers into the catalogue, which all chats use."""
        return self._is_unlimited_with(request, "stickers.add_sticker")

    def _is_unlimited_with(self, request: HttpRequest, permission: str) -> bool:
        return not self.is_limited(request) and request.user.has_perm(permission)

    def may_steer(self, request: HttpRequest, sticker: Sticker) -> bool:
        """Whether a sticker is the person's to decide: the catalogue is nobody's who is limited."""
        return sticker.chat_id is not None or not self.is_limited(request)

    def has_change_permission(self, request: HttpRequest, obj: Sticker | None = None) -> bool:
        may_steer = obj is None or self.may_steer(request, obj)
        return may_steer and super().has_change_permission(request, obj)

    def permissions(self, request: HttpRequest, sticker: Sticker) -> list[str]:
        """What the person has of the permissions that acts with a sticker need."""
        held = {
            acting.CHANGE: self.has_change_permission(request, sticker),
            acting.CATALOGUE: self.has_catalogue_permission(request),
            acting.TAKE_DOWN: self.has_take_down_permission(request),
        }
        return [name for name, has in held.items() if has]

    # Pages.

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path(
                "<int:pk>/picture/",
                view(self.picture_view, cacheable=True),
                name="stickers_sticker_picture",
            ),
            path(
                "<int:pk>/still/",
                view(self.picture_view, cacheable=True),
                {"still": True},
                name="stickers_sticker_still",
            ),
            path("try/", view(self.try_view), name="stickers_sticker_try"),
            path("funnel/", view(self.funnel_view), name="stickers_sticker_funnel"),
            path("upload/", view(self.upload_view), name="stickers_sticker_upload"),
            path(
                "upload/<str:sha256>/picture/",
                view(self.tray_view, cacheable=True),
                name="stickers_sticker_tray",
            ),
            path(
                "upload/<str:sha256>/still/",
                view(self.tray_view, cacheable=True),
                {"still": True},
                name="stickers_sticker_tray_still",
            ),
            path("<int:pk>/act/", view(require_POST(self.act_view)), name="stickers_sticker_act"),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # Django would drop an action that a person may not take without a word.
        if request.method == "POST" and request.POST.get("action") not in self.get_actions(request):
            raise PermissionDenied
        more = {
            "may_upload": self.has_catalogue_permission(request),
            "holding": acts.HOLDING,
        }
        return super().changelist_view(request, {**(extra_context or {}), **more})

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of one sticker. Its texts are changed outside of Django's transaction, since the
        endpoint that embeds them is waited for."""
        sticker: Sticker = self.get_object(request, unquote(object_id))
        if not self.has_view_or_change_permission(request, sticker):
            raise PermissionDenied
        may_word = self.has_change_permission(request, sticker) and sticker.state in acts.USABLE
        form = TextsForm.of(sticker)
        if request.method == "POST":
            if not may_word:
                raise PermissionDenied
            form = TextsForm.of(sticker, request.POST)
            if form.is_valid() and self._word(request, sticker, form):
                return HttpResponseRedirect(display.page_of(sticker))
        context = {
            "title": _("Sticker %(ref)s") % {"ref": sticker.ref},
            "subtitle": sticker.meaning[:40],
            "original": sticker,
            "sticker": sticker,
            "form": form if may_word else None,
            "acts": acting.fitting(sticker, self.permissions(request, sticker)),
            "facts": _facts(sticker),
        }
        return self.render(request, "page", context)

    def _word(self, request: HttpRequest, sticker: Sticker, form: TextsForm) -> bool:
        by = switches.person(request)
        if form.texts == acts.Texts.of(sticker):
            return True
        if acts.change_meaning(sticker, form.texts, seen=form.seen_digest, by=by):
            messages.success(request, _("Saved. Searches find it by its new meaning."))
            return True
        form.add_error(
            None,
            _(
                "Somebody else has changed this sticker meanwhile. Open its page anew; what you typed"
                " stands here still."
            ),
        )
        return False

    def act_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """One of the buttons of a sticker's page."""
        self._refuse_strangers(request)
        sticker = self._reached_one(request, pk)
        act = ACTS.get(request.POST.get("act", ""))
        if act is None or act.permission not in self.permissions(request, sticker):
            raise PermissionDenied
        if act.permission == acting.TAKE_DOWN and CONFIRMED not in request.POST:
            return self.confirm(request, [sticker], act)
        # Who presses it on its page has read what it means.
        more = {"with_lines": True} if act.permission == acting.CATALOGUE else {}
        acting.perform(request, act, [sticker], **more)
        still_there = Sticker.objects.filter(pk=pk).exists()
        return HttpResponseRedirect(
            display.page_of(sticker) if still_there else display.list_url(Sticker)
        )

    def confirm(self, request: HttpRequest, stickers: Sequence[Sticker], act: Act) -> HttpResponse:
        """Ask once more before stickers go everywhere."""
        named = stickers[:_MOST_NAMED]
        pictures.mark_moving(named)
        context = {
            "title": _("Take down everywhere"),
            "stickers": named,
            "more": max(0, len(stickers) - _MOST_NAMED),
            "keys": [sticker.pk for sticker in stickers],
            "key_name": ACTION_CHECKBOX_NAME,
            "act": act,
        }
        return self.render(request, "take_down", context)

    def picture_view(self, request: HttpRequest, pk: int, *, still: bool = False) -> HttpResponse:
        """The bytes of a sticker's picture."""
        self._refuse_strangers(request)
        sticker = self._reached_one(request, pk)
        return pictures.serve(request, sticker, still=still)

    def try_view(self, request: HttpRequest) -> HttpResponse:
        """A search as the model would make it."""
        self._refuse_strangers(request)
        context = trying.load(request, self._chats(request))
        return self.render(request, "try", {"title": _("Try a search"), **context})

    def funnel_view(self, request: HttpRequest) -> HttpResponse:
        """What became of what was seen."""
        self._refuse_strangers(request)
        context = funnel_page.load(request, self._chats(request))
        return self.render(request, "funnel", {"title": _("Funnel"), **context})

    def upload_view(self, request: HttpRequest) -> HttpResponse:
        """Many files into the tray, and from there, with a meaning each, into the catalogue."""
        if not self.has_catalogue_permission(request):
            raise PermissionDenied
        refused: list[uploading.Refused] = []
        post = request.POST
        if request.method == "POST" and "files" in request.FILES:
            refused = uploading.take(request, request.FILES.getlist("files"))
        if "drop" in post:
            uploading.drop(request, post["drop"])
        shown = uploading.cards(request)
        if "add" in post:
            shown = uploading.add(request, shown)
        elif "ask" in post:
            shown = uploading.ask(request, shown, post["ask"])
        context = {
            "title": _("Upload"),
            "cards": shown,
            "refused": refused,
            "model": uploading.model(),
            "most": uploading.MOST_FILES,
        }
        return self.render(request, "upload", context)

    def tray_view(self, request: HttpRequest, sha256: str, *, still: bool = False) -> HttpResponse:
        """The picture of a file that the person has just sent."""
        if not self.has_catalogue_permission(request):
            raise PermissionDenied
        if sha256 not in uploading.tray(request):
            raise Http404
        return stored.serve(request, sha256, still=still)

    def _chats(self, request: HttpRequest) -> QuerySet[Chat]:
        """The chats that the person reaches."""
        return reach.narrowed(Chat.objects.all(), reach.to_chat("pk"), request.user)

    def _reached_one(self, request: HttpRequest, pk: int) -> Sticker:
        rows = Sticker.objects.select_related("picture", "chat")
        return get_object_or_404(self.reached(request, rows), pk=pk)

    def _refuse_strangers(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def render(self, request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
        """One of the gallery's own pages."""
        shared = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "may_upload": self.has_catalogue_permission(request),
            "holding": acts.HOLDING,
        }
        return TemplateResponse(
            request, f"admin/stickers/sticker/{name}.html", {**shared, **context}
        )


def _facts(sticker: Sticker) -> list[tuple[str, Any]]:
    """What else is known of a sticker, for its page."""
    picture = sticker.picture
    keys = [sticker.file_id, *picture.keys.values_list("key", flat=True)]
    seen = Sighting.objects.filter(chat=sticker.chat_id, key__in=keys)
    learned = display.listed(
        filter(None, (picture.model, _("%(count)d tokens") % {"count": picture.tokens}))
    )
    shown = [
        (_("ref"), sticker.ref),
        (_("stable id"), sticker.file_id),
        (_("times sent"), sticker.times_sent),
        (_("last sent"), display.clock(sticker.last_sent_at) if sticker.last_sent_at else ""),
        (_("times seen"), sum(seen.values_list("times", flat=True)) if sticker.chat_id else ""),
        (_("learned"), display.clock(sticker.learned_at)),
        (_("learned by"), learned if picture.model else ""),
    ]
    return [(name, value) for name, value in shown if value != ""]
