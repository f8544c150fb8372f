"""The switches of capabilities and tags on the pages of chats and bots: a row for each name, with what
holds, what each layer says and why, and on, off or inherit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.forms import BoundField
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import capabilities, chatsettings
from core.admin.listed import RowForm
from core.admin.theme import ModelForm
from core.capabilities import NAMES, Ability, Holding
from core.models import Bot, CapabilitySetting, Chat

ON, OFF, INHERIT = "on", "off", "inherit"
STATES = (
    (INHERIT, gettext_lazy("inherit")),
    (ON, gettext_lazy("on")),
    (OFF, gettext_lazy("off")),
)
DESCRIPTIONS: dict[str, str | Promise] = {
    "recall": gettext_lazy("takes back its own words"),
    "edit": gettext_lazy("changes its own words"),
    "poke_send": gettext_lazy("pokes people"),
    "poke_receive": gettext_lazy("is told of pokes"),
    "reaction_send": gettext_lazy("puts emoji under messages"),
    "reaction_receive": gettext_lazy("is told of emoji under messages"),
    "profile_like": gettext_lazy("likes profiles"),
    "quote": gettext_lazy("quotes messages"),
    "sticker": gettext_lazy("sends stickers"),
    "voice": gettext_lazy("speaks aloud"),
    "file": gettext_lazy("sends files"),
    "tag.all": gettext_lazy("calls everybody"),
    "tag.user": gettext_lazy("mentions people"),
    "tag.face": gettext_lazy("uses the platform's faces"),
}
PREFIX = "switch_"


@dataclass(frozen=True, slots=True)
class Cell:
    """A label, its colour in console.css, and why it is so."""

    label: str
    state: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One name as its page shows it: how the layers see it (each with its heading), the switch, and
    who set it."""

    key: str
    description: str | Promise
    cells: Sequence[tuple[str, Cell]]
    switch: BoundField
    set_by: str


class ListForm(RowForm):
    """A row of a list that is changed in place. What was seen is posted with what is wanted, so that
    a list that was open for long undoes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = True

    @property
    def changed_columns(self) -> list[str]:
        """The changed fields; never the key, which may be posted in other digits."""
        return [name for name in self.changed_data if name in self.base_fields]


class SwitchesForm(ModelForm[Any]):
    """The form of a chat or a bot with a switch for each capability and tag.

    What an operator saw is posted with what he chose, so that only what he changed is set: a page
    that was open for long undoes nothing. A bot that is being made has no switches yet.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._columns = _columns(self.instance) if self.instance.pk else []
        for field in self.fields.values():
            field.show_hidden_initial = bool(self._columns)
        for name in NAMES if self._columns else ():
            self.fields[PREFIX + name] = forms.ChoiceField(
                choices=STATES,
                initial=_state(self._row(name)),
                required=False,
                label=_key(name),
                show_hidden_initial=True,
                widget=forms.Select(attrs={"class": "arise-select", "aria-label": _key(name)}),
            )

    @property
    def explanation(self) -> str:
        """What a switch of this page means."""
        if isinstance(self.instance, Chat):
            return _(
                "What is set here comes before what is set for the bot. “On” can't make a platform"
                " do what it can't."
            )
        return _(
            "What is set here holds for all chats of the bot that say nothing themselves. “On” can't"
            " make a platform do what it can't."
        )

    @property
    def headings(self) -> list[str]:
        """What stands above the cells of a row."""
        if isinstance(self.instance, Chat):
            return [_("now"), _("platform"), _("bot")]
        return [_("in groups"), _("in private chats")]

    @property
    def switches(self) -> Iterator[Row]:
        """The rows of the page; none for a bot that is being made."""
        for name in NAMES if self._columns else ():
            row = self._row(name)
            yield Row(
                _key(name),
                DESCRIPTIONS[name],
                list(zip(self.headings, self._cells(name), strict=True)),
                self[PREFIX + name],
                capabilities.said_by(row) if row is not None else "",
            )

    def _row(self, name: str) -> CapabilitySetting | None:
        layers = self._columns[0].holdings[name].layers
        return layers.chat if isinstance(self.instance, Chat) else layers.bot

    def _cells(self, name: str) -> list[Cell]:
        holdings = [effective.holdings[name] for effective in self._columns]
        cells = [_holding_cell(holding) for holding in holdings]
        if isinstance(self.instance, Chat):
            layers = holdings[0].layers
            cells += [_platform_cell(layers.platform), _bot_cell(layers.bot)]
        return cells

    @property
    def chosen(self) -> dict[tuple[str, str], bool | None]:
        """What the operator changed, as `core.chatsettings.set_capabilities` takes it."""
        told = {ON: True, OFF: False, INHERIT: None}
        return {
            _target(field.removeprefix(PREFIX)): told[self.cleaned_data[field]]
            for field in self.changed_data
            if field.startswith(PREFIX) and self.cleaned_data[field]
        }

    @property
    def changed_columns(self) -> list[str]:
        """The changed fields that are the row's own."""
        return [name for name in self.changed_data if not name.startswith(PREFIX)]


def save(request: HttpRequest, form: SwitchesForm | ListForm) -> None:
    """Set what the operator chose on the page of a bot; a list has no switches."""
    chatsettings.set_capabilities(form.instance, chosen(form), by=person(request))


def chosen(form: SwitchesForm | ListForm) -> chatsettings.Capabilities:
    """The switches that were turned."""
    return form.chosen if isinstance(form, SwitchesForm) else {}


def person(request: HttpRequest) -> AbstractBaseUser | None:
    """Who is logged in."""
    return request.user if request.user.is_authenticated else None


def _columns(owner: Bot | Chat) -> list[capabilities.Effective]:
    """What holds in a chat; for a bot, what holds in its chats that say nothing themselves."""
    if isinstance(owner, Chat):
        return [capabilities.in_chat(owner)]
    kinds = (Chat.Kind.GROUP, Chat.Kind.PRIVATE)
    return [capabilities.in_chat(Chat(bot=owner, kind=kind)) for kind in kinds]


def _state(row: CapabilitySetting | None) -> str:
    return INHERIT if row is None else ON if row.allowed else OFF


def described(key: str) -> str:
    """What a switch is about, by its key (`cap.recall`, `tag.all`); empty for what is none."""
    return next((str(told) for name, told in DESCRIPTIONS.items() if _key(name) == key), "")


def _key(name: str) -> str:
    """The name as `chatset` has it: `cap.recall`, `tag.all`."""
    return ".".join(_target(name))


def _target(name: str) -> tuple[str, str]:
    tag = name.removeprefix("tag.")
    is_tag = tag != name
    return (str(capabilities.TAG if is_tag else capabilities.CAP), tag)


def _holding_cell(holding: Holding) -> Cell:
    if holding.holds:
        return Cell(_("on"), "good", holding.reason)
    return Cell(_("off"), "", holding.reason)


def _platform_cell(ability: Ability) -> Cell:
    match ability.can:
        case True:
            return Cell(_("can"), "good", ability.reason)
        case False:
            return Cell(_("can't"), "", ability.reason)
        case None:
            return Cell(_("not known"), "warn", ability.reason)


def _bot_cell(row: CapabilitySetting | None) -> Cell:
    if row is None:
        return Cell(_("inherit"))
    said = capabilities.said_by(row)
    return Cell(_("on"), "good", said) if row.allowed else Cell(_("off"), "", said)
