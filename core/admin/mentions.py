"""Whom words mention and whom gestures are for, by name: what comes in has only their ids at times."""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from core.models import Chat, InboundItem, Member, OutboxEntry

Names = Mapping[tuple[int, str], str]
"""Names by chat and account; of some accounts none is known."""
EVERYBODY = "all"
"""What core.messages has for a mention of all."""
_GIVEN = "_names"
_AT_PEOPLE = (OutboxEntry.Action.POKE, OutboxEntry.Action.LIKE)


def known(rows: Iterable[InboundItem | OutboxEntry]) -> Names:
    """The names of those whom these rows name by their ids alone; two queries, or none."""
    wanted = {(row.chat_id, account) for row in rows for account in _unnamed(row)}
    if not wanted:
        return {}
    chats = {chat for chat, _account in wanted}
    accounts = {account for _chat, account in wanted}
    of_bots = Chat.objects.filter(pk__in=chats, bot__self_id__in=accounts).exclude(bot__name="")
    members = Member.objects.filter(chat__in=chats, user_id__in=accounts).exclude(name="")
    found = {
        (chat, account): name
        for rows in (
            of_bots.order_by().values_list("pk", "bot__self_id", "bot__name"),
            members.order_by().values_list("chat", "user_id", "name"),
        )
        for chat, account, name in rows
    }
    return {place: found[place] for place in wanted if place in found}


def give(rows: Iterable[InboundItem | OutboxEntry]) -> None:
    """Let the rows of a list have the names that `given` tells of each."""
    names = known(rows)
    for row in rows:
        row.__dict__[_GIVEN] = names


def given(row: InboundItem | OutboxEntry) -> Names:
    """What `give` gave; no names where it did not."""
    names: Names = row.__dict__.get(_GIVEN, {})
    return names


def name(names: Names, chat_id: int, account: str) -> str:
    """What somebody is called, everybody's too; the account where that is all that is known."""
    if account == EVERYBODY:
        return _("everybody")
    return names.get((chat_id, account), account)


def whom(row: InboundItem | OutboxEntry) -> str:
    """The account that a poke or a like is for; empty for all else."""
    if isinstance(row, InboundItem):
        return row.target_id if row.kind == InboundItem.Kind.POKE else ""
    return row.subject if row.action in _AT_PEOPLE else ""


def _unnamed(row: InboundItem | OutboxEntry) -> Iterable[str]:
    for part in row.parts:
        data = part.get("data") or {}
        if part.get("type") == "mention" and not data.get("name"):
            yield str(data.get("id", ""))
    if isinstance(row, InboundItem):
        yield from row.mentions
    if account := whom(row):
        yield account
