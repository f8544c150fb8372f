"""Why what is pending does not leave, where something outside of it holds it: for every page on which a
pending entry is shown, and for whoever has just let one go.

From the facts as they are at this moment: an entry's `held` is written by the sweep, a little later.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import budgets, standing
from core.models import Chat, OutboxEntry

DISCONNECTED = "disconnected"
_WORDS: Mapping[str, Promise] = {
    budgets.BOT_DISABLED: gettext_lazy("It waits: the bot is disabled."),
    budgets.CHAT_DISABLED: gettext_lazy("It waits: the chat is disabled."),
    standing.REVIEW: gettext_lazy("It waits for review."),
    standing.SHADOW: gettext_lazy("It does not leave: the chat is in shadow."),
    standing.PAUSED: gettext_lazy("It waits: the bot or the chat is paused."),
    standing.MUTED: gettext_lazy("It waits: the bot is muted in the group."),
    standing.WHOLE_GROUP_MUTED: gettext_lazy("It waits: the whole group is muted."),
    standing.REMOVED: gettext_lazy("It waits: the bot is not in the group any more."),
    standing.LOGGED_OUT: gettext_lazy("It waits: the platform has the account logged out."),
    DISCONNECTED: gettext_lazy("It waits: the bot is not connected."),
}

_GIVEN = "given_reason_to_wait"
Asked = Callable[[Collection[int]], Collection[int]]
_asked: Asked | None = None


def register_connected(ask: Asked) -> Asked:
    """Set the host's answer to "which of these bots could send something now?" (usable as a
    decorator); with none, every bot could."""
    global _asked
    _asked = ask
    return ask


def is_connected(bot_id: int) -> bool:
    """Whether a bot could send something now; one query."""
    return bot_id in _connected([bot_id])


def reasons(entries: Iterable[OutboxEntry | None]) -> dict[int, str]:
    """Why those of some entries that are pending wait, a sentence each, by their keys; what nothing
    holds is not among them. Two queries where any is pending, else none."""
    return {pk: str(_WORDS.get(code, code)) for pk, code in _codes(entries).items() if code}


def give(entries: Iterable[OutboxEntry | None]) -> None:
    """Look up why entries at hand wait, for `reason` of each: so a list asks once."""
    shown = [entry for entry in entries if entry]
    found = reasons(shown)
    for entry in shown:
        entry.__dict__[_GIVEN] = found.get(entry.pk, "")


def reason(entry: OutboxEntry) -> str:
    """Why an entry waits, in a sentence; empty where nothing holds it, or it does not wait."""
    if _GIVEN not in entry.__dict__:
        give([entry])
    given: str = entry.__dict__[_GIVEN]
    return given


def besides_review(chats: Iterable[Chat]) -> dict[int, str]:
    """What else would hold words in some chats (with their bots) once they were approved, a sentence
    each, by the keys of the chats; one query."""
    there = list(chats)
    connected = _connected({chat.bot_id for chat in there})
    now = timezone.now()
    codes = {
        chat.pk: _code(
            standing.silence(chat, now=now),
            _off(chat.bot.enabled, chat.enabled),
            is_connected=chat.bot_id in connected,
        )
        for chat in there
    }
    return {pk: str(_WORDS.get(code, code)) for pk, code in codes.items() if code}


def told(entries: Iterable[OutboxEntry | None]) -> str:
    """What becomes of some entries that were just let go, in a sentence or more; empty where none of
    them is pending."""
    codes = _codes(entries).values()
    held = [str(_WORDS.get(code, code)) for code in dict.fromkeys(codes) if code]
    return " ".join(held) if held or not codes else _("It goes out as soon as it is its turn.")


def _codes(entries: Iterable[OutboxEntry | None]) -> dict[int, str]:
    """What holds each of them that is pending; the empty string where nothing does."""
    bots = {one.pk: one.bot_id for one in entries if one and one.state == OutboxEntry.State.PENDING}
    if not bots:
        return {}
    held, connected = standing.holding(bots), _connected(set(bots.values()))
    return {
        pk: _code(reason, _off(*enabled), is_connected=bots[pk] in connected)
        for pk, (reason, *enabled) in held.items()
    }


def _code(held: str, off: str, *, is_connected: bool) -> str:
    if held in (standing.REVIEW, standing.SHADOW):
        return held  # before all else: nothing of that ends it
    return off or held or ("" if is_connected else DISCONNECTED)


def _off(bot_enabled: bool, chat_enabled: bool) -> str:
    if not bot_enabled:
        return budgets.BOT_DISABLED
    return "" if chat_enabled else budgets.CHAT_DISABLED


def _connected(bot_ids: Collection[int]) -> Collection[int]:
    return bot_ids if _asked is None or not bot_ids else _asked(bot_ids)
