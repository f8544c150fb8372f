"""People who may enter the console, in the console's own looks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from axes.models import AccessAttempt
from axes.utils import reset
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from arise_site import roles, second_factor
from core import audit, reach
from core.admin import switches
from core.admin.theme import ModelAdmin
from core.models import PersonLimit

if TYPE_CHECKING:
    from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
else:
    from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

# Keys and backup codes are nobody's business but their owner's.
admin.site.unregister(TOTPDevice)
admin.site.unregister(StaticDevice)
admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin[User]):  # type: ignore[type-arg]
    belongs = reach.UNLIMITED_ALONE
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

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

    def formfield_for_manytomany(self, *args: Any, **kwargs: Any) -> Any:
        return _with_told_rights(super().formfield_for_manytomany(*args, **kwargs))

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
    return format_html_join(", ", "<bdi>{}</bdi>", ((row,) for row in rows))


def _with_told_rights(field: Any) -> Any:
    if field is not None and field.queryset.model is Permission:
        field.label_from_instance = roles.told
    return field
