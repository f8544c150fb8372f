"""What happened is read, not edited: the ground that the pages of facts share."""

from typing import Any, ClassVar, Generic, TypeVar

from django.contrib import admin
from django.contrib.admin.options import ModelAdmin as DjangoModelAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from core.admin import display
from core.admin.reached import page_of
from core.admin.theme import ModelAdmin, Paginator
from core.models import Chat

Row = TypeVar("Row", bound=Model)


class CappedPaginator(Paginator[Any]):
    """Counts no further than a list can be paged: a million rows cost what ten thousand do.

    What lies deeper is found by search and filters.
    """

    cap = 10_000

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        return rows.order_by().values("pk")[: self.cap].count()


class FactAdmin(ModelAdmin[Row], Generic[Row]):
    """Rows that nobody adds, changes or deletes by hand."""

    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    list_filter_sheet = True
    actions: tuple[str, ...] | None = None
    ordering: ClassVar[tuple[str, ...]] = ("-id",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        return False

    @admin.display(description=_("turn"))
    def turn_link(self, row: Any) -> str:
        """For lists of rows that belong to a turn."""
        return display.turn_link(row.turn_id)


class ChatFilter(admin.SimpleListFilter):
    """Shows which chat a list is narrowed to, without offering a hundred thousand of them."""

    title = _("chat")
    parameter_name = "chat"
    model: ClassVar[type[Model]] = Chat

    def lookups(
        self, request: HttpRequest, model_admin: "DjangoModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        chosen = request.GET.get(self.parameter_name, "")
        if not chosen:
            return []
        page, rows = page_of(model_admin, self.model), self.model._default_manager.all()
        reached = page.reached(request, rows) if page else rows.none()
        row = reached.filter(pk=chosen).first() if _is_key(chosen) else None
        # With no choice at all the filter would be left out, and the list be everybody's.
        return [(chosen, str(row) if row else "–")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        value = self.value()
        if value is None:
            return None
        return self.narrow(queryset, int(value)) if _is_key(value) else queryset.none()

    def narrow(self, rows: QuerySet[Any], key: int) -> QuerySet[Any]:
        """The rows of one chat."""
        return rows.filter(chat=key)


def _is_key(text: str) -> bool:
    return text.isdecimal() and len(text) <= 18
