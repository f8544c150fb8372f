"""Who is in a group: from what is said, from the member list, from who comes and goes."""

from core.models import Bot, Chat, Member
from tests.fakes.onebot import FakeOneBot, refused
from tests.flows.conftest import Platform
from tests.flows.test_conversation import GROUP
from tests.flows.waiting import eventually, rows

People = dict[str, tuple[str, str]]


async def people(bot: Bot, *expected: str) -> People:
    """Names and roles of those who are in the bot's groups, once they are just these."""

    async def look() -> People | None:
        found = await rows(Member.objects.filter(chat__bot=bot, left_at=None))
        there = {row.user_id: (row.name, row.role) for row in found}
        return there if there.keys() == set(expected) else None

    found = await eventually(look)
    assert found is not None
    return found


async def tell(onebot: FakeOneBot, notice_type: str, user: object, **told: object) -> None:
    await onebot.send_event(onebot.world.notice(GROUP, notice_type, user_id=user, **told))


async def test_the_first_message_of_a_group_makes_its_members_and_the_bots_role_known(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        onebot.world.bot_role = "admin"
        await onebot.say(GROUP, 10002, "hi")
        found = await people(bot, "10002", "10003")
        await onebot.say(GROUP, 10003, "hi")
        (chat,) = await eventually(lambda: rows(Chat.objects.filter(bot=bot, messages=2)))
    assert found == {"10002": ("Ann", "member"), "10003": ("Bob", "member")}
    assert (chat.bot_role, chat.members_synced_at is None) == ("admin", False)
    assert len(onebot.called("get_group_member_list")) == 1
    assert onebot.called("get_group_member_info") == []


async def test_after_a_reconnect_a_list_of_today_is_not_asked_for_again(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi")
        await people(bot, "10002", "10003")
    async with platform() as onebot:
        onebot.world.bot_role = "owner"
        await onebot.say(GROUP, 10002, "hi again")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="owner")))
    assert onebot.called("get_group_member_list") == []
    assert len(onebot.called("get_group_member_info")) == 1


async def test_who_comes_goes_speaks_and_is_named_anew_is_known(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        onebot.always("get_group_member_list", refused(1404, "不支持的Api get_group_member_list"))
        await onebot.say(GROUP, 10002, "hi")
        await people(bot, "10002")
        await tell(onebot, "group_increase", 10007, sub_type="approve", operator_id=0)
        await people(bot, "10002", "10007")
        await tell(onebot, "group_decrease", 10002, sub_type="leave", operator_id=0)
        await people(bot, "10007")
        await tell(onebot, "group_card", 10007, card_new="Gil", card_old="")
        await tell(onebot, "group_admin", 10007, sub_type="set")
        await onebot.say(GROUP, 10002, "back again")
        found = await people(bot, "10002", "10007")
    assert found["10007"] == ("Gil", "admin")


async def test_the_bots_own_role_changes_when_it_is_told(platform: Platform, bot: Bot) -> None:
    async with platform() as onebot:
        await onebot.say(GROUP, 10002, "hi")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="member")))
        await tell(onebot, "group_admin", onebot.world.self_id, sub_type="set")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="admin")))
        await tell(onebot, "group_admin", onebot.world.self_id, sub_type="unset")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="member")))
    assert bot.self_id not in [
        row.user_id for row in await rows(Member.objects.filter(chat__bot=bot))
    ]


async def test_who_comes_into_a_group_anew_is_what_he_is_told_to_be_then(
    platform: Platform, bot: Bot
) -> None:
    async with platform() as onebot:
        onebot.world.bot_role = "admin"
        await onebot.say(GROUP, 10002, "hi")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="admin")))
        await tell(onebot, "group_decrease", onebot.world.self_id, sub_type="kick_me")
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="")))
        onebot.world.bot_role = "owner"
        joined = {"sub_type": "invite", "operator_id": 10003}
        await tell(onebot, "group_increase", onebot.world.self_id, **joined)
        await eventually(lambda: rows(Chat.objects.filter(bot=bot, bot_role="owner")))
