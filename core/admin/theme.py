"""The admin classes that the console builds on: the theme's at run time, Django's for the types.

Pages use nothing of the theme beyond these, so that another theme is a change of this file.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin
    from django.core.paginator import Paginator
    from django.forms import ModelForm
else:
    from django.core import paginator
    from django.forms import models
    from unfold import admin

    class Subscriptable:
        """`ModelAdmin[Bot]`, as the stubs have it, is `ModelAdmin` at run time."""

        def __class_getitem__(cls, parameters):
            return cls

    class ModelAdmin(Subscriptable, admin.ModelAdmin):
        """The page of a model."""

    class ModelForm(Subscriptable, models.ModelForm):
        """The form of a row."""

    class Paginator(Subscriptable, paginator.Paginator):
        """The pages of a list."""


__all__ = ["ModelAdmin", "ModelForm", "Paginator"]
