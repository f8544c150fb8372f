"""What stands above the pages of a chat, a bot and its words: that it is paused, or not live."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.admin import display
from core.models import Bot, Chat, DeliveryMode


@dataclass(frozen=True, slots=True)
class Banner:
    """A label with a sentence, and the reason that somebody gave."""

    label: str
    sentence: str
    reason: str = ""


def of(owner: Bot | Chat) -> Sequence[Banner]:
    """What holds of a chat (with its bot), or of a bot."""
    bot = owner.bot if isinstance(owner, Chat) else owner
    found = []
    if bot.paused_at is not None:
        found.append(_paused(bot, _("The bot is paused: nothing leaves, and nothing is paid.")))
    if isinstance(owner, Bot):
        return found
    if owner.paused_at is not None:
        found.append(_paused(owner, _("The chat is paused: nothing leaves, and nothing is paid.")))
    if owner.delivery_mode == DeliveryMode.REVIEW:
        said = _("What the bot says here is held until somebody approves it.")
        found.append(Banner(_("review"), said))
    if owner.delivery_mode == DeliveryMode.SHADOW:
        said = _("Nothing of what the bot does here leaves; it takes its turns all the same.")
        found.append(Banner(_("shadow"), said))
    return found


def _paused(owner: Bot | Chat, sentence: str) -> Banner:
    since = display.clock(owner.paused_at) if owner.paused_at else ""
    told = _("Since %(time)s.") % {"time": since}
    if owner.paused_by is not None:
        told = _("Since %(time)s, by %(who)s.") % {"time": since, "who": owner.paused_by}
    return Banner(_("paused"), f"{sentence} {told}", owner.pause_reason)
