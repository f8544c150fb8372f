"""Where one is in the console: what pages are called, and the way that leads to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from django.contrib import admin
from django.contrib.admin.options import ModelAdmin as DjangoModelAdmin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.db.models.options import Options
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst

Row = TypeVar("Row", bound=Model)

if TYPE_CHECKING:

    class Base(DjangoModelAdmin[Row], Generic[Row]):
        """What it is mixed into."""

else:

    class Base(Generic[Row]):
        """Nothing: the theme's own class comes after it."""


@dataclass(frozen=True, slots=True)
class Place:
    """One step of the way; without a `url` where that is the page itself."""

    title: str
    url: str = ""


class Titled(Base[Row], Generic[Row]):
    """A list that is called by what it lists, and pages of rows that are called by what they are."""

    list_title: ClassVar[str | Promise] = ""
    """What the list is called; empty: the model's name for many."""

    def row_title(self, row: Row) -> str:
        """What a row is called on the way to its page."""
        return str(row)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        shown.title = _list_title(self)
        return shown

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        named = {} if object_id is None else {"title": capfirst(self.opts.verbose_name)}
        more = {**named, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, more)


def leading_to(context: Mapping[str, Any]) -> Sequence[Place]:
    """The way to the page of a context: the list, the row, and the page where it is neither of them.

    Of `context` it reads `opts` (whose list it is), `original` or `object` (the row), `title`, and
    `request`.
    """
    path, opts = context["request"].path, context.get("opts")
    places: list[Place] = []
    if isinstance(opts, Options):
        places.append(Place(_title_of(opts), _url(opts, "changelist")))
        row = context.get("original") or context.get("object")
        if isinstance(row, Model):
            places.append(Place(_row_title(row), _url(row._meta, "change", row.pk)))
    if not places or places[-1].url != path:
        return [*places, Place(str(context.get("title") or ""))]
    return [*places[:-1], Place(places[-1].title)]


def _list_title(page: "DjangoModelAdmin[Any]") -> str:
    return str(getattr(page, "list_title", "") or capfirst(page.opts.verbose_name_plural))


def _title_of(opts: "Options[Any]") -> str:
    page = admin.site._registry.get(opts.model)
    return _list_title(page) if page else str(capfirst(opts.verbose_name_plural))


def _row_title(row: Model) -> str:
    page = admin.site._registry.get(type(row))
    return page.row_title(row) if isinstance(page, Titled) else str(row)


def _url(opts: "Options[Any]", page: str, *keys: object) -> str:
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_{page}", args=keys)
