"""What operators do to the bot's own words: approve what waits for review, change it, discard it, take
back what was said. By the same rules as the model's (core.tools.own_words) and in the same order.

Each act is one transaction and a comparison with what its operator saw: of two who decide about one
entry one wins, and the other is told what became of it. Nothing leaves that nobody saw.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import audit, capabilities, outbox, sending, shadow, standing, wake
from core.capabilities import Effective
from core.database import database_now
from core.errors import ToolRefusal
from core.models import CapabilitySetting, Chat, OutboxEntry, SentMessage
from core.outbox import Words
from core.text import clean_text
from core.toolcalls import Place
from core.tools import own_words, speaking

Action = OutboxEntry.Action
State = OutboxEntry.State
Operator = AbstractBaseUser | None
Demand = Callable[[Place, SentMessage], None]
_AUDITED = ("state", "held")
UNDER_WAY = (State.PENDING, State.SENDING, State.UNKNOWN)
_NAMES: Mapping[str, Promise] = {"recall": gettext_lazy("Recall"), "edit": gettext_lazy("Editing")}
_CANT: Mapping[str, Promise] = {
    "recall": gettext_lazy("The platform can't take messages back here: %(reason)s."),
    "edit": gettext_lazy("The platform can't change messages here: %(reason)s."),
}
_UNKNOWN: Mapping[str, Promise] = {
    "recall": gettext_lazy("Whether the platform takes messages back is not known: %(reason)s."),
    "edit": gettext_lazy("Whether the platform changes messages is not known: %(reason)s."),
}


class NotDone(Exception):
    """Why nothing was done: a sentence for the operator."""


def digest(entry: OutboxEntry) -> str:
    """What an entry would do as it stands now: another one once it was changed, approved, or left."""
    told = [
        entry.pk,
        entry.content,
        entry.parts,
        entry.state == State.PENDING,
        entry.approved_at is not None,
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def is_text(entry: OutboxEntry) -> bool:
    """Whether an entry says words, which can be changed: no recording, file or sticker."""
    kind = entry.message.kind if entry.message else None
    return entry.action in outbox.VERSIONS and kind == SentMessage.Kind.TEXT


def approve(entry_id: int, *, seen: str, by: Operator, text: str | None = None) -> OutboxEntry:
    """Let an entry that waits for review go, with other words where `text` differs; its patience
    counts from now. `seen` is the digest of what the operator looked at; NotDone where it is not so
    any more."""
    with transaction.atomic():
        entry, now = _locked(entry_id, seen), database_now()
        if entry.approved_at is not None or entry.held != standing.REVIEW:
            raise NotDone(_("It does not wait for review."))
        patience = timedelta(seconds=entry.chat.patience_seconds)
        values = _words_of(entry, text, now, by)
        # What makes room for it was held with it.
        room = OutboxEntry.objects.filter(pk=entry.waits_for_id or 0, state=State.PENDING)
        room.filter(held=standing.REVIEW).update(held="")
        return _keep(entry, by, approved_at=now, held="", expires_at=now + patience, **values)


def reword(entry_id: int, *, seen: str, by: Operator, text: str) -> OutboxEntry:
    """Change what an entry says before it leaves; whether it has to be approved stays as it is."""
    with transaction.atomic():
        entry = _locked(entry_id, seen)
        return _keep(entry, by, **_words_of(entry, text, database_now(), by))


def discard(entry_id: int, *, seen: str, by: Operator) -> OutboxEntry:
    """pending → discarded, so that it never leaves; the model is told. What stands behind it is void,
    and so is what was to make room for it."""
    with transaction.atomic():
        entry, now = _locked(entry_id, seen), database_now()
        ended = {
            "state": State.DISCARDED,
            "reason": outbox.BY_OPERATOR,
            "held": "",
            "settled_at": now,
            "decided_by_id": by.pk if by else None,
        }
        room = OutboxEntry.objects.filter(pk=entry.waits_for_id or 0, state=State.PENDING)
        if room.update(**ended):
            ended["told_state"] = State.DISCARDED  # the edit is told once, by its recall
        _keep(entry, by, **ended)
        sending.follow_up(target_id=entry.pk)
    return entry


def recall(message_id: int, *, seen: str, by: Operator) -> SentMessage:
    """Take back what was said, or is being sent; what waits of it is discarded."""
    with transaction.atomic():
        place, message = _open(message_id, by, seen)
        _demand_recall(place, message)
        with _told_in_words(place):
            own_words.take_back(place, message)
        audit.keep(message, {"recall_asked": (False, True)}, by=by)
        _wake(message.chat)
    return message


def edit(message_id: int, *, seen: str, by: Operator, text: str) -> SentMessage:
    """Change what was said, in place where the platform can, else by a recall and a new message."""
    with transaction.atomic():
        place, message = _open(message_id, by, seen)
        _demand_edit(place, message)
        edits = message.edits
        with _told_in_words(place):
            own_words.change(place, message, speaking.checked_words(place, _lines(text)))
        changes = {"edits": (edits, message.edits), "content": audit.CHANGED}
        audit.keep(message, changes, by=by)
        _wake(message.chat)
    return message


def recall_refusal(entry: OutboxEntry) -> str:
    """Why the message of an entry would not be taken back now, in a sentence; empty where it would
    be. What waits is discarded instead."""
    return _refusal(entry, _demand_recall)


def edit_refusal(entry: OutboxEntry) -> str:
    """Why what an entry says would not be changed now, before it leaves or after; as above."""
    if entry.state == State.PENDING:
        return "" if is_text(entry) else _not_text()
    return _refusal(entry, _demand_edit)


def _refusal(entry: OutboxEntry, demand: Demand) -> str:
    message = entry.message
    if message is None:
        return _("It is no message.")
    if message.entry_id != entry.pk:
        return _("It is not what the message says now.")
    message.entry = entry  # as it was read: without the bytes of a voice or a file
    try:
        demand(Place(entry.chat, None, 0, 0, database_now()), message)
    except NotDone as refusal:
        return str(refusal)
    return ""


def _demand_recall(place: Place, message: SentMessage) -> None:
    """NotDone where a message can't be taken back now."""
    open_recalls = message.entries.filter(action=Action.RECALL, state__in=UNDER_WAY)
    # One that makes room for words that wait goes on without them, once those are discarded.
    if open_recalls.exists() and outbox.pending_version(message) is None:
        raise NotDone(_("It is being taken back already."))
    _demand(place, message, "recall", own_words.check_take_back)


