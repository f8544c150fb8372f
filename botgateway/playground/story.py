"""What became of what was said in a playground: which turn is behind a message of the bot, and why
it says nothing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from core.admin import display, reasons
from core.models import Bot, Chat, Decision, InboundItem, OutboxEntry, Turn

MOST = 50
_SHOWN = 40
_UNSETTLED = (
    OutboxEntry.State.PENDING,
    OutboxEntry.State.SENDING,
    OutboxEntry.State.UNKNOWN,
    OutboxEntry.State.FAILED,
    OutboxEntry.State.DISCARDED,
)
Note = dict[str, Any]


def tell(bot: Bot) -> Mapping[str, Any]:
    """The last MOST things of a bot's chats, for its page: the same few queries, whatever is there.

    `chats`: `group:20001` or `private:10002` to `{url, learns}`. `turns`: the platform's id of a
    message of the bot to `{url, text}`. `notes`, oldest first: `{key, chat, after, at, text, state, url}`,
    where `after` is the platform's id of the message that it is about, empty where that has none, and
    `at` the time of that, in seconds since 1970; 0 for what is about the newest.
    """
    chats = list(Chat.objects.filter(bot=bot))
    names = {chat.pk: f"{chat.kind}:{chat.external_id}" for chat in chats}
    entries = list(
        OutboxEntry.objects.filter(chat__in=names, action=OutboxEntry.Action.SEND)
        .select_related("bot")
        .order_by("-pk")[:MOST]
    )
    judged = _decisions(names)
    heard = InboundItem.objects.in_bulk([decision.last_item_id for decision in judged])
    asked = {decision.turn_id: heard.get(decision.last_item_id) for decision in judged}
    notes = [
        *_judged(judged, heard, names),
        *_unsettled(reversed(entries), asked, names),
        *_gathering(chats, names),
    ]
    return {
        "chats": {
            names[chat.pk]: {"url": display.page_of(chat), "learns": chat.sticker_learning}
            for chat in chats
        },
        "turns": {
            entry.platform_message_id: {
                "url": display.change_url(Turn, entry.turn_id),
                "text": _("open turn #%(number)d") % {"number": entry.turn_id},
            }
            for entry in entries
            if entry.platform_message_id and entry.turn_id
        },
        "notes": notes,
    }


def _decisions(names: Mapping[int, str]) -> list[Decision]:
    """The last MOST, oldest first."""
    found = (
        Decision.objects.filter(chat__in=names)
        .select_related("turn")
        .defer("turn__messages", "turn__tools")
        .order_by("-pk")[:MOST]
    )
    return list(reversed(found))


def _judged(
    decisions: Iterable[Decision], heard: Mapping[int, InboundItem], names: Mapping[int, str]
) -> Iterator[Note]:
    """What the gate decided, and what came of a turn where it decided for one."""
    for decision in decisions:
        item = heard.get(decision.last_item_id)
        text, state = _outcome(decision)
        if item is not None:
            text = _("%(about)s: %(told)s") % {"about": _named(item), "told": text}
        url = (
            display.change_url(Turn, decision.turn_id)
            if decision.turn_id
            else display.page_of(decision)
        )
        key = f"decision-{decision.pk}"
        yield _note(key, names[decision.chat_id], text, state, url=url, about=item)


def _named(item: InboundItem) -> str:
    """What somebody did, in brief."""
    words = Truncator(" ".join(item.text.split())).chars(_SHOWN)
    if not words:
        return item.get_kind_display()
    return _("“%(words)s”") % {"words": words}


def _outcome(decision: Decision) -> tuple[str, str]:
    turn = decision.turn
    if decision.verdict == Decision.Verdict.SKIP:
        return _("It stayed silent: %(reason)s") % {
            "reason": reasons.told(decision.reason).said
        }, ""
    if turn is None:
        return _("It is about to think."), "busy"
    match turn.state:
        case Turn.State.RUNNING:
            return _("It is thinking…"), "busy"
        case Turn.State.SILENT:
            reason = turn.silence_reason or _("the model gave no reason")
            return _("It chose to stay silent: %(reason)s") % {"reason": reason}, ""
        case Turn.State.DONE:
            return _("It had its turn."), "good"
        case _:
            said = turn.error_detail or str(reasons.told(turn.error).said)
            return _("Its turn came to nothing: %(reason)s") % {"reason": said[:300]}, "bad"


def _unsettled(
    entries: Iterable[OutboxEntry],
    asked: Mapping[int | None, InboundItem | None],
    names: Mapping[int, str],
) -> Iterator[Note]:
    """What the bot wrote and the platform has not surely shown."""
    for entry in entries:
        if entry.state not in _UNSETTLED:
            continue
        why = entry.error or reasons.told_of_entry(entry.reason or entry.held)
        told = {"words": entry.content[:200], "state": entry.get_state_display(), "reason": why}
        text = _("“%(words)s” is %(state)s") % told
        if why:
            text = _("“%(words)s” is %(state)s: %(reason)s") % told
        key, url = f"entry-{entry.pk}", display.page_of(entry)
        about = asked.get(entry.turn_id) if entry.turn_id else None
        yield _note(key, names[entry.chat_id], text, entry.state, url=url, about=about)


def _gathering(chats: Iterable[Chat], names: Mapping[int, str]) -> Iterator[Note]:
    for chat in chats:
        if chat.turn_due_at is not None:
            text = _("It has read this, and waits a moment for more.")
            yield _note(f"due-{chat.pk}", names[chat.pk], text, "busy", url=display.page_of(chat))


def _note(
    key: str, chat: str, text: str, state: str, *, url: str, about: InboundItem | None = None
) -> Note:
    note = {"key": key, "chat": chat, "text": text, "state": state, "url": url}
    if about is None:
        return {**note, "after": "", "at": 0}
    at = int(about.sent_at.timestamp())
    return {**note, "after": about.platform_message_id, "at": at}
