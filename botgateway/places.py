"""The bot's place in a group and who else is there, asked at its first message on a connection."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from botgateway import actions, database, event_fields, fields
from botgateway.calls import NoAnswer, NotWritten
from botgateway.connections import LiveConnection
from botgateway.fields import WireId
from botgateway.notices import platform_id
from core import members, standing
from core.messages import BotNews, ChatAddress, ListedMember, MemberList, Received

ANSWER_SECONDS = 10.0
LIST_SECONDS = 30.0
MOST_MEMBERS = 5000
"""More of a group are not kept; QQ's largest have three thousand."""


async def ask(connection: LiveConnection, group_id: WireId) -> list[Received]:
    """What the platform tells of a group: its members, where that was not asked for lately, and
    the bot's role and mutes there."""
    chat = ChatAddress("group", platform_id(group_id))
    self_id = connection.event_self_id or connection.self_id
    told: list[Received] = []
    own: Mapping[str, Any] = {}
    asked_at = timezone.now()
    if connection.lists_members and await database.run(
        members.wants_list, connection.bot_id, group_id.value, now=asked_at
    ):
        rows = await _list(connection, group_id)
        listed = {fields.id_text(row.get("user_id")): row for row in rows[:MOST_MEMBERS]}
        own = listed.pop(self_id, {})
        people = tuple(_member(user, row) for user, row in listed.items() if user)
        if people:
            is_whole = len(rows) <= MOST_MEMBERS
            told.append(MemberList(connection.bot_id, chat, people, is_whole, asked_at))
    if not own:
        own = await _own(connection, group_id, self_id)
    told += _place(connection, chat, own)
    if await _whole_mute_is_over(connection, group_id):
        told.append(BotNews(connection.bot_id, chat, silence="whole_group_muted", is_over=True))
    return told


async def _list(connection: LiveConnection, group_id: WireId) -> list[Mapping[str, Any]]:
    """One list at a time: a bot may hear of all its groups at once, and each may have thousands."""
    async with connection.listing:
        if not connection.lists_members:
            return []
        call = actions.get_group_member_list(group_id.wire())
        try:
            response = await connection.calls.call(call, seconds=LIST_SECONDS)
        except (NotWritten, NoAnswer):
            connection.lists_members = False
            return []
    if actions.is_unknown_action(response):
        connection.lists_members = False
    rows = response.data if response.ok and isinstance(response.data, list) else []
    return [fields.mapping(row) for row in rows]


def _member(user_id: str, row: Mapping[str, Any]) -> ListedMember:
    role = fields.one_line(fields.string(row.get("role")), 20)
    return ListedMember(user_id, event_fields.name(row), role)


async def _own(connection: LiveConnection, group_id: WireId, self_id: str) -> Mapping[str, Any]:
    user_id = int(self_id) if self_id.isdecimal() else self_id
    call = actions.get_group_member_info(group_id.wire(), user_id)
    return fields.mapping(await connection.calls.data(call, seconds=ANSWER_SECONDS))


def _place(connection: LiveConnection, chat: ChatAddress, own: Mapping[str, Any]) -> list[BotNews]:
    """`shut_up_timestamp` is when a mute of the bot ends, by the platform's clock; long ago, or 0,
    where there is none. Not all tell it, and none is to say that what was just told is over."""
    bot_id, role = connection.bot_id, fields.one_line(fields.string(own.get("role")), 20)
    news = [BotNews(bot_id, chat, role=role)] if role else []
    ends = fields.integer(own.get("shut_up_timestamp"))
    left = None if ends is None else ends - connection.clock.platform_now()
    if left is None or (left <= 0 and chat.external_id.value in connection.mutes_told):
        return news
    return [*news, BotNews(bot_id, chat, silence="muted", is_over=left <= 0, seconds=left)]


async def _whole_mute_is_over(connection: LiveConnection, group_id: WireId) -> bool:
    """Whether a mute of the whole group that an earlier connection told of has ended since. Where
    the platform does not say, it is taken for over: the next answer that is refused tells."""
    if group_id.value in connection.mutes_told or not await database.run(
        standing.is_whole_group_muted, connection.bot_id, group_id.value
    ):
        return False
    call = actions.get_group_info(group_id.wire())
    info = fields.mapping(await connection.calls.data(call, seconds=ANSWER_SECONDS))
    return not fields.integer(info.get("group_all_shut"))