def _demand_edit(place: Place, message: SentMessage) -> None:
    """NotDone where a message can't be changed now, whatever the words."""
    if outbox.pending_version(message) is not None:
        raise NotDone(_("A change of it waits already. Change or discard that one."))
    _demand(place, message, "edit", own_words.check_change)


def _locked(entry_id: int, seen: str) -> OutboxEntry:
    """A pending entry that is as it was seen, locked behind what makes room for it: whoever settles
    that locks the two in this order."""
    room = OutboxEntry.objects.filter(pk=entry_id).values("waits_for")
    rows = OutboxEntry.objects.select_for_update(of=("self",)).order_by("pk")
    list(rows.filter(pk__in=room).values_list("pk"))
    entry = rows.select_related("chat__bot", "message", "decided_by").filter(pk=entry_id).first()
    if entry is None:
        raise NotDone(_("There is no such entry any more."))
    if entry.state != State.PENDING or digest(entry) != seen:
        raise NotDone(_fate(entry))
    return entry


def _fate(entry: OutboxEntry) -> str:
    """What became of an entry that somebody else was faster with."""
    who = {"who": entry.decided_by or _("Somebody")}
    if entry.state == State.DISCARDED and entry.reason == outbox.BY_OPERATOR:
        return _("%(who)s has discarded it already. Nothing was changed.") % who
    if entry.state == State.DISCARDED:
        return _("It was discarded meanwhile. Nothing was changed.")
    if entry.approved_at is not None and not entry.by_hand:
        return _("%(who)s has approved it already. Nothing was changed.") % who
    if entry.state != State.PENDING:
        return _("It has left meanwhile. Nothing was changed.")
    return _("It says something else meanwhile. Look at it again; nothing was changed.")


def _words_of(entry: OutboxEntry, text: str | None, now: datetime, by: Operator) -> dict[str, Any]:
    """The columns of other words under the same quote; nothing where the words are the same."""
    if text is None or not is_text(entry) or _lines(text) == _lines(entry.content):
        return {}
    place = Place(entry.chat, None, 0, 0, now, by_id=by.pk if by else None)
    with _told_in_words(place):
        words: Words = speaking.checked_words(place, _lines(text))
    return {"content": words.text, "parts": [*own_words.quoted(entry), *words.parts]}


def _lines(text: str) -> str:
    """A browser posts the ends of lines in its own way, and a NUL where there is one."""
    return clean_text(text.replace("\r\n", "\n"))


def _keep(entry: OutboxEntry, by: Operator, **values: Any) -> OutboxEntry:
    values = {"decided_by_id": by.pk if by else None, **values}
    changes: dict[str, tuple[object, object]] = {
        name: (getattr(entry, name), values[name])
        for name in _AUDITED
        if name in values and values[name] != getattr(entry, name)
    }
    if "content" in values:
        changes["content"] = audit.CHANGED
    if changes:
        audit.keep(entry, changes, by=by)
    for name, value in values.items():
        setattr(entry, name, value)
    entry.save(update_fields=values)
    _wake(entry.chat)
    return entry


