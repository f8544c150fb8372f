"""The admin classes that the console builds on: the theme's at run time, Django's for the types.

Pages use nothing of the theme beyond these, so that another theme is a change of this file.
"""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.db.models import Model

from core.admin.reached import Reached
from core.admin.trail import Titled

if TYPE_CHECKING:
    from django.core.paginator import Paginator
    from django.forms import ModelForm

    Row = TypeVar("Row", bound=Model)

    class ModelAdmin(Titled[Row], Reached[Row], Generic[Row]):
        """The page of a model; it says to what its rows belong."""
else:
    from django.core import paginator
    from django.forms import models
    from unfold import admin

    class Subscriptable:
        """`ModelAdmin[Bot]`, as the stubs have it, is `ModelAdmin` at run time."""

        def __class_getitem__(cls, parameters):
            return cls

    class ModelAdmin(Subscriptable, Titled[Any], Reached[Any], admin.ModelAdmin):
        """The page of a model; it says to what its rows belong."""

    class ModelForm(Subscriptable, models.ModelForm):
        """The form of a row."""

    class Paginator(Subscriptable, paginator.Paginator):
        """The pages of a list."""


__all__ = ["ModelAdmin", "ModelForm", "Paginator"]
