"""The console's pages of skills: what they are, who reads them, how they came to be so."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Length
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core import reach
from core.admin import display
from core.admin.listed import RowForm
from core.admin.theme import ModelAdmin, ModelForm
from core.models import Chat
from core.reach import Reach, Rule
from skills import comparing, importing, preview, store
from skills.errors import BadImport
from skills.forms import SkillForm, UploadForm
from skills.importing import Kind, Report
from skills.models import Skill, SkillReads, SkillVersion

_CHANGED = display.moment("updated_at", gettext_lazy("changed"))
_MOST_SHOWN = 50
_OF_BOTS: QuerySet[Any] = Skill.bots.through._default_manager.all()
_OF_CHATS: QuerySet[Any] = Skill.chats.through._default_manager.all()
_READS = "shown_reads"


def _count_of(rows: QuerySet[Any]) -> Coalesce:
    """How many rows of another table belong to a skill, without multiplying those of a third."""
    counted = rows.filter(skill_id=OuterRef("pk")).order_by().values("skill_id")
    return Coalesce(Subquery(counted.annotate(n=Count("pk")).values("n")), 0)


def _times_of(reads: QuerySet[SkillReads], level: str) -> Coalesce:
    counted = reads.filter(skill_id=OuterRef("pk"), level=level).order_by()
    summed = counted.values("skill_id").annotate(n=Sum("times")).values("n")
    return Coalesce(Subquery(summed, output_field=IntegerField()), 0)


def _within(skills: QuerySet[Skill], within: Reach) -> QuerySet[Skill]:
    """Those that a chat within reach has, or would have if they were enabled."""
    for_chats = Skill.chats.through._default_manager.filter(chat__in=within.chat_keys())
    reached_bots = Chat.objects.filter(pk__in=within.chat_keys()).values("bot")
    for_bots = Skill.bots.through._default_manager.filter(bot__in=reached_bots)
    return skills.filter(
        Q(for_all_chats=True)
        | Q(pk__in=for_chats.values("skill"))
        | Q(pk__in=for_bots.values("skill"))
    )


@admin.register(Skill)
class SkillAdmin(ModelAdmin[Skill]):
    """Skills are written here, or brought in as a zip; each text that one had is kept.

    They concern many chats at once, so limited people only read them.
    """

    belongs = Rule(_within, may_edit=False)
    form = SkillForm
    list_display = ("shown", "purpose", "enabled", "scope", "size", "read", _CHANGED)
    list_display_links = ("shown",)
    list_editable = ("enabled",)
    list_filter = ("enabled", "for_all_chats")
    list_per_page = 50
    search_fields = ("name", "description", "body")
    search_help_text = gettext_lazy("Name, description or text")
    autocomplete_fields = ("bots", "chats")
    readonly_fields = ("size", "preview", "files", "read", "used", "history", "updated_at")
    fieldsets = (
        (None, {"fields": ("name", "description", "body")}),
        (gettext_lazy("Who has it"), {"fields": ("enabled", "for_all_chats", "bots", "chats")}),
        (gettext_lazy("How it stands"), {"fields": ("size", "read", "used", "files", "history")}),
        (gettext_lazy("How it looks"), {"fields": ("preview",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Skill]:
        bots = reach.narrowed(_OF_BOTS, reach.to_bot(), request.user)
        chats = reach.narrowed(_OF_CHATS, reach.to_chat(), request.user)
        reads = reach.narrowed(SkillReads.objects.all(), reach.to_chat(), request.user)
        return (
            super()
            .get_queryset(request)
            .annotate(
                length=Length("body"),
                bot_count=_count_of(bots),
                chat_count=_count_of(chats),
                full_reads=_times_of(reads, SkillReads.Level.FULL),
                summary_reads=_times_of(reads, SkillReads.Level.SUMMARY),
            )
        )

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        skill = super().get_object(request, object_id, from_field)
        reads = skill.reads.select_related("chat").order_by("-last_at")
        setattr(skill, _READS, reach.narrowed(reads, reach.to_chat(), request.user))
        return skill

    def get_fieldsets(self, request: HttpRequest, obj: Skill | None = None) -> Any:
        if not self.is_limited(request):
            return self.fieldsets
        # The names of bots and chats out of reach are nobody else's business: their number within it.
        shown = {"fields": ("enabled", "for_all_chats", "scope")}
        return tuple(
            (title, shown if "chats" in options["fields"] else options)
            for title, options in self.fieldsets
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Skill | None = None) -> Any:
        return (*self.readonly_fields, *(("scope",) if self.is_limited(request) else ()))

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[ModelForm[Skill]]:
        return super().get_changelist_form(request, form=RowForm, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: Skill, form: ModelForm[Skill], change: bool
    ) -> None:
        store.save(obj, by=_person(request))

    @admin.display(description=gettext_lazy("name"), ordering="name")
    def shown(self, skill: Skill) -> SafeString:
        return display.name(skill.name)

    @admin.display(description=gettext_lazy("description"), ordering="description")
    def purpose(self, skill: Skill) -> SafeString:
        return display.excerpt(skill.description)

    @admin.display(description=gettext_lazy("for"), ordering="for_all_chats")
    def scope(self, skill: Skill) -> str:
        if skill.for_all_chats:
            return _("all chats")
        bots, chats = getattr(skill, "bot_count", 0), getattr(skill, "chat_count", 0)
        parts = []
        if bots:
            parts.append(ngettext("%(count)d bot", "%(count)d bots", bots) % {"count": bots})
        if chats:
            parts.append(ngettext("%(count)d chat", "%(count)d chats", chats) % {"count": chats})
        return display.listed(parts) or display.label(_("no chat"), "warn")

    @admin.display(description=gettext_lazy("characters"), ordering="length")
    def size(self, skill: Skill) -> SafeString | str:
        length: int = getattr(skill, "length", 0)
        limit: int = settings.ARISE_SKILL_FULL_TEXT_MAX_CHARS
        if length <= limit:
            return f"{length}"
        told = display.label(_("goes as a file"), "warn")
        return format_html("{} {}", length, told)

    @admin.display(description=gettext_lazy("read in full / as a summary"), ordering="full_reads")
    def read(self, skill: Skill) -> str:
        return f"{getattr(skill, 'full_reads', 0)} / {getattr(skill, 'summary_reads', 0)}"

    @admin.display(description=gettext_lazy("the text"))
    def preview(self, skill: Skill) -> SafeString:
        return format_html('<div class="arise-markdown">{}</div>', preview.html(skill.body))

    @admin.display(description=gettext_lazy("files with it"))
    def files(self, skill: Skill) -> SafeString | str:
        rows = skill.attachments.defer("content")[:_MOST_SHOWN]
        shown = [(display.name(file.path), file.size) for file in rows]
        return format_html_join("", "<div>{} ({} B)</div>", shown) or _(
            "none; an import brings them"
        )

    @admin.display(description=gettext_lazy("where it was read"))
    def used(self, skill: Skill) -> SafeString | str:
        rows = getattr(skill, _READS, skill.reads.none())[:_MOST_SHOWN]
        shown = [
            (
                display.link(display.change_url(Chat, row.chat_id), row.chat),
                row.get_level_display(),
                row.times,
            )
            for row in rows
        ]
        return format_html_join("", "<div>{} · {}: {}</div>", shown) or _("nowhere yet")

    @admin.display(description=gettext_lazy("versions"))
    def history(self, skill: Skill) -> SafeString | str:
        if skill._state.adding:
            return _("Each text that you save is kept.")
        count = skill.versions.count()
        told = ngettext("%(count)d version", "%(count)d versions, to compare and bring back", count)
        return display.link(_versions_url(skill), told % {"count": count})

    # Pages besides Django's own.

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("import/", wrap(self.import_view), name="skills_skill_import"),
            path(
                "<path:object_id>/versions/", wrap(self.versions_view), name="skills_skill_versions"
            ),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        more = {"may_import": self._may_import(request)}
        return super().changelist_view(request, {**(extra_context or {}), **more})

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Take a zip; with `look` only say what it would change."""
        if not self._may_import(request):
            raise PermissionDenied
        dry_run = "import" not in request.POST
        form = UploadForm(request.POST or None, request.FILES or None)
        report = None
        if request.method == "POST" and form.is_valid():
            try:
                report = importing.from_upload(
                    form.cleaned_data["file"], dry_run=dry_run, by=_person(request)
                )
            except BadImport as error:
                form.add_error("file", _("%(why)s Nothing was changed.") % {"why": error})
            else:
                if not dry_run:
                    self._tell_import(request, report)
                    return HttpResponseRedirect(display.list_url(Skill))
        context = {"title": _("Import skills"), "form": form, "report": report}
        return self._page(request, "import", context)

    def versions_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The versions of a skill, what one of them changed, and the way back to it."""
        skill = self.get_object(request, object_id)
        if not self.has_view_permission(request, skill):
            raise PermissionDenied
        if request.method == "POST":
            return self._bring_back(request, skill)
        versions = list(skill.versions.select_related("made_by").defer("body")[:_MOST_SHOWN])
        chosen = _version(skill, request.GET.get("number", "")) or skill.versions.first()
        before = skill.versions.filter(number__lt=chosen.number).first() if chosen else None
        context = {
            "title": _("Versions"),
            "subtitle": str(skill),
            "original": skill,
            "skill": skill,
            "versions": versions,
            "chosen": chosen,
            "changed": comparing.compare(_text(before), _text(chosen)),
            "differs": comparing.compare(_text(skill), _text(chosen)),
            "may_change": self.has_change_permission(request, skill),
        }
        return self._page(request, "versions", context)

    def _bring_back(self, request: HttpRequest, skill: Skill) -> HttpResponse:
        if not self.has_change_permission(request, skill):
            raise PermissionDenied
        number = request.POST.get("number", "")
        version = get_object_or_404(skill.versions, number=number if number.isdecimal() else 0)
        if store.restore(version, by=_person(request)):
            done = _("Brought back version %(number)s.") % {"number": version.number}
            self.log_change(request, skill, done)
            messages.success(request, done)
        return HttpResponseRedirect(_versions_url(skill))

    def _tell_import(self, request: HttpRequest, report: Report) -> None:
        changed = {c.name: c for c in report.changes if c.kind != Kind.UNCHANGED}
        for skill in Skill.objects.filter(name__in=changed):
            if changed[skill.name].kind == Kind.NEW:
                self.log_addition(request, skill, _("Imported."))
            else:
                self.log_change(request, skill, _("Imported."))
        told = _("New: %(new)d, changed: %(changed)d, unchanged: %(unchanged)d.")
        messages.success(request, told % {kind.value: report.count(kind) for kind in Kind})

    def _may_import(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_change_permission(request)

    def _page(self, request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
        shared = {**self.admin_site.each_context(request), "opts": self.opts}
        return TemplateResponse(request, f"admin/skills/skill/{name}.html", {**shared, **context})


def _person(request: HttpRequest) -> Any:
    """Who is logged in: the console lets nobody else in."""
    return request.user


def _version(skill: Skill, number: str) -> SkillVersion | None:
    if not (number.isdecimal() and len(number) < 10):
        return None
    return skill.versions.filter(number=number).first()


def _text(of: Skill | SkillVersion | None) -> str:
    """A skill's description and text as one, for comparing."""
    return f"{of.description}\n\n{of.body}" if of else ""


def _versions_url(skill: Skill) -> str:
    return reverse("admin:skills_skill_versions", args=[skill.pk])
