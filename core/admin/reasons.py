"""What stored codes mean, in words, for people who do not know them: why something was not answered or
does not leave, what somebody is in a group, how a model ended.

Columns with choices have their words there; those of stickers stand in stickers.admin.reasons. A code
without words stands for itself: a test has each that the code writes (tests/core/test_reasons.py).
"""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import budgets, outbox, sending, standing
from core.models import DeliveryMode, OutboxEntry
from core.models.turns import Trigger


@dataclass(frozen=True, slots=True)
class Reason:
    """What a code means, and what to do about it; `advice` is empty where nothing has to be done."""

    said: str | Promise
    advice: str | Promise = ""


_KNOWN = {
    "not_addressed": Reason(
        _("Nobody addressed the bot."),
        _("It answers who mentions it, quotes it, pokes it, or writes to it in private."),
    ),
    "replayed": Reason(
        _("It was old already when it came in."),
        _("What was said while the bot was away is stored, and not answered afterwards."),
    ),
    "recalled": Reason(_("Who addressed the bot took it back before it was judged.")),
    standing.PAUSED: Reason(
        _("The bot or the chat was paused."), _("Resume it on the page of the chat or the bot.")
    ),
    standing.MUTED: Reason(
        _("The bot was muted in the group."), _("An administrator of the group can lift it.")
    ),
    standing.WHOLE_GROUP_MUTED: Reason(
        _("The whole group was muted."), _("An administrator of the group can lift it.")
    ),
    standing.REMOVED: Reason(
        _("The bot is not in the group any more."), _("Somebody has to invite it again.")
    ),
    standing.LOGGED_OUT: Reason(
        _("The platform had logged the account out."),
        _("Log it in again in its OneBot implementation."),
    ),
    standing.REVIEW: Reason(
        _("What the bot says here is held for review."), _("Approve or discard what waits.")
    ),
    standing.SHADOW: Reason(
        _("The chat is in shadow: the bot takes its turns, and nothing of them leaves."),
        _("Set the delivery to live where it is to speak."),
    ),
    budgets.BUDGET_SPENT: Reason(
        _("The chat's model calls of the day were spent."),
        _("Raise “model calls a day” on the chat's page, or wait for tomorrow."),
    ),
    budgets.CHAT_DISABLED: Reason(
        _("The chat was disabled."), _("Enable it: until then nothing said there is even stored.")
    ),
    budgets.BOT_DISABLED: Reason(_("The bot was disabled."), _("Enable it on the bot's page.")),
    "step_limit": Reason(_("The model did not come to an end within the calls of one turn.")),
    "crashed": Reason(
        _("Its worker died several times in it, so that it was given up."),
        _("See the worker's log."),
    ),
    "forgotten": Reason(_("It was forgotten.")),
    "timeout": Reason(_("The model's endpoint did not answer in time."), _("Run the doctor.")),
    "unreachable": Reason(_("The model's endpoint could not be reached."), _("Run the doctor.")),
    "rate_limited": Reason(
        _("The model's endpoint had enough of calls, or the account there has no money left."),
        _("Look into the account at the endpoint."),
    ),
    "refused": Reason(
        _("The model's endpoint refused the request."),
        _("The turn's page has its words: a wrong key or model name, most often."),
    ),
    "server_error": Reason(_("The model's endpoint failed inside.")),
    "bad_answer": Reason(_("The model's endpoint answered what can't be read.")),
    "expired": Reason(_("It could not leave within the chat's patience.")),
    "internal_error": Reason(_("Something broke inside."), _("See the worker's log.")),
    "no_broker": Reason(_("No worker could be told of it."), _("Run the doctor.")),
}


_OF_ENTRIES = {
    "refused": _("The platform refused it."),
    "recall_refused": _("The platform refused to take it back."),
    "not_recalled": _("The platform did not take it back."),
    "unclear_answer": _("The platform's answer does not tell whether it was done."),
    "no_answer": _("The platform gave no answer in time."),
    "unsendable": _("It can't be sent as it is."),
    "sender_lost": _("The gateway went away while it was being sent."),
    sending.CONNECTION_LOST: _("The connection was lost while it was being sent."),
    "not_delivered": _("The chat's history does not have it."),
    "not_sent_says_operator": _("An operator said that it was not sent."),
    "recalled": _("It was taken back before it left."),
    "recalled_by_hand": _("It was taken back on the bot's own account."),
    "recalled_by_admin": _("An administrator of the group took it back."),
    sending.RECALLED_BY_OPERATOR: _("An operator took it back."),
    outbox.BY_OPERATOR: _("An operator discarded it."),
    "question_recalled": _("Who had asked took the question back."),
    OutboxEntry.SENT_AS_TEXT: _("It went out as text, since the sticker could not be sent."),
    "capability_off": _("The chat can't do that any more."),
    "sticker_taken_down": _("The sticker was taken down."),
    "message_recalled": _("Its message was taken back."),
    "message_gone": _("Its message did not go out, or is not there any more."),
    "outcome_unknown": _("Whether its message went out was never known."),
    "no_message_id": _("Its message has no id on the platform."),
    "recall_failed": _("What it was to stand for could not be taken back."),
    "recall_unknown": _("Whether what it was to stand for was taken back is not known."),
    "recall_discarded": _("What it was to stand for was not taken back."),
}
_IN_BRIEF = {
    standing.PAUSED: _("paused"),
    standing.MUTED: _("muted"),
    standing.WHOLE_GROUP_MUTED: _("whole group muted"),
    standing.REMOVED: _("not in the group any more"),
    standing.LOGGED_OUT: _("logged out"),
    standing.REVIEW: DeliveryMode.REVIEW.label,
    standing.SHADOW: DeliveryMode.SHADOW.label,
}
_ROLES = {"owner": _("owner"), "admin": _("administrator"), "member": _("member")}
_SPEAKERS = {
    "system": _("system message"),
    "user": _("what it was told"),
    "assistant": _("the model"),
    "tool": _("a tool's result"),
}
_ENDINGS = {
    "stop": _("it was done"),
    "tool_calls": _("it called tools"),
    "function_call": _("it called tools"),
    "length": _("its answer was too long"),
    "content_filter": _("a filter cut it off"),
}


def told_of_entry(code: str) -> str:
    """What the reason of an Outbox entry means, in a sentence; empty for none."""
    return str(_OF_ENTRIES.get(code) or told(code).said) if code else ""


def in_brief(code: str) -> str:
    """What holds the bot's words (core.standing.REASONS), in a word or two, for labels and lists."""
    return str(_IN_BRIEF.get(code, code))


def role(code: str) -> str:
    """What somebody is in a group, by the platform's word for it."""
    return str(_ROLES.get(code, code))


def ending(code: str) -> str:
    """How a model call ended, by the endpoint's `finish_reason`."""
    return str(_ENDINGS.get(code, code))


def speaker(code: str) -> str:
    """Whose message of a model request one is, by its `role`."""
    return str(_SPEAKERS.get(code, code))


def told(code: str) -> Reason:
    """What a code means; one that has no words here stands for itself. An answer's code is what
    addressed the bot."""
    if code in Trigger.values:
        return Reason(Trigger(code).label)
    return _KNOWN.get(code) or Reason(code)
