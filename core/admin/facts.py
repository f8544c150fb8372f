"""What happened is read, not edited: the ground that the pages of facts share."""

import re
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib import admin
from django.contrib.admin.options import ModelAdmin as DjangoModelAdmin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Page
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import reach
from core.admin import display
from core.admin.reached import page_of
from core.admin.theme import ModelAdmin, Paginator
from core.models import Chat

Row = TypeVar("Row", bound=Model)
SEARCHED = 10_000
"""Words are looked for in this many rows at most, from the newest on: a term that is found nowhere
would have the whole table read. Older ones are reached by filters."""
OF_CHATS = 1_000
"""So many of the newest rows are found by their chats, however old those are."""
_MOST_CHATS = 20
_CHAT = re.compile(r"(?:(?:group|private):)?([0-9]+)")


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

    def page(self, number: int | str) -> Page[Any]:
        """A page whose rows are chosen by their keys alone, which indexes have, and read after that:
        else a list that has to be sorted would be read whole."""
        number = self.validate_number(number)
        rows = self.object_list
        if not isinstance(rows, QuerySet):
            return super().page(number)
        bottom = (number - 1) * self.per_page
        top = min(bottom + self.per_page, self.count)
        keys = rows.values("pk")[bottom:top]
        return Page(rows.filter(pk__in=keys), number, self)


class FactAdmin(ModelAdmin[Row], Generic[Row]):
    """Rows that nobody adds, changes or deletes by hand."""

    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50
    list_filter_sheet = True
    actions: tuple[str, ...] | None = None
    named_by: ClassVar[str] = ""
    """An indexed field by whose exact value any row is found, however old; empty: none."""
    found_by_chat: ClassVar[bool] = False
    """Whether rows are found by their chat, too, by its platform id or part of its title: the newest
    OF_CHATS of such chats, however old."""
    ordering: ClassVar[tuple[str, ...]] = ("-id",)
    sortable_by: ClassVar[tuple[str, ...]] = ()
    """The newest first, always: a million rows in another order are read whole for one page."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Row], search_term: str
    ) -> tuple[QuerySet[Row], bool]:
        """Rows that have the term: all rows that are named by it, else those of the newest SEARCHED of
        what the filters leave, and those of chats that are called so."""
        if not search_term:
            return queryset, False
        named = _named(queryset, self.named_by, search_term.strip())
        if named is not None:
            return named, False
        rows, is_repeated = super().get_search_results(request, newest(queryset), search_term)
        if is_repeated:
            # Found through several rows of another table: once is enough, without comparing rows whole.
            rows = queryset.filter(pk__in=rows.order_by().values("pk"))
        chats = self._chats(request, search_term) if self.found_by_chat else []
        if chats:
            # Each by its own index: in one condition they would have the whole table read.
            of_chats = queryset.filter(chat__in=chats).order_by("-pk")
            keys = list(of_chats.values_list("pk", flat=True)[:OF_CHATS])
            found = self.model._default_manager.filter(pk__in=keys).order_by().values("pk")
            rows = queryset.filter(pk__in=found.union(rows.order_by().values("pk")))
        return rows, False

    def _chats(self, request: HttpRequest, term: str) -> list[int]:
        """Chats that the person reaches by their id, as `20001` or `group:20001`; else some by their
        title. There are few chats beside what happens in them, so this needs no index."""
        reached = reach.narrowed(Chat.objects.order_by(), reach.to_chat("pk"), request.user)
        wanted = term.strip()
        named = _CHAT.fullmatch(wanted)
        called = Q(external_id=wanted) | Q(title__icontains=wanted)
        found = Q(external_id=named[1]) if named else called
        return list(reached.filter(found).values_list("pk", flat=True)[:_MOST_CHATS])

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        if shown.search_fields:
            shown.search_help_text = gettext(
                "%(fields)s, in the newest %(count)s rows; filters lead to older ones"
            ) % {
                "fields": self.search_help_text or gettext("Words"),
                "count": number_format(SEARCHED, force_grouping=True),
            }
        return shown

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


def newest(rows: QuerySet[Row]) -> QuerySet[Row]:
    """The newest SEARCHED of these rows."""
    keys = rows.order_by("-pk").values_list("pk", flat=True)
    behind = keys[SEARCHED : SEARCHED + 1].first()
    return rows if behind is None else rows.filter(pk__gt=behind)


def _named(rows: QuerySet[Row], field: str, name: str) -> QuerySet[Row] | None:
    """The rows of that name, where there are any."""
    if not field or (field == "pk" and not _is_key(name)):
        return None
    found = rows.filter(**{field: name})
    return found if found.exists() else None


def _is_key(text: str) -> bool:
    return text.isdecimal() and len(text) <= 18
