"""Pages that show and take only what the person reaches (core.reach), and that fail where nobody said
how their rows belong to chats or bots."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from django.contrib import admin
from django.contrib.admin import helpers
from django.contrib.admin.exceptions import NotRegistered
from django.contrib.admin.options import ModelAdmin as DjangoModelAdmin
from django.contrib.admin.utils import (
    NotRelationField,
    get_fields_from_path,
    get_model_from_relation,
)
from django.core import checks
from django.core.exceptions import BadRequest, FieldDoesNotExist, ImproperlyConfigured
from django.db.models import Field, Model, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.http import Http404, HttpRequest, HttpResponse

from core import reach

Row = TypeVar("Row", bound=Model)
_WAYS = frozenset({"exact", "in", "gt", "gte", "lt", "lte", "isnull", "isempty"})
_LONGEST_KEY = 18
_KEYS = frozenset({"id", "pk"})

if TYPE_CHECKING:

    class Base(DjangoModelAdmin[Row], Generic[Row]):
        """What it is mixed into."""

else:

    class Base(Generic[Row]):
        """Nothing: the theme's own class comes after it."""


class Reached(Base[Row], Generic[Row]):
    """What every page of the console is made with."""

    belongs: ClassVar[reach.Rule | None] = None
    """How the rows belong to chats or bots; each page says so."""

    def reached(self, request: HttpRequest, rows: QuerySet[Row]) -> QuerySet[Row]:
        """The rows of the page's model that the person reaches."""
        return reach.narrowed(rows, self._rule, request.user)

    def is_limited(self, request: HttpRequest) -> bool:
        """Whether the person reaches chosen bots or chats alone."""
        return reach.of(request.user) is not None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Row]:
        return self.reached(request, super().get_queryset(request))

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """The row of an address; one that is not there and one out of reach are the same 404."""
        found = super().get_object(request, object_id, from_field or None)
        if found is None:
            raise Http404
        return found

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_open(request) and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        # What a limited person adds would belong to none of his chats.
        return not self.is_limited(request) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_edit(request) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_edit(request) and super().has_delete_permission(request, obj)

    def get_field_queryset(
        self, db: str | None, db_field: Any, request: HttpRequest
    ) -> QuerySet[Any] | None:
        """What may be chosen for a relation, also by who posts a key that he was not shown."""
        rows = super().get_field_queryset(db, db_field, request)
        page = page_of(self, db_field.remote_field.model)
        if page is None or not page.is_limited(request):
            return rows
        return page.reached(request, rows or db_field.remote_field.model._default_manager.all())

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Row], *more: Any, **named: Any
    ) -> HttpResponse | None:
        """What was chosen of a list has to be keys: Django has a fault for anything else."""
        if not all(map(_is_key, request.POST.getlist(helpers.ACTION_CHECKBOX_NAME))):
            raise BadRequest
        return super().response_action(request, queryset, *more, **named)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Whether an address may ask by this: by key or by what the page's filters ask by, and in
        their ways. Django lets it ask by any column: one that is not shown (a token's hash) could be
        guessed at, and a pattern keep the database busy."""
        path = lookup.split(LOOKUP_SEP)
        if path[-1] in _WAYS:
            path = path[:-1]
        if path and path[-1] in _KEYS:
            path = path[:-1]
        by = {_asked_by(each) for each in self.get_list_filter(request)}
        is_known = bool(path) and (path[0] in _KEYS or _is_field(self.model, path[0]))
        if is_known and LOOKUP_SEP.join(path) not in by:
            return False
        return super().lookup_allowed(lookup, value, request)

    def get_list_filter(self, request: HttpRequest) -> Any:
        chosen = super().get_list_filter(request)
        return [(each, ReachedFilter) if _leads_away(self.model, each) else each for each in chosen]

    def _is_open(self, request: HttpRequest) -> bool:
        return self._rule is not reach.UNLIMITED_ALONE or not self.is_limited(request)

    def _may_edit(self, request: HttpRequest) -> bool:
        return self._rule.may_edit or not self.is_limited(request)

    @property
    def _rule(self) -> reach.Rule:
        if self.belongs is None:
            raise ImproperlyConfigured(
                f"{type(self).__name__} does not say to what its rows belong"
            )
        return self.belongs


class ReachedFilter(admin.RelatedFieldListFilter):
    """Offers what the person reaches."""

    def field_choices(
        self, field: Any, request: HttpRequest, model_admin: "DjangoModelAdmin[Any]"
    ) -> Any:
        model = get_model_from_relation(field)
        page = page_of(model_admin, model)
        if page is None or not page.is_limited(request):
            return super().field_choices(field, request, model_admin)
        reached = page.reached(request, model._default_manager.order_by())
        ordering = self.field_admin_ordering(field, request, model_admin)
        return field.get_choices(
            include_blank=False,
            ordering=ordering,
            limit_choices_to={"pk__in": reached.values("pk")},
        )


def page_of(page: "DjangoModelAdmin[Any]", model: type[Model]) -> "Reached[Any] | None":
    """The page of another model of the same site, where it has one."""
    try:
        found = page.admin_site.get_model_admin(model)
    except NotRegistered:
        return None
    return found if isinstance(found, Reached) else None


def _asked_by(each: Any) -> str:
    """What stands in an address for one of a page's filters: a field, or a name of its own."""
    named = each[0] if isinstance(each, tuple | list) else each
    return named if isinstance(named, str) else str(named.parameter_name)


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_KEY


def _is_field(model: type[Model], name: str) -> bool:
    """Whether a model has a field of this name; Django tells of the others that they are none."""
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return False
    return True


def _leads_away(model: type[Model], filtered_by: Any) -> bool:
    """Whether a filter is a plain name of a relation, which Django would offer all rows of."""
    if not isinstance(filtered_by, str):
        return False
    field: Field[Any, Any] = get_fields_from_path(model, filtered_by)[-1]
    try:
        get_model_from_relation(field)
    except NotRelationField:
        return False
    return True


@checks.register("admin")
def every_page_says_what_its_rows_belong_to(
    app_configs: Iterable[Any] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """A page that does not say how its rows belong to chats or bots would show them to everybody."""
    return [
        checks.Error(
            f"{type(page).__name__} does not say to what its rows belong.",
            hint="Build it on core.admin.theme.ModelAdmin and give it a core.reach.Rule as `belongs`.",
            obj=model,
            id="core.E001",
        )
        for model, page in admin.site._registry.items()
        if getattr(page, "belongs", None) is None or not isinstance(page, Reached)
    ]
