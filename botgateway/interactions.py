"""Which pokes and reactions are let in: `poke_receive` and `reaction_receive` are declarations, of
which core knows no rule. What an operator switched off ends here; what nobody knew of an
implementation is known once it comes."""

from collections.abc import Sequence

from django.db.models import Q

from botgateway import platforms
from core.messages import Received, ReceivedItem
from core.models import CapabilitySetting

CAPABILITIES = {"poke": "poke_receive", "reaction": "reaction_receive"}
Said = dict[tuple[int, str, str], bool]
"""What operators say by (bot, chat, capability); the chat is "" for all chats of the bot."""


def let_in(batch: Sequence[Received]) -> list[Received]:
    """The batch without the interactions that are switched off, by the chat's setting, else by the
    bot's; remembers of the bots what kinds came."""
    came = [one for one in batch if isinstance(one, ReceivedItem) and one.kind in CAPABILITIES]
    if not came:
        return list(batch)
    for bot_id in sorted({item.bot_id for item in came}):
        kinds = {CAPABILITIES[item.kind] for item in came if item.bot_id == bot_id}
        platforms.learn_seen(bot_id, kinds)
    said = _said(came)
    return [one for one in batch if not isinstance(one, ReceivedItem) or _is_wanted(one, said)]


def _said(items: Sequence[ReceivedItem]) -> Said:
    bots = {item.bot_id for item in items}
    chats = {item.chat.external_id.value for item in items}
    rows = CapabilitySetting.objects.filter(
        Q(bot__in=bots) | Q(chat__bot__in=bots, chat__external_id__in=chats),
        target=CapabilitySetting.Target.CAPABILITY,
        name__in=CAPABILITIES.values(),
    ).select_related("chat")
    return {
        (row.chat.bot_id, row.chat.key, row.name)
        if row.chat
        else (row.bot_id or 0, "", row.name): row.allowed
        for row in rows
    }


def _is_wanted(item: ReceivedItem, said: Said) -> bool:
    name = CAPABILITIES.get(item.kind)
    if name is None:
        return True
    of_bot = said.get((item.bot_id, "", name), True)
    return said.get((item.bot_id, item.chat.key, name), of_bot)
