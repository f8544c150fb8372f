"""Bringing pictures into the catalogue: many files at once, then a meaning for each, typed or asked
of a model.

Between the two they lie in a tray: bytes in the media store that nothing refers to yet, which it
keeps for a day, and their digests in the person's session.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import budgets
from core.admin import switches
from core.errors import MediaFailure, ModelFailure
from core.llm import routing
from core.media import pictures, store
from core.models import StoredMedia
from stickers import acts, catalogue, funnel, recognition
from stickers.admin import reasons
from stickers.admin.forms import WordingForm
from stickers.catalogue import Details, NotAdded
from stickers.recognition import Unusable

MOST_FILES = 40
_TRAY = "sticker_tray"


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not taken, and why."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Card:
    """A picture in the tray."""

    sha256: str
    is_moving: bool
    form: WordingForm


def take(request: HttpRequest, files: "Sequence[UploadedFile[bytes]]") -> list[Refused]:
    """Put what can be taken of the files into the tray, and say why the others were not."""
    refused = [Refused(file.name or "", _too_many()) for file in files[MOST_FILES:]]
    taken = 0
    for file in files[:MOST_FILES]:
        try:
            digest = _looked_at(file)
            if digest in tray(request):
                raise NotAdded(_("It is here already."))
        except NotAdded as error:
            refused.append(Refused(file.name or "", str(error)))
        else:
            _keep(request, [*tray(request), digest])
            taken += 1
    if taken:
        told = ngettext("%(count)d picture was taken.", "%(count)d pictures were taken.", taken)
        messages.success(request, told % {"count": taken})
    return refused


def tray(request: HttpRequest) -> list[str]:
    """The digests of the pictures in the person's tray."""
    return list(request.session.get(_TRAY, ()))


def cards(request: HttpRequest) -> list[Card]:
    """The pictures in the tray that are still there, each with its form."""
    digests = tray(request)
    frames = dict(StoredMedia.objects.filter(pk__in=digests).values_list("pk", "frames"))
    there = [digest for digest in digests if digest in frames]
    if there != digests:
        _keep(request, there)
    data = request.POST if "tray" in request.POST else None
    return [Card(digest, frames[digest] > 1, _form(digest, data)) for digest in there]


def add(request: HttpRequest, shown: Sequence[Card]) -> list[Card]:
    """Bring what was given a meaning into the catalogue; what is left in the tray."""
    left = [card for card in shown if not _added(request, card)]
    if added := len(shown) - len(left):
        told = ngettext(
            "%(count)d sticker is now in the catalogue.",
            "%(count)d stickers are now in the catalogue.",
            added,
        )
        messages.success(request, told % {"count": added})
    elif not any(card.form.errors for card in left):
        messages.warning(request, _("None of them has a meaning yet."))
    _keep(request, [card.sha256 for card in left])
    return left


def drop(request: HttpRequest, digest: str) -> None:
    """Take a picture out of the tray for good."""
    if digest in tray(request):
        _keep(request, [other for other in tray(request) if other != digest])
        with transaction.atomic():
            store.remove(digest)


def model() -> str:
    """The model that can be asked; the empty string where none takes stickers."""
    return routing.first_that_takes("sticker")


def ask(request: HttpRequest, shown: Iterable[Card], digest: str) -> list[Card]:
    """Ask the model what one picture means and write it into its form, for the person to judge."""
    return [
        Card(card.sha256, card.is_moving, _asked(request, card)) if card.sha256 == digest else card
        for card in shown
    ]


def _looked_at(file: "UploadedFile[bytes]") -> str:
    """The digest of a file that can be added, kept in the media store; NotAdded says why not."""
    if file.size is not None and file.size > pictures.MOST_BYTES:
        raise NotAdded(catalogue.fault("too_large"))
    return catalogue.look(file.read())


def _too_many() -> str:
    told = _("At most %(most)d files at once are taken; send it again.")
    return told % {"most": MOST_FILES}


def _keep(request: HttpRequest, digests: list[str]) -> None:
    request.session[_TRAY] = digests


def _form(digest: str, data: Any) -> WordingForm:
    return WordingForm(data, prefix=digest[:16], empty_permitted=True, use_required_attribute=False)


def _added(request: HttpRequest, card: Card) -> bool:
    form = card.form
    if not form.is_bound or not form.is_valid() or not form.has_changed():
        return False
    content = store.read(card.sha256)
    if content is None:
        form.add_error(None, _("Its picture is not kept any more; send the file again."))
        return False
    texts = form.texts
    details = Details(texts.use_when, texts.avoid_when, texts.moods, texts.words)
    try:
        sticker = catalogue.add(
            content, meaning=texts.meaning, details=details, by=switches.person(request)
        )
    except NotAdded as error:
        form.add_error(None, str(error))
        return False
    acts.keep_added(sticker, by=switches.person(request))
    return True


def _asked(request: HttpRequest, card: Card) -> WordingForm:
    """The form with what the model says, or with why it says nothing."""
    content, name = store.read(card.sha256), model()
    if content is None or not name:
        messages.error(request, _("No model takes stickers."))
        return card.form
    budgets.reserve_by_hand(by=switches.person(request))
    try:
        answer = recognition.ask(name, pictures.examine(content).view)
        learned = recognition.read(answer)
    except MediaFailure as failure:
        why = funnel.DOWNLOADS.get(failure.code, failure.code)
        messages.error(request, _("The model was not asked: %(why)s.") % {"why": why})
    except ModelFailure as failure:
        told = _("The model gave no answer. %(why)s")
        messages.error(request, told % {"why": reasons.told(failure.code)})
    except Unusable as unusable:
        if unusable.sensitive:
            messages.warning(request, _("The model finds this picture sensitive."))
        else:
            told = _("The model's answer can't be used. %(why)s")
            messages.warning(request, told % {"why": reasons.told(unusable.code)})
    else:
        initial = {**learned.as_fields(), "moods": ", ".join(learned.moods)}
        return WordingForm(initial=initial, prefix=card.sha256[:16], use_required_attribute=False)
    return card.form
