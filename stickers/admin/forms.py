"""The gallery's forms."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.text import clean_text
from stickers.acts import Texts
from stickers.models import Sticker

LONGEST_TEXT = 500
LONGEST_MOOD = 40
MOST_MOODS = 16
_BETWEEN_MOODS = re.compile(r"[,，、;；\n]+")


class WordsField(forms.CharField):
    """Some lines of text that can be stored."""

    def __init__(self, **given: Any) -> None:
        rows = {"rows": 2, "class": "arise-input", "autocomplete": "off"}
        super().__init__(
            widget=forms.Textarea(attrs=rows), **({"max_length": LONGEST_TEXT} | given)
        )

    def to_python(self, value: Any) -> str:
        text: str = super().to_python(value) or ""
        return clean_text(text.replace("\r\n", "\n"))


class MoodsField(WordsField):
    """A few words with commas between them."""

    def clean(self, value: Any) -> Any:
        parts = [part.strip() for part in _BETWEEN_MOODS.split(super().clean(value))]
        moods = tuple(dict.fromkeys(filter(None, parts)))
        if len(moods) > MOST_MOODS or any(len(mood) > LONGEST_MOOD for mood in moods):
            told = _("At most %(most)d moods, each of at most %(letters)d characters.")
            raise ValidationError(told % {"most": MOST_MOODS, "letters": LONGEST_MOOD})
        return moods


class WordingForm(forms.Form):
    """What is said of one sticker."""

    meaning = WordsField(label=gettext_lazy("meaning"), help_text=Sticker.meaning.field.help_text)
    use_when = WordsField(label=gettext_lazy("use it when"), required=False)
    avoid_when = WordsField(label=gettext_lazy("do not use it when"), required=False)
    moods = MoodsField(
        label=gettext_lazy("moods"),
        required=False,
        help_text=gettext_lazy("A few words with commas between them."),
    )
    words = WordsField(label=gettext_lazy("words in the picture"), required=False)

    @property
    def texts(self) -> Texts:
        """What was typed."""
        return Texts(**{name: self.cleaned_data[name] for name in Texts.__dataclass_fields__})


class TextsForm(WordingForm):
    """The same on a sticker's page: with what was seen of it, so that nobody's words are lost."""

    seen = forms.CharField(widget=forms.HiddenInput, max_length=64)

    @classmethod
    def of(cls, sticker: Sticker, data: Any = None) -> "TextsForm":
        """The form of a sticker, as it is now or as it was posted."""
        texts = Texts.of(sticker)
        initial = {**texts.columns(), "moods": ", ".join(texts.moods), "seen": texts.digest}
        return cls(data, initial=initial)

    @property
    def seen_digest(self) -> str:
        """What the page showed when it was typed."""
        return str(self.cleaned_data["seen"])
