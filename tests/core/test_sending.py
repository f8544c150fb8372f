"""Sending: one open send a chat, in order, each move once, nothing sent twice."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from core import evidence, inbound, outbox, sending
from core.database import give_back
from core.messages import ChatAddress, PlatformId, Recalled
from core.models import Bot, Chat, OutboxEntry, SentMessage
from core.outbox import Words
from core.sending import Claimed
from core.toolcalls import ToolContext
from tests.factories import make_bot, make_chat, make_sent, make_turn

pytestmark = pytest.mark.django_db
State = OutboxEntry.State
CONNECTION = 7


@pytest.fixture
def bot() -> Bot:
    return make_bot(connection_number=CONNECTION)


@pytest.fixture
def chat(bot: Bot) -> Chat:
    return make_chat(bot)


def pending(chat: Chat, content: str = "hi", **fields: Any) -> SentMessage:
    return make_sent(chat, content, "pending", entry=fields)


def claimed(bot: Bot, connection_number: int = CONNECTION) -> list[Claimed]:
    return sending.claim(bot.pk, connection_number)


def state(message: SentMessage) -> str:
    assert message.entry is not None
    message.entry.refresh_from_db()
    return message.entry.state


def entry_id(message: SentMessage) -> int:
    assert message.entry is not None
    return message.entry.pk


def test_a_due_entry_is_claimed_once(bot: Bot, chat: Chat) -> None:
    message = pending(chat)
    assert [entry.entry_id for entry in claimed(bot)] == [entry_id(message)]
    assert claimed(bot) == []
    assert state(message) == "sending"


def test_a_chat_sends_one_at_a_time_in_the_order_written(bot: Bot, chat: Chat) -> None:
    first, second = pending(chat, "one"), pending(chat, "two")
    assert [entry.entry_id for entry in claimed(bot)] == [entry_id(first)]
    sending.mark_sent(entry_id(first), PlatformId("1"))
    assert [entry.entry_id for entry in claimed(bot)] == [entry_id(second)]


def test_a_later_message_never_overtakes_one_that_is_not_due_yet(bot: Bot, chat: Chat) -> None:
    pending(chat, due_at=timezone.now() + timedelta(seconds=60))
    pending(chat)
    assert claimed(bot) == []


def test_chats_send_side_by_side(bot: Bot, chat: Chat) -> None:
    pending(chat)
    pending(make_chat(bot))
    assert len(claimed(bot)) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"due_at": timezone.now() + timedelta(hours=1)},
        {"draft_until": timezone.now() + timedelta(hours=1)},
        {"held": "muted"},
        {"expires_at": timezone.now() - timedelta(seconds=1)},
    ],
)
def test_what_waits_is_held_or_is_too_late_is_not_claimed(
    bot: Bot, chat: Chat, fields: dict[str, Any]
) -> None:
    pending(chat, **fields)
    assert claimed(bot) == []


def test_only_the_bots_live_connection_claims(bot: Bot, chat: Chat) -> None:
    pending(chat)
    assert claimed(bot, CONNECTION - 1) == []
    assert len(claimed(bot)) == 1


@pytest.mark.parametrize("switched_off", ["bot", "chat"])
def test_a_switched_off_bot_or_chat_sends_nothing(bot: Bot, chat: Chat, switched_off: str) -> None:
    message = pending(chat)
    row: Bot | Chat = bot if switched_off == "bot" else chat
    row.enabled = False
    row.save()
    assert claimed(bot) == []
    sending.sweep()
    assert state(message) == "discarded"


NEVER = timezone.now() - timedelta(hours=1)
STILL = timezone.now() + timedelta(hours=1)


@pytest.mark.parametrize(("until", "goes_on"), [(STILL, False), (None, False), (NEVER, True)])
def test_later_messages_wait_while_evidence_of_an_unknown_one_may_come(
    bot: Bot, chat: Chat, until: object, goes_on: bool
) -> None:
    make_sent(chat, "one", "unknown", entry={"evidence_until": until})
    pending(chat, "two")
    assert (len(claimed(bot)) == 1) == goes_on


@pytest.mark.parametrize(("evidence", "waits"), [(True, True), (False, False)])
def test_nobody_waits_for_an_implementation_that_can_give_no_evidence(
    bot: Bot, chat: Chat, evidence: bool, waits: bool
) -> None:
    first = make_sent(chat, "one", "sending", entry={"connection_number": CONNECTION})
    pending(chat, "two")
    sending.mark_unknown(entry_id(first), reason="no_answer", evidence=evidence)
    assert (claimed(bot) == []) == waits


def test_the_wait_for_evidence_counts_from_the_next_connection(
    bot: Bot, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_SETTLE_SECONDS = 0
    first = make_sent(chat, "one", "sending", entry={"connection_number": CONNECTION - 1})
    pending(chat, "two")
    sending.mark_unknown(entry_id(first), reason="connection_lost")
    assert claimed(bot) == []
    sending.connected(bot.pk, CONNECTION)
    assert len(claimed(bot)) == 1


def test_nobody_waits_after_a_reconnect_where_it_can_give_no_evidence(bot: Bot, chat: Chat) -> None:
    make_sent(chat, "one", "sending", entry={"connection_number": CONNECTION - 1})
    pending(chat, "two")
    assert sending.connected(bot.pk, CONNECTION, evidence=False) == 1
    assert len(claimed(bot)) == 1


def test_an_unknown_of_long_ago_holds_nobody_up_at_the_next_connection(
    bot: Bot, chat: Chat
) -> None:
    make_sent(chat, "one", "unknown", entry={"evidence_until": NEVER})
    pending(chat, "two")
    sending.connected(bot.pk, CONNECTION)
    assert len(claimed(bot)) == 1


def test_a_loss_that_was_told_after_the_next_connection_was_up_holds_its_chat_for_a_while_only(
    bot: Bot, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_SETTLE_SECONDS = 0
    first = make_sent(chat, "one", "sending", entry={"connection_number": CONNECTION - 1})
    pending(chat, "two")
    sending.connected(bot.pk, CONNECTION - 1)
    sending.mark_unknown(entry_id(first), reason="connection_lost")
    assert claimed(bot) == []
    sending.sweep()
    assert len(claimed(bot)) == 1


def test_an_entry_that_was_never_handed_over_goes_back_by_its_owner_alone(
    bot: Bot, chat: Chat
) -> None:
    message = pending(chat)
    claimed(bot)
    assert not sending.hand_back(entry_id(message), CONNECTION + 1)
    assert sending.hand_back(entry_id(message), CONNECTION)
    assert len(claimed(bot)) == 1


Move = Callable[[int], bool]
MOVES: dict[str, Move] = {
    "sent": lambda entry: sending.mark_sent(entry, PlatformId("9")),
    "failed": lambda entry: sending.mark_failed(entry, reason="refused"),
    "unknown": lambda entry: sending.mark_unknown(entry, reason="no_answer"),
    "pending": lambda entry: sending.hand_back(entry, CONNECTION),
}
ALLOWED = {
    ("sending", "sent"),
    ("sending", "failed"),
    ("sending", "unknown"),
    ("sending", "pending"),
    ("unknown", "sent"),
    ("unknown", "failed"),
}


@pytest.mark.parametrize("before", OutboxEntry.State.values)
@pytest.mark.parametrize("move", MOVES)
def test_send_state_moves_forward_only(chat: Chat, before: str, move: str) -> None:
    message = make_sent(chat, state=before, entry={"connection_number": CONNECTION})
    moved = MOVES[move](entry_id(message))
    assert moved == ((before, move) in ALLOWED)
    assert state(message) == (move if moved else before)


def test_what_an_earlier_connection_was_sending_becomes_unknown(bot: Bot, chat: Chat) -> None:
    theirs = make_sent(chat, state="sending", entry={"connection_number": CONNECTION - 1})
    ours = make_sent(make_chat(bot), state="sending", entry={"connection_number": CONNECTION})
    assert sending.connected(bot.pk, CONNECTION) == 1
    assert (state(theirs), state(ours)) == ("unknown", "sending")


def test_an_answer_that_could_not_leave_in_time_is_discarded_as_expired(chat: Chat) -> None:
    message = pending(chat, expires_at=timezone.now() - timedelta(seconds=1))
    sending.sweep()
    assert state(message) == "discarded"
    assert message.entry is not None
    assert message.entry.reason == "expired"


def write(chat: Chat, text: str, call_index: int = 0) -> OutboxEntry:
    context = ToolContext(chat, make_turn(chat), 0, call_index, timezone.now())
    message = outbox.write_text(context, Words(text, []))
    assert message.entry is not None
    return message.entry


def test_typing_time_counts_from_the_message_before_and_is_bounded(
    chat: Chat, settings: Settings
) -> None:
    settings.ARISE_SEND_PACE = 0.1
    first, second, third = write(chat, "x" * 10), write(chat, "x" * 20), write(chat, "x" * 4000)
    assert (first.due_at - first.created_at).total_seconds() == pytest.approx(1)
    assert (second.due_at - first.due_at).total_seconds() == pytest.approx(2)
    assert (third.due_at - second.due_at).total_seconds() == pytest.approx(8)


def test_handles_count_up_within_their_chat(chat: Chat, bot: Bot) -> None:
    other = make_chat(bot)
    messages = [write(chat, "a").message, write(chat, "b").message, write(other, "c").message]
    assert [message.handle for message in messages if message] == ["m1", "m2", "m1"]


def test_a_draft_is_held_until_its_turn_goes_on(chat: Chat, bot: Bot, settings: Settings) -> None:
    settings.ARISE_SEND_PACE = 0
    settings.ARISE_DRAFT_SECONDS = 60
    entry = write(chat, "think again")
    assert claimed(bot) == []
    assert entry.turn is not None
    outbox.release_drafts(entry.turn)
    assert len(claimed(bot)) == 1


def test_the_next_look_is_when_the_first_entry_may_be_due(bot: Bot, chat: Chat) -> None:
    assert sending.next_look([bot.pk]) == {}
    pending(chat, due_at=timezone.now() + timedelta(seconds=30))
    assert sending.next_look([bot.pk])[bot.pk] == pytest.approx(30, abs=2)
    pending(make_chat(bot))
    assert sending.next_look([bot.pk])[bot.pk] == 0


def test_the_platforms_echo_of_an_unknown_message_is_the_evidence_that_it_was_sent(
    chat: Chat,
) -> None:
    message = make_sent(chat, "hello", "unknown")
    later = make_sent(chat, "hello", "unknown")
    assert evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")
    assert (state(message), state(later)) == ("sent", "unknown")
    assert message.entry is not None
    assert message.entry.platform_message_id == "555"
    assert evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")
    assert state(later) == "unknown"


@pytest.mark.parametrize("how", ["no_answer", "reconnected", "swept"])
def test_an_echo_that_came_before_its_answer_settles_a_send_that_gets_none(
    bot: Bot, chat: Chat, how: str
) -> None:
    old = timezone.now() - timedelta(hours=1)
    made = {"connection_number": CONNECTION - 1, "sending_at": old}
    message = make_sent(chat, "hello", "sending", entry=made)
    assert evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")
    assert state(message) == "sending"
    if how == "no_answer":
        sending.mark_unknown(entry_id(message), reason="no_answer")
    elif how == "reconnected":
        assert sending.connected(bot.pk, CONNECTION) == 0
    else:
        sending.sweep()
    assert state(message) == "sent"
    assert message.entry is not None
    assert message.entry.platform_message_id == "555"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", ["no_answer", "reconnected", "swept"])
def test_an_echo_that_is_being_stored_settles_a_send_that_is_given_up_meanwhile(
    bot: Bot, chat: Chat, how: str
) -> None:
    old = timezone.now() - timedelta(hours=1)
    made = {"connection_number": CONNECTION - 1, "sending_at": old}
    message = make_sent(chat, "hello", "sending", entry=made)
    moves: dict[str, Callable[[], object]] = {
        "no_answer": lambda: sending.mark_unknown(entry_id(message), reason="no_answer"),
        "reconnected": lambda: sending.connected(bot.pk, CONNECTION),
        "swept": sending.sweep,
    }
    waiting = threading.Event()

    def elsewhere() -> None:
        def first_tells(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            given = rest[0] or ()
            gives_up = State.UNKNOWN in given and State.SENT not in given
            if sql.startswith("UPDATE") and gives_up:
                waiting.set()
            return execute(sql, *rest)

        try:
            with connection.execute_wrapper(first_tells):
                moves[how]()
        finally:
            give_back()

    with transaction.atomic():
        assert evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")
        other = threading.Thread(target=elsewhere)
        other.start()
        assert waiting.wait(20)
    other.join()
    assert state(message) == "sent"


def test_an_echo_is_of_what_is_being_sent_before_it_is_of_what_was_long_unknown(
    chat: Chat,
) -> None:
    unknown, new = make_sent(chat, "ok", "unknown"), make_sent(chat, "ok", "sending")
    assert evidence.take_echo(chat, message_id=PlatformId("555"), text="ok")
    sending.mark_sent(entry_id(new), PlatformId("555"))
    assert (state(unknown), state(new)) == ("unknown", "sent")


def test_an_echo_with_another_id_is_of_another_message(chat: Chat) -> None:
    unknown, new = make_sent(chat, "ok", "unknown"), make_sent(chat, "ok", "sending")
    for number in ("555", "556"):
        assert evidence.take_echo(chat, message_id=PlatformId(number), text="ok")
    sending.mark_unknown(entry_id(new), reason="no_answer")
    assert (state(unknown), state(new)) == ("sent", "sent")
    assert unknown.entry is not None
    assert new.entry is not None
    assert new.entry.platform_message_id == "555"
    assert unknown.entry.platform_message_id == "556"


def test_what_is_recalled_before_its_answer_comes_is_recalled_where_its_echo_came(
    chat: Chat,
) -> None:
    message = make_sent(chat, "hello", "sending")
    evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")
    address = ChatAddress("group", PlatformId(chat.external_id))
    told = Recalled(chat.bot_id, address, PlatformId("555"), False, timezone.now())
    inbound.receive([told])
    sending.mark_sent(entry_id(message), PlatformId("555"))
    assert state(message) == "recalled"


@pytest.mark.parametrize(("answered", "kept"), [("556", "556"), (None, "555")])
def test_the_answer_tells_the_id_and_the_echo_where_the_answer_does_not(
    chat: Chat, answered: str | None, kept: str
) -> None:
    message = make_sent(chat, "hello", "sending")
    evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")
    sending.mark_sent(entry_id(message), PlatformId(answered) if answered else None)
    assert state(message) == "sent"
    assert message.entry is not None
    assert message.entry.platform_message_id == kept


def test_an_echo_tells_the_id_that_the_answer_did_not(chat: Chat) -> None:
    lately, long_ago = (
        make_sent(chat, "hello", "sent", entry={"platform_message_id": "", "settled_at": at})
        for at in (timezone.now(), timezone.now() - timedelta(hours=1))
    )
    assert evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")
    assert (state(lately), state(long_ago)) == ("sent", "sent")
    assert lately.entry is not None
    assert long_ago.entry is not None
    ids = (lately.entry.platform_message_id, long_ago.entry.platform_message_id)
    assert ids == ("555", "")
    assert not evidence.take_echo(chat, message_id=PlatformId("556"), text="hello")


VOICE = [{"type": "voice", "data": {}}]
MENTION = [{"type": "mention", "data": {"id": "30001"}}]
QUOTED_FACE = [{"type": "reply", "data": {"id": "5"}}, {"type": "face", "data": {"id": "76"}}]


@pytest.mark.parametrize(
    ("parts", "text", "kinds", "is_ours"),
    [
        (VOICE, "", ["voice"], True),
        (VOICE, "", ["image"], False),
        (VOICE, "", [], False),
        (VOICE, "hello", ["text"], False),
        (MENTION, "", ["mention"], True),
        (MENTION, " ", ["text", "mention"], True),
        (MENTION, "", ["voice"], False),
        (QUOTED_FACE, "", ["face"], True),
        ([], "", [], False),
    ],
)
def test_what_has_no_text_is_known_again_by_the_kinds_of_its_parts(
    chat: Chat, parts: list[dict[str, Any]], text: str, kinds: list[str], is_ours: bool
) -> None:
    message = make_sent(chat, "hello", "unknown", entry={"parts": parts})
    taken = evidence.take_echo(chat, message_id=PlatformId("555"), text=text, kinds=kinds)
    assert taken is is_ours
    assert state(message) == ("sent" if is_ours else "unknown")


@pytest.mark.parametrize(("kinds", "settled"), [(["voice"], 1), (["image"], 0)])
def test_a_history_tells_of_a_voice(bot: Bot, chat: Chat, kinds: list[str], settled: int) -> None:
    now = timezone.now()
    made = {"parts": VOICE, "sending_at": now - timedelta(seconds=30)}
    message = make_sent(
        chat, "hello", "unknown", entry={**made, "settled_at": now - timedelta(seconds=9)}
    )
    sought = evidence.seek(bot.pk, ["group"])
    told = evidence.Told("555", True, True, evidence.likeness("", kinds), now)
    assert evidence.read_history(sought, [told]) == settled
    assert state(message) == ("sent" if settled else "unknown")


@pytest.mark.parametrize("before", ["pending", "sent", "failed", "discarded"])
def test_other_words_and_other_states_are_no_echo(chat: Chat, before: str) -> None:
    message = make_sent(chat, "hello", before)
    make_sent(chat, "bye", "unknown")
    assert not evidence.take_echo(chat, message_id=PlatformId("777"), text="hello")
    assert state(message) == before


def test_an_answer_that_is_kept_while_an_echo_is_looked_up_does_not_hide_it(chat: Chat) -> None:
    message = make_sent(chat, "hello", "sending")
    looks: list[Any] = []

    def answered_after_the_first_look(execute: Callable[..., Any], *query: Any) -> Any:
        found = execute(*query)
        looks.append(query)
        if len(looks) == 1:
            sending.mark_sent(entry_id(message), PlatformId("555"))
        return found

    with connection.execute_wrapper(answered_after_the_first_look):
        assert evidence.take_echo(chat, message_id=PlatformId("555"), text="hello")


@pytest.mark.django_db(transaction=True)
def test_an_entry_that_somebody_else_has_in_hand_is_passed_over(bot: Bot) -> None:
    busy, free = pending(make_chat(bot)), pending(make_chat(bot))
    found: list[Claimed] = []

    def elsewhere() -> None:
        try:
            found.extend(claimed(bot))
        finally:
            give_back()

    with transaction.atomic():
        OutboxEntry.objects.select_for_update().get(pk=entry_id(busy))
        claimer = threading.Thread(target=elsewhere)
        claimer.start()
        claimer.join(5)
        assert not claimer.is_alive()
    assert [entry.entry_id for entry in found] == [entry_id(free)]


def test_a_send_that_nobody_waits_for_any_more_is_unknown(chat: Chat) -> None:
    old = timezone.now() - timedelta(minutes=5)
    lost = make_sent(chat, "lost", "sending", entry={"sending_at": old})
    under_way = make_sent(chat, "now", "sending", entry={"sending_at": timezone.now()})
    sending.sweep()
    assert (state(lost), state(under_way)) == ("unknown", "sending")


def test_what_a_switched_off_chat_would_still_have_said_is_discarded(chat: Chat) -> None:
    waiting = pending(chat)
    Chat.objects.filter(pk=chat.pk).update(enabled=False)
    sending.sweep()
    assert state(waiting) == "discarded"
