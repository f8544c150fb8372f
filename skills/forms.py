"""The console's forms: what is typed is stored as an import would store it."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.admin.theme import ModelForm
from skills import store, texts
from skills.models import Skill


class LineField(forms.CharField):
    """One line without blanks around it."""

    def to_python(self, value: Any) -> Any:
        return texts.tidy_line(super().to_python(value) or "")


class BodyField(forms.CharField):
    """A text with Unix line ends, whatever the browser sends."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given | {"strip": False})

    def to_python(self, value: Any) -> Any:
        body = texts.tidy_body(super().to_python(value) or "")
        return body if body.strip() else ""


class SkillForm(ModelForm[Skill]):
    """A skill; its name may be no other's in any case of letters."""

    class Meta:
        model = Skill
        fields = ("name", "description", "body", "enabled", "for_all_chats", "bots", "chats")
        field_classes = {"name": LineField, "description": LineField, "body": BodyField}

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if twin := store.twin(name, but=self.instance):
            raise forms.ValidationError(_("There is a skill %(name)s."), params={"name": twin})
        return name


class UploadForm(forms.Form):
    """A zip of skills."""

    file = forms.FileField(label=gettext_lazy("zip"))
