"""Whether the bot may speak in a chat, what that costs meanwhile, and that it ends by itself."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from core import journal, judging, leases, sending, standing
from core.messages import BotNews, ChatAddress, PlatformId
from core.models import Bot, Chat, Decision, InboundItem, ModelCallCount, OutboxEntry, SentMessage
from tests.factories import make_bot, make_chat, make_entry, make_item, make_sent, make_turn

pytestmark = pytest.mark.django_db
GROUP = ChatAddress("group", PlatformId("20001"))
CONNECTION = 7


@pytest.fixture
def bot() -> Bot:
    return make_bot(connection_number=CONNECTION)


@pytest.fixture
def chat(bot: Bot) -> Chat:
    return make_chat(bot, external_id="20001", turn_due_at=timezone.now())


def hear(chat: Chat, **told: Any) -> str:
    """Why the bot may not speak after this news, as the row says."""
    standing.apply(chat, BotNews(chat.bot_id, GROUP, **told), now=timezone.now())
    chat.refresh_from_db()
    return standing.silence(chat, now=timezone.now())


def test_a_mute_begins_and_is_lifted(chat: Chat) -> None:
    assert hear(chat, silence="muted", seconds=600) == "muted"
    assert hear(chat, silence="muted", is_over=True) == ""


def test_a_mute_ends_by_itself_when_its_time_is_over(chat: Chat) -> None:
    hear(chat, silence="muted", seconds=600)
    now = timezone.now()
    assert standing.silence(chat, now=now + timedelta(seconds=599)) == "muted"
    assert standing.silence(chat, now=now + timedelta(seconds=601)) == ""


def test_a_mute_that_was_over_when_it_was_told_of_is_none(chat: Chat) -> None:
    assert hear(chat, silence="muted", seconds=-5) == ""


def test_a_mute_without_an_end_lasts_until_it_is_lifted(chat: Chat) -> None:
    hear(chat, silence="muted")
    assert standing.silence(chat, now=timezone.now() + timedelta(days=400)) == "muted"


def test_who_was_put_out_comes_back_without_the_role_that_he_had(chat: Chat) -> None:
    hear(chat, role="admin")
    hear(chat, silence="removed")
    assert hear(chat, silence="removed", is_over=True) == ""
    assert chat.bot_role == ""


@pytest.mark.parametrize("seconds", [1.8e12, 1e63])
def test_a_mute_beyond_the_calendars_end_is_a_long_one(chat: Chat, seconds: float) -> None:
    assert hear(chat, silence="muted", seconds=seconds) == "muted"
    assert standing.silence(chat, now=timezone.now() + timedelta(days=365)) == "muted"


def test_a_mute_of_the_whole_group_does_not_concern_its_administrators(chat: Chat) -> None:
    assert hear(chat, role="admin") == ""
    assert hear(chat, silence="whole_group_muted") == ""
    assert hear(chat, role="member") == "whole_group_muted"
    assert hear(chat, role="owner") == ""


def test_one_kind_of_mute_is_not_lifted_by_the_end_of_another(chat: Chat) -> None:
    hear(chat, silence="whole_group_muted")
    assert hear(chat, silence="muted", is_over=True) == "whole_group_muted"
    assert hear(chat, silence="muted", seconds=1) == "whole_group_muted"
    assert hear(chat, silence="whole_group_muted", is_over=True) == ""


def test_a_bot_that_was_put_out_is_back_when_it_joins_or_hears_something(chat: Chat) -> None:
    assert hear(chat, silence="removed") == "removed"
    assert hear(chat, silence="removed", is_over=True) == ""
    hear(chat, silence="removed")
    standing.heard(chat)
    chat.refresh_from_db()
    assert standing.silence(chat, now=timezone.now()) == ""


def test_hearing_something_lifts_no_mute(chat: Chat) -> None:
    hear(chat, silence="muted", seconds=600)
    standing.heard(chat)
    chat.refresh_from_db()
    assert standing.silence(chat, now=timezone.now()) == "muted"


def test_a_logged_out_bot_may_speak_nowhere(bot: Bot) -> None:
    standing.keep_login(bot.pk, is_logged_out=True)
    chat = make_chat(Bot.objects.get(pk=bot.pk))
    assert standing.silence(chat, now=timezone.now()) == "logged_out"
    standing.keep_login(bot.pk, is_logged_out=False)
    assert standing.silence(Chat.objects.get(pk=chat.pk), now=timezone.now()) == ""


SILENCES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"silence_reason": "muted"}, {}, "muted"),
    ({"silence_reason": "whole_group_muted"}, {}, "whole_group_muted"),
    ({"silence_reason": "removed"}, {}, "removed"),
    ({}, {"is_logged_out": True}, "logged_out"),
]


def silence(chat: Chat, of_chat: dict[str, Any], of_bot: dict[str, Any]) -> None:
    Chat.objects.filter(pk=chat.pk).update(**{"silence_reason": "", **of_chat})
    Bot.objects.filter(pk=chat.bot_id).update(**{"is_logged_out": False, **of_bot})


@pytest.mark.parametrize(("of_chat", "of_bot", "reason"), SILENCES)
def test_a_question_to_a_silenced_bot_costs_nothing_and_its_decision_says_why(
    chat: Chat, of_chat: dict[str, Any], of_bot: dict[str, Any], reason: str
) -> None:
    silence(chat, of_chat, of_bot)
    make_item(chat, trigger="mention")
    chat = Chat.objects.select_related("bot").get(pk=chat.pk)
    assert judging.judge(chat, now=timezone.now()) is None
    decision = Decision.objects.get()
    assert (decision.verdict, decision.reason) == ("skip", reason)
    assert not ModelCallCount.objects.exists()


def test_questions_after_a_mute_are_answered_with_no_further_news(chat: Chat) -> None:
    silence(chat, {"silence_reason": "muted", "silenced_until": timezone.now()}, {})
    item = make_item(chat, trigger="mention")
    chat = Chat.objects.select_related("bot").get(pk=chat.pk)
    turn = judging.judge(chat, now=timezone.now())
    assert turn is not None
    assert InboundItem.objects.get(pk=item.pk).turn == turn


@pytest.mark.parametrize(("of_chat", "of_bot", "reason"), SILENCES)
def test_a_running_turn_of_a_silenced_bot_pays_no_further_call(
    chat: Chat, of_chat: dict[str, Any], of_bot: dict[str, Any], reason: str
) -> None:
    lease = leases.claim(chat.pk, "worker:1")
    assert lease is not None
    turn = make_turn(chat, state="running")
    silence(chat, of_chat, of_bot)
    with transaction.atomic():
        journal.reserve_next(leases.hold(lease), turn)
    turn.refresh_from_db()
    assert (turn.state, turn.error) == ("failed", reason)
    assert not ModelCallCount.objects.exists()


def leaves(chat: Chat) -> list[int]:
    return [entry.entry_id for entry in sending.claim(chat.bot_id, CONNECTION)]


def pending(chat: Chat, **fields: Any) -> OutboxEntry:
    message: SentMessage = make_sent(chat, "hi", "pending", entry=fields)
    assert message.entry is not None
    return message.entry


@pytest.mark.parametrize(("of_chat", "of_bot", "reason"), SILENCES)
def test_what_may_not_leave_is_held_and_goes_when_it_may_with_its_patience_anew(
    chat: Chat, of_chat: dict[str, Any], of_bot: dict[str, Any], reason: str
) -> None:
    entry = pending(chat, expires_at=timezone.now() + timedelta(seconds=60))
    silence(chat, of_chat, of_bot)
    assert leaves(chat) == []
    sending.sweep()
    entry.refresh_from_db()
    assert (entry.state, entry.held) == ("pending", reason)
    OutboxEntry.objects.update(expires_at=timezone.now() - timedelta(days=1))
    sending.sweep()
    entry.refresh_from_db()
    assert (entry.state, entry.held) == ("pending", reason)
    silence(chat, {}, {})
    sending.sweep()
    entry.refresh_from_db()
    left = (entry.expires_at - timezone.now()).total_seconds()
    assert entry.held == ""
    assert left == pytest.approx(chat.patience_seconds, abs=30)
    assert leaves(chat) == [entry.pk]


def test_what_is_held_goes_by_itself_when_the_mute_is_over(chat: Chat) -> None:
    entry = pending(chat, held="muted")
    soon = timezone.now() + timedelta(seconds=60)
    silence(chat, {"silence_reason": "muted", "silenced_until": soon}, {})
    sending.sweep()
    assert leaves(chat) == []
    silence(chat, {"silence_reason": "muted", "silenced_until": timezone.now()}, {})
    sending.sweep()
    assert leaves(chat) == [entry.pk]


@pytest.mark.parametrize(
    ("of_chat", "of_bot", "held"),
    [(chat, bot, "" if "muted" in why else why) for chat, bot, why in SILENCES],
)
def test_who_is_muted_may_still_take_back(
    chat: Chat, of_chat: dict[str, Any], of_bot: dict[str, Any], held: str
) -> None:
    message = make_sent(chat)
    recall = make_entry(message, action="recall", target=message.entry)
    silence(chat, of_chat, of_bot)
    sending.sweep()
    recall.refresh_from_db()
    assert recall.held == held
    assert leaves(chat) == ([] if held else [recall.pk])


def test_the_time_for_a_recall_goes_on_while_it_is_held(chat: Chat) -> None:
    message = make_sent(chat)
    soon = timezone.now() + timedelta(seconds=60)
    recall = make_entry(message, action="recall", target=message.entry, expires_at=soon)
    silence(chat, {}, {"is_logged_out": True})
    sending.sweep()
    silence(chat, {}, {})
    sending.sweep()
    recall.refresh_from_db()
    assert (recall.held, recall.expires_at) == ("", soon)
    silence(chat, {}, {"is_logged_out": True})
    OutboxEntry.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sending.sweep()
    recall.refresh_from_db()
    assert (recall.state, recall.reason) == ("discarded", "expired")


def test_what_is_held_for_another_reason_stays_held(chat: Chat) -> None:
    entry = pending(chat, held="review")
    sending.sweep()
    entry.refresh_from_db()
    assert entry.held == "review"


@pytest.mark.parametrize(("role", "goes"), [("admin", True), ("member", False)])
def test_a_mute_of_the_whole_group_holds_no_message_of_an_administrator(
    chat: Chat, role: str, goes: bool
) -> None:
    hear(chat, role=role)
    hear(chat, silence=standing.WHOLE_GROUP_MUTED)
    pending(chat)
    sending.sweep()
    assert bool(leaves(chat)) is goes
