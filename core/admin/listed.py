"""Forms of rows that are changed inside of a list."""

from typing import Any

from django.utils.translation import gettext as _

from core.admin.theme import ModelForm


class RowForm(ModelForm[Any]):
    """One row. Each field says what it is and of which row: to who hears the page, a column's title
    says nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            told = _("%(field)s: %(row)s") % {"field": field.label, "row": self.instance}
            field.widget.attrs["aria-label"] = told
