"""Who is in a chat: what is told of people is kept, and what is not told takes nothing away."""

from datetime import timedelta

import pytest
from django.utils import timezone

from core import members
from core.members import Seen
from core.messages import ChatAddress, ListedMember, MemberList, MemberNews, PlatformId
from core.models import Chat, Member
from tests.factories import make_bot, make_chat, make_member

pytestmark = pytest.mark.django_db
GROUP = ChatAddress("group", PlatformId("20001"))


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot(), external_id="20001")


def listed(chat: Chat, *people: ListedMember, is_whole: bool = True) -> MemberList:
    return MemberList(chat.bot_id, GROUP, people, is_whole, asked_at=timezone.now())


def news(chat: Chat, **told: object) -> None:
    members.apply(chat, MemberNews(chat.bot_id, GROUP, "10002", **told), now=timezone.now())  # type: ignore[arg-type]


def there(chat: Chat) -> dict[str, tuple[str, str]]:
    rows = Member.objects.filter(chat=chat, left_at=None)
    return {row.user_id: (row.name, row.role) for row in rows}


def test_who_joins_is_there_and_who_leaves_is_not(chat: Chat) -> None:
    news(chat, is_here=True)
    assert there(chat) == {"10002": ("", "")}
    assert Member.objects.get().last_seen_at is None
    news(chat, is_here=False)
    assert there(chat) == {}
    news(chat, is_here=True)
    assert there(chat) == {"10002": ("", "")}


def test_a_new_name_or_role_changes_that_alone_and_makes_nobody_a_member(chat: Chat) -> None:
    news(chat, name="Anna")
    assert there(chat) == {}
    make_member(chat, user_id="10002", name="Ann", role="member")
    news(chat, name="Anna")
    news(chat, role="admin")
    assert there(chat) == {"10002": ("Anna", "admin")}


def test_speaking_is_a_sign_of_being_there(chat: Chat) -> None:
    now = timezone.now()
    make_member(chat, user_id="10002", name="Ann", role="admin", left_at=now)
    members.keep([Seen(chat.pk, "10002", at=now)])
    assert there(chat) == {"10002": ("Ann", "admin")}


def test_two_signs_of_one_person_at_once_are_both_kept(chat: Chat) -> None:
    now = timezone.now()
    members.keep([Seen(chat.pk, "10002", "Ann", "owner", now), Seen(chat.pk, "10002", at=now)])
    assert there(chat) == {"10002": ("Ann", "owner")}


def test_what_was_said_long_ago_tells_of_unknown_people_alone(chat: Chat) -> None:
    now = timezone.now()
    make_member(chat, user_id="10002", name="Anna", left_at=now)
    members.keep_unknown([Seen(chat.pk, "10002", "Ann", at=now), Seen(chat.pk, "10003", "Bob")])
    assert there(chat) == {"10003": ("Bob", "")}
    assert Member.objects.get(user_id="10002").name == "Anna"


def test_a_list_tells_who_is_there_and_by_that_who_is_not(chat: Chat) -> None:
    now = timezone.now()
    for user in ("10002", "10003", "10004"):
        make_member(chat, user_id=user, last_seen_at=now - timedelta(hours=1))
    told = listed(chat, ListedMember("10002", "Anna", "owner"), ListedMember("10005", "Eve"))
    make_member(chat, user_id="10006", name="Fay", last_seen_at=now + timedelta(seconds=1))
    members.apply_list(chat, told, now=now)
    assert there(chat) == {"10002": ("Anna", "owner"), "10005": ("Eve", ""), "10006": ("Fay", "")}
    seen = {row.user_id: row.last_seen_at for row in Member.objects.all()}
    assert (seen["10002"], seen["10005"]) == (now - timedelta(hours=1), None)
    chat.refresh_from_db()
    assert chat.members_synced_at == now


def test_a_list_that_was_cut_takes_nobody_away(chat: Chat) -> None:
    make_member(chat, user_id="10002", name="Ann", last_seen_at=None)
    members.apply_list(
        chat, listed(chat, ListedMember("10003"), is_whole=False), now=timezone.now()
    )
    assert set(there(chat)) == {"10002", "10003"}


def test_who_left_after_a_list_was_asked_for_stays_gone(chat: Chat) -> None:
    told = listed(chat, ListedMember("10002"), ListedMember("10003"))
    make_member(chat, user_id="10002", left_at=told.asked_at + timedelta(seconds=1))
    make_member(chat, user_id="10003", left_at=told.asked_at - timedelta(seconds=1))
    members.apply_list(chat, told, now=timezone.now())
    assert set(there(chat)) == {"10003"}


def test_a_list_of_other_chats_is_another_matter(chat: Chat) -> None:
    other = make_chat(chat.bot)
    make_member(other, user_id="10002", last_seen_at=None)
    members.apply_list(chat, listed(chat, ListedMember("10003")), now=timezone.now())
    assert set(there(other)) == {"10002"}


def test_a_list_is_wanted_of_an_open_group_once_a_day(chat: Chat) -> None:
    now = timezone.now()

    def wanted() -> bool:
        return members.wants_list(chat.bot_id, "20001", now=now)

    assert members.wants_list(chat.bot_id, "29999", now=now)
    assert wanted()
    Chat.objects.update(members_synced_at=now - timedelta(hours=23))
    assert not wanted()
    Chat.objects.update(members_synced_at=now - timedelta(hours=25))
    assert wanted()
    Chat.objects.update(enabled=False)
    assert not wanted()