def _wake(chat: Chat) -> None:
    bot_id = chat.bot_id
    transaction.on_commit(lambda: wake.outbox(bot_id))


def _open(message_id: int, by: Operator, seen: str) -> tuple[Place, SentMessage]:
    """The place of an act by hand, its chat locked, and the message, if its words are those seen."""
    found = SentMessage.objects.filter(pk=message_id).values("chat")
    chats = Chat.objects.select_for_update(of=("self",)).select_related("bot")
    chat = chats.filter(pk__in=found).first()
    if chat is None:
        raise NotDone(_("There is no such message any more."))
    message = SentMessage.objects.select_related("entry__decided_by").get(pk=message_id)
    message.chat = chat
    if message.entry is None or digest(message.entry) != seen:
        raise NotDone(_("It is not as it was meanwhile. Look at it again; nothing was changed."))
    return Place(chat, None, 0, 0, database_now(), by_id=by.pk if by else None), message


def _demand(place: Place, message: SentMessage, capability: str, check: Demand) -> None:
    """NotDone where the tool would refuse it, or the chat can't do it."""
    try:
        check(place, message)
    except ToolRefusal as refusal:
        if refusal.code == "too_late":  # a platform that can't do it at all gives no time
            _demand_ability(place, message, capability)
        raise NotDone(_in_words(place, refusal)) from None
    _demand_ability(place, message, capability)


def _demand_ability(place: Place, message: SentMessage, capability: str) -> None:
    """NotDone where the chat can't do it: the dispatcher would only discard it later."""
    is_shadows = message.entry is not None and shadow.is_shadow(message.entry)
    if shadow.is_on(place.chat) and not is_shadows:
        raise NotDone(_("The chat is in shadow, where nothing leaves. Switch its delivery first."))
    effective = capabilities.in_chat(place.chat)
    if not effective.holdings[capability].holds:
        raise NotDone(_lacks(effective, capability))


def _lacks(effective: Effective, capability: str) -> str:
    """Why a chat can't recall or edit, in a sentence."""
    holding = effective.holdings[capability]
    if capability == "edit" and not effective.edits_in_place:
        if not effective.holdings["recall"].holds:  # it would be taken back and sent anew
            return _lacks(effective, "recall")
    elif holding.layers.platform.can is False:
        return str(_CANT[capability]) % {"reason": holding.layers.platform.reason}
    said = holding.layers.said
    if said is not None and not said.allowed:
        return _switched_off(said, capability)
    return str(_UNKNOWN[capability]) % {"reason": holding.layers.platform.reason}


def _switched_off(said: CapabilitySetting, capability: str) -> str:
    told = {
        "what": _NAMES[capability],
        "who": said.set_by.get_username() if said.set_by else "",
        "day": timezone.localdate(said.set_at),
    }
    match said.set_by, said.bot_id:
        case None, None:
            return _("%(what)s was switched off for this chat on %(day)s.") % told
        case None, _bot:
            return _("%(what)s was switched off for all chats of the bot on %(day)s.") % told
        case _person, None:
            return _("%(what)s was switched off for this chat by %(who)s on %(day)s.") % told
        case _:
            return (
                _("%(what)s was switched off for all chats of the bot by %(who)s on %(day)s.")
                % told
            )


@contextmanager
def _told_in_words(place: Place) -> Iterator[None]:
    """NotDone instead of a refusal that the model would be told."""
    try:
        yield
    except ToolRefusal as refusal:
        raise NotDone(_in_words(place, refusal)) from None


def _not_text() -> str:
    return _("It is no text, so it can't be edited.")


def _in_words(place: Place, refusal: ToolRefusal) -> str:
    """A refusal that the model would be told, for an operator."""
    sentences = {
        "empty_message": _("Nothing is left to be said. Nothing was done."),
        "too_long": _("That is too long for one message. Nothing was done."),
        "not_editable": _not_text(),
        "too_many_edits": _("It was edited as often as it may be."),
        "outcome_unknown": _("Whether it arrived is not known; settle that first."),
        "message_failed": _("It did not arrive, so there is nothing to change."),
        "message_discarded": _("It was discarded before it left."),
        "message_recalled": _("It was taken back already."),
        "no_message_id": _("The platform told no id of it, so it can't be changed there."),
    }
    if refusal.code == "too_late":
        allowed = capabilities.in_chat(place.chat).platform.recall_seconds or 0
        told = _("The platform takes a message back only within %(seconds)d s, which are over.")
        return told % {"seconds": allowed}
    return sentences.get(refusal.code, refusal.message)
