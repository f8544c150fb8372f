"""People who may enter the console, in the console's own looks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from axes.models import AccessAttempt
from axes.utils import reset
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from arise_site import roles, second_factor
from core import audit, reach
from core.admin import display, switches
from core.admin.theme import ModelAdmin
from core.models import PersonLimit

if TYPE_CHECKING:
    from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
    from django.forms import CheckboxSelectMultiple as Checkboxes
else:
    from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as Checkboxes

# Keys and backup codes are nobody's business but their owner's.
admin.site.unregister(TOTPDevice)
admin.site.unregister(StaticDevice)
admin.site.unregister(User)
admin.site.unregister(Group)

_HELP = _(
    "Viewers see everything; moderators also review, take down and settle; operators also set up bots,"
    " chats and skills; owners also manage people."
)


class RoleFilter(admin.RelatedFieldListFilter):
    """People of one role."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        found = super().field_choices(field, request, model_admin)
        return [(key, roles.title(str(name))) for key, name in found]


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin[User]):  # type: ignore[type-arg]
    belongs = reach.UNLIMITED_ALONE
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "role", "limited_to", "is_active", "last_login")
    list_filter = ("is_active", "is_superuser", ("groups", RoleFilter))
    readonly_fields = ("limited_to",)
    filter_horizontal = ("user_permissions",)
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Role"), {"fields": ("groups", "limited_to", "is_active", "is_staff")}),
        (_("Rights besides"), {"fields": ("is_superuser", "user_permissions")}),
        (_("About the person"), {"fields": ("first_name", "last_name", "email")}),
        (_("Important dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "usable_password", "password1", "password2", "groups")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        found = super().get_queryset(request)
        return found.prefetch_related("groups", "limit__bots", "limit__chats")

    @admin.display(description=_("role"))
    def role(self, person: User) -> str:
        if person.is_superuser:
            return gettext("superuser")
        held = [roles.title(group.name) for group in person.groups.all()]
        return display.listed(held) or "–"

    @admin.display(description=_("limit"))
    def limited_to(self, person: User) -> SafeString | str:
        if person.is_superuser:
            return gettext("none: sees everything")
        found: PersonLimit | None = getattr(person, "limit", None)
        if found is None:
            url = reverse("admin:core_personlimit_add") + f"?person={person.pk}"
            words = gettext("none: sees everything")
            return format_html("{} {}", words, display.link(url, gettext("Set a limit")))
        bots, chats = len(found.bots.all()), len(found.chats.all())
        told = (
            ngettext("%(count)d bot", "%(count)d bots", bots) % {"count": bots},
            ngettext("%(count)d chat", "%(count)d chats", chats) % {"count": chats},
        )
        return display.link(display.page_of(found), display.listed(told))

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if not change:
            # Who is made here is to log in here: there is nothing else to log in to.
            obj.is_staff = True
        super().save_model(request, obj, form, change)

    actions = ("let_in_again", "take_second_factor")

    @admin.action(
        description=_("Let in again after too many wrong passwords"), permissions=["change"]
    )
    def let_in_again(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for person in self._touchable(request, queryset):
            tries = AccessAttempt.objects.filter(username=person.get_username())
            failures = tries.aggregate(count=Sum("failures_since_start"))["count"] or 0
            reset(username=person.get_username())
            audit.keep(person, {"failed_log_ins": (failures, 0)}, by=switches.person(request))
            self.log_change(request, person, gettext("Let in again."))
        messages.success(request, gettext("They may try to log in again."))

    @admin.action(description=_("Take the second factor away"), permissions=["change"])
    def take_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for person in self._touchable(request, queryset):
            if second_factor.switch_off(person):
                self.log_change(request, person, gettext("Took the second factor away."))
        messages.success(request, gettext("Their password alone lets them in now."))

    def _touchable(self, request: HttpRequest, people: QuerySet[User]) -> QuerySet[User]:
        return people if request.user.is_superuser else people.filter(is_superuser=False)

    # An owner who is no superuser makes people, and nobody mightier than himself.

    def formfield_for_manytomany(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name == "groups":
            told = {"widget": Checkboxes(), "label": gettext("Role"), "help_text": _HELP}
            field: Any = super().formfield_for_manytomany(db_field, request, **{**kwargs, **told})
            # As they were made: each has what the one before it has.
            field.queryset = field.queryset.order_by("pk")
            field.label_from_instance = lambda group: roles.title(group.name)
            return field
        return _with_told_rights(super().formfield_for_manytomany(db_field, request, **kwargs))

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        mighty = () if request.user.is_superuser else ("is_superuser", "user_permissions")
        return (*super().get_readonly_fields(request, obj), *mighty)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return _may_touch(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return _may_touch(request, obj) and super().has_delete_permission(request, obj)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin[Group]):
    belongs = reach.UNLIMITED_ALONE
    list_title = _("Roles")
    list_display = ("titled",)

    @admin.display(description=_("role"), ordering="name")
    def titled(self, group: Group) -> SafeString:
        return display.name(roles.title(group.name))

    def row_title(self, row: Group) -> str:
        return roles.title(row.name)

    def formfield_for_manytomany(self, *args: Any, **kwargs: Any) -> Any:
        return _with_told_rights(super().formfield_for_manytomany(*args, **kwargs))


@admin.register(PersonLimit)
class PersonLimitAdmin(ModelAdmin[PersonLimit]):
    """Who sees and does something in chosen bots and chats alone."""

    belongs = reach.UNLIMITED_ALONE
    list_display = ("person", "chosen_bots", "chosen_chats")
    list_select_related = ("person",)
    search_fields = ("person__username",)
    autocomplete_fields = ("person", "bots", "chats")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PersonLimit]:
        return super().get_queryset(request).prefetch_related("bots", "chats")

    @admin.display(description=_("bots"))
    def chosen_bots(self, limit: PersonLimit) -> SafeString:
        return _names(limit.bots.all())

    @admin.display(description=_("chats"))
    def chosen_chats(self, limit: PersonLimit) -> SafeString:
        return _names(limit.chats.all())


def _may_touch(request: HttpRequest, person: User | None) -> bool:
    return person is None or not person.is_superuser or request.user.is_superuser


def _names(rows: Iterable[object]) -> SafeString:
    shown = ((row,) for row in rows)
    return format_html_join(display.listed(("", "")), "<bdi>{}</bdi>", shown)


def _with_told_rights(field: Any) -> Any:
    """Only rights that do something here: on what the console has pages of."""
    if field is not None and field.queryset.model is Permission:
        kinds = ContentType.objects.get_for_models(*admin.site._registry).values()
        field.queryset = field.queryset.filter(content_type__in=kinds)
        field.label_from_instance = roles.told
    return field
