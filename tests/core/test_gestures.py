"""Pokes, reactions and profile likes: whom they may be for, how many, and their place in the Outbox."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from core import capabilities, evidence, inbound, judging, outcomes, sending
from core.capabilities import Ability, Platform
from core.database import give_back
from core.errors import ToolRefusal
from core.messages import ChatAddress, PlatformId, Recalled
from core.models import Bot, Chat, OutboxEntry, Turn
from core.toolcalls import ToolContext
from core.tools import execution
from core.tools.registry import Arguments, Tool, ToolResult
from tests.factories import (
    make_bot,
    make_chat,
    make_entry,
    make_item,
    make_member,
    make_sent,
    make_turn,
)

pytestmark = pytest.mark.django_db
CONNECTION = 7
ABLE = ("poke_send", "reaction_send", "profile_like", "recall", "quote")
POKE, REACTION, LIKE = "poke", "reaction", "like"
GESTURES = OutboxEntry.GESTURES


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    able = Platform({name: Ability(True) for name in ABLE}, recall_seconds=120)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: able)


@pytest.fixture
def bot() -> Bot:
    return make_bot("10000", connection_number=CONNECTION)


@pytest.fixture
def chat(bot: Bot) -> Chat:
    chat = make_chat(bot)
    make_member(chat, user_id="10001")
    return chat


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


def call(turn: Turn, name: str, **arguments: Any) -> dict[str, Any]:
    """One tool call in a step's transaction, as the journal makes it."""
    chat = Chat.objects.select_related("bot").get(pk=turn.chat_id)
    context = ToolContext(chat, turn, turn.steps, 0, timezone.now())
    turn.steps += 1
    tools = {tool.name: tool for tool in judging.offered(chat)}
    with transaction.atomic():
        result = execution.execute(tools, context, name=name, arguments=json.dumps(arguments))
        chat.save(update_fields=["next_handle"])
    return dict(result.values)


def gestures() -> list[tuple[str, str, list[dict[str, Any]]]]:
    """All gestures that were written: what each does, at whom or what, and its part."""
    entries = OutboxEntry.objects.filter(action__in=GESTURES).order_by("pk")
    return [(entry.action, entry.subject, entry.parts) for entry in entries]


def claimed(bot: Bot) -> list[str]:
    """What the dispatcher gets now: the actions, and of sends the text."""
    entries = sending.claim(bot.pk, CONNECTION)
    return [evidence.text_of(one.parts) or one.action for one in entries]


def test_a_gesture_is_an_entry_of_its_own_and_no_message(turn: Turn, chat: Chat) -> None:
    make_item(chat, platform_message_id="55", platform_message_id_is_number=False)
    assert call(turn, "poke_send", user_id="10001") == {"ok": True}
    assert call(turn, "reaction_send", message_id="55", emoji="👍") == {"ok": True}
    assert call(turn, "like_profile", user_id="10001") == {"ok": True}
    assert gestures() == [
        ("poke", "10001", [{"type": "poke", "data": {"id": "10001", "is_number": True}}]),
        (
            "reaction",
            "55",
            [{"type": "reaction", "data": {"id": "55", "is_number": False, "emoji": "128077"}}],
        ),
        ("like", "10001", [{"type": "like", "data": {"id": "10001", "is_number": True}}]),
    ]
    assert not chat.sent_messages.exists()
    assert (turn.gestures, turn.sends) == (3, 0)
    assert not OutboxEntry.objects.exclude(draft_until=None).exists()


def test_an_id_that_the_model_writes_as_a_number_is_taken(turn: Turn, chat: Chat) -> None:
    make_item(chat, platform_message_id="-55")
    assert call(turn, "poke_send", user_id=10001)["ok"]
    assert call(turn, "reaction_send", message_id=-55, emoji=76)["ok"]
    assert call(turn, "poke_send", user_id=True)["error"] == "bad_arguments"


@pytest.mark.parametrize(
    ("user_id", "chat_is_number", "is_number"),
    [("10001", True, True), ("10001", False, False), ("u-1", True, False), ("１２", True, False)],
)
def test_a_persons_id_goes_out_in_the_type_in_which_ids_of_the_chat_came(
    bot: Bot, user_id: str, chat_is_number: bool, is_number: bool
) -> None:
    chat = make_chat(bot, external_id_is_number=chat_is_number)
    make_member(chat, user_id=user_id)
    assert call(make_turn(chat, state="running"), "poke_send", user_id=user_id)["ok"]
    ((_, _, [part]),) = gestures()
    assert part["data"]["is_number"] is is_number


@pytest.mark.parametrize("tool", ["poke_send", "like_profile"])
@pytest.mark.parametrize(
    ("user_id", "code"),
    [
        ("10002", "unknown_user"),  # of another chat
        ("10003", "unknown_user"),  # left
        ("99999", "unknown_user"),
        ("all", "unknown_user"),
        ("", "unknown_user"),
        ("10000", "not_yourself"),
    ],
)
def test_a_person_who_is_not_here_is_refused_and_nothing_is_written(
    turn: Turn, chat: Chat, bot: Bot, tool: str, user_id: str, code: str
) -> None:
    make_member(make_chat(bot), user_id="10002")
    make_member(chat, user_id="10003", left_at=timezone.now())
    make_member(chat, user_id="10000")
    result = call(turn, tool, user_id=user_id)
    assert (result["ok"], result["error"]) == (False, code)
    assert result["message"].endswith(".")
    assert (gestures(), turn.gestures) == ([], 0)


def test_in_a_private_chat_there_is_the_other_person_alone(bot: Bot) -> None:
    chat = make_chat(bot, kind="private", external_id="10001")
    make_member(chat, user_id="10002")
    turn = make_turn(chat, state="running")
    assert call(turn, "poke_send", user_id="10002")["error"] == "unknown_user"
    assert call(turn, "poke_send", user_id="10001")["ok"]


@pytest.mark.parametrize(
    ("message_id", "code"),
    [
        ("56", "unknown_message"),  # of another chat
        ("57", "message_recalled"),
        ("58", "unknown_message"),  # a poke
        ("99", "unknown_message"),
        ("", "unknown_message"),
        ("m3", "unknown_message"),  # of another chat
        ("m4", "message_not_sent"),
        ("m5", "message_not_sent"),
        ("m6", "message_not_sent"),
        ("m7", "message_recalled"),
        ("m8", "no_message_id"),
    ],
)
def test_a_message_that_does_not_stand_here_is_refused_and_nothing_is_written(
    turn: Turn, chat: Chat, bot: Bot, message_id: str, code: str
) -> None:
    other = make_chat(bot)
    make_item(other, platform_message_id="56")
    make_item(chat, platform_message_id="57", recalled_at=timezone.now())
    make_item(chat, "", platform_message_id="58", kind="poke")
    make_item(chat, platform_message_id="")
    make_sent(other, handle="m3")
    for handle, state in (("m4", "pending"), ("m5", "unknown"), ("m6", "failed")):
        make_sent(chat, state=state, handle=handle)
    make_sent(chat, state="recalled", handle="m7")
    make_sent(chat, handle="m8", entry={"platform_message_id": ""})
    result = call(turn, "reaction_send", message_id=message_id, emoji="76")
    assert (result["ok"], result["error"]) == (False, code)
    assert (gestures(), turn.gestures) == ([], 0)


def test_the_bots_own_words_are_reacted_to_by_handle_or_by_their_id(
    turn: Turn, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_GESTURE_COOLDOWN_SECONDS = 0
    entry = {"platform_message_id": "77", "platform_message_id_is_number": False}
    make_sent(chat, handle="m1", entry=entry)
    for reference in ("m1", "77"):
        assert call(turn, "reaction_send", message_id=reference, emoji="76")["ok"]
    data = {"id": "77", "is_number": False, "emoji": "76"}
    assert gestures() == 2 * [("reaction", "77", [{"type": "reaction", "data": data}])]


def test_an_emoji_that_can_not_be_said_is_refused_and_nothing_is_written(
    turn: Turn, chat: Chat
) -> None:
    make_item(chat, platform_message_id="55")
    result = call(turn, "reaction_send", message_id="55", emoji="🇨🇳")
    assert (result["ok"], result["error"]) == (False, "bad_emoji")
    assert (gestures(), turn.gestures) == ([], 0)


@pytest.mark.parametrize("capability", ["poke_send", "reaction_send", "profile_like"])
def test_what_the_chat_has_not_is_not_offered_and_not_done(
    turn: Turn, chat: Chat, capability: str
) -> None:
    chat.capability_settings.create(target="cap", name=capability, allowed=False)
    tool = "like_profile" if capability == "profile_like" else capability
    arguments = {"message_id": "1", "emoji": "76"} if tool == "reaction_send" else {}
    assert call(turn, tool, **(arguments or {"user_id": "10001"}))["error"] == "unknown_tool"
    assert gestures() == []


def test_a_turn_makes_so_many_gestures_and_messages_do_not_count(
    turn: Turn, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_MAX_GESTURES_PER_TURN = 2
    make_item(chat, platform_message_id="55")
    call(turn, "send_message", content="hi")
    assert call(turn, "poke_send", user_id="10001")["ok"]
    assert call(turn, "like_profile", user_id="10001")["ok"]
    refused = call(turn, "reaction_send", message_id="55", emoji="76")
    assert (refused["ok"], refused["error"]) == (False, "gesture_budget_spent")
    assert (len(gestures()), turn.gestures, turn.sends) == (2, 2, 1)
    assert call(turn, "send_message", content="still")["ok"]


@pytest.mark.parametrize("failure", [ToolRefusal("no", "No."), ZeroDivisionError()])
def test_a_call_that_comes_to_nothing_takes_nothing_from_the_budget(
    turn: Turn, failure: Exception
) -> None:
    def apply(context: ToolContext, arguments: Arguments) -> ToolResult:
        context.turn.gestures += 1
        raise failure

    context = ToolContext(turn.chat, turn, 0, 0, timezone.now())
    tool = Tool("wave", "", Arguments, apply)
    assert not execution.execute({"wave": tool}, context, name="wave", arguments="{}").values["ok"]
    assert turn.gestures == 0


@pytest.mark.parametrize(
    ("state", "sent_ago", "code"),
    [
        ("pending", None, "cooling_down"),
        ("sending", 5, "cooling_down"),
        ("sent", 59, "cooling_down"),
        ("unknown", 59, "cooling_down"),
        ("sent", 61, ""),
        ("unknown", 61, ""),
        ("failed", 5, ""),
        ("discarded", None, ""),
    ],
)
def test_the_same_gesture_at_the_same_target_waits_for_the_one_before(
    turn: Turn, chat: Chat, state: str, sent_ago: int | None, code: str
) -> None:
    now = timezone.now()
    make_entry(
        chat=chat,
        action=POKE,
        subject="10001",
        state=state,
        created_at=now - timedelta(minutes=10),
        sending_at=None if sent_ago is None else now - timedelta(seconds=sent_ago),
    )
    assert call(turn, "poke_send", user_id="10001").get("error", "") == code
    assert len(gestures()) == (1 if code else 2)


@pytest.mark.parametrize(
    ("action", "other", "cools"),
    [
        (POKE, "chat", True),
        (LIKE, "chat", True),
        (REACTION, "chat", False),  # another message of the same id
        (POKE, "bot", False),
        (POKE, "person", False),
        (POKE, "action", False),
    ],
)
def test_the_cool_down_is_of_one_bot_one_gesture_and_one_target(
    turn: Turn, chat: Chat, bot: Bot, action: str, other: str, cools: bool
) -> None:
    make_item(chat, platform_message_id="10001")
    where = {"chat": make_chat(bot), "bot": make_chat()}.get(other, chat)
    make_entry(
        chat=where,
        action=LIKE if other == "action" else action,
        subject="10009" if other == "person" else "10001",
        state="sent",
        sending_at=timezone.now(),
    )
    if action == REACTION:
        result = call(turn, "reaction_send", message_id="10001", emoji="76")
    else:
        tool = "poke_send" if action == POKE else "like_profile"
        result = call(turn, tool, user_id="10001")
    assert (result.get("error") == "cooling_down") is cools


def test_without_a_cool_down_nothing_waits(turn: Turn, settings: Settings) -> None:
    settings.ARISE_GESTURE_COOLDOWN_SECONDS = 0
    assert [call(turn, "poke_send", user_id="10001")["ok"] for _ in range(2)] == [True, True]


def test_two_bots_that_poke_each_other_come_to_an_end(bot: Bot, chat: Chat) -> None:
    """Each pokes back whenever it was poked, each time in a turn of its own."""
    other = make_bot("10001", connection_number=CONNECTION)
    their_chat = make_chat(other, external_id=chat.external_id)
    make_member(their_chat, user_id="10000")
    poked = [(chat, "10001"), (their_chat, "10000")]
    pokes = 0
    while call(make_turn(poked[0][0]), "poke_send", user_id=poked[0][1])["ok"]:
        (entry,) = sending.claim(poked[0][0].bot_id, CONNECTION)
        assert sending.mark_done(entry.entry_id)
        pokes += 1
        poked.reverse()
        assert pokes < 10
    assert pokes == 2


def test_gestures_leave_in_order_with_messages(turn: Turn, bot: Bot, settings: Settings) -> None:
    settings.ARISE_SEND_PACE = settings.ARISE_DRAFT_SECONDS = 0
    call(turn, "poke_send", user_id="10001")
    call(turn, "send_message", content="one")
    call(turn, "like_profile", user_id="10001")
    call(turn, "send_message", content="two")
    assert claimed(bot) == ["poke"]
    assert claimed(bot) == ["one"]  # which does not wait for the poke's answer
    assert claimed(bot) == []
    one = OutboxEntry.objects.get(content="one")
    sending.mark_sent(one.pk, PlatformId("1"))
    assert claimed(bot) == ["like"]
    assert claimed(bot) == ["two"]


def test_a_gesture_does_not_overtake_a_message_that_is_not_due_yet(
    turn: Turn, bot: Bot, settings: Settings
) -> None:
    settings.ARISE_SEND_PACE = 5
    call(turn, "send_message", content="slow")
    call(turn, "poke_send", user_id="10001")
    assert claimed(bot) == []
    assert sending.next_look([bot.pk])[bot.pk] > 1  # not to be looked for in vain until then


@pytest.mark.parametrize("state", ["sending", "unknown", "sent", "failed"])
def test_a_gesture_that_left_holds_nobody(chat: Chat, bot: Bot, state: str) -> None:
    later = timezone.now() + timedelta(hours=1)
    make_entry(chat=chat, action=POKE, subject="1", state=state, evidence_until=later)
    make_entry(chat=chat, action=LIKE, subject="1")
    assert claimed(bot) == ["like"]
    make_sent(chat, "hi", "pending")
    assert claimed(bot) == ["hi"]


@pytest.mark.parametrize("state", ["pending", "sending", "unknown"])
def test_a_gesture_waits_for_the_message_before_it(chat: Chat, bot: Bot, state: str) -> None:
    later = timezone.now() + timedelta(hours=1)
    make_sent(chat, "hi", state, entry={"evidence_until": later, "due_at": later})
    make_entry(chat=chat, action=POKE, subject="1")
    assert claimed(bot) == []


def test_what_became_of_a_gesture_is_kept_once(chat: Chat) -> None:
    poke = make_entry(chat=chat, action=POKE, subject="1", state="sending")
    assert sending.mark_done(poke.pk)
    assert not sending.mark_done(poke.pk)
    poke.refresh_from_db()
    assert (poke.state, poke.reason, poke.settled_at is None) == ("sent", "", False)


def test_a_gesture_that_is_unknown_stays_so(chat: Chat, bot: Bot) -> None:
    poke = make_entry(chat=chat, action=POKE, subject="1", state="unknown")
    assert not sending.mark_done(poke.pk)
    assert not sending.mark_sent(poke.pk, PlatformId("1"))
    assert not sending.confirm(poke.pk)
    assert evidence.seekers([bot.pk]) == []
    assert not evidence.take_echo(chat, message_id=PlatformId("9"), text="")
    poke.refresh_from_db()
    assert poke.state == "unknown"


@pytest.mark.parametrize(("was_sent", "state"), [(True, "sent"), (False, "failed")])
def test_an_operator_can_say_what_became_of_a_gesture(
    chat: Chat, was_sent: bool, state: str
) -> None:
    poke = make_entry(chat=chat, action=POKE, subject="1", state="unknown")
    assert evidence.settle_by_hand(poke, was_sent=was_sent)
    poke.refresh_from_db()
    assert poke.state == state


def test_marking_a_gesture_done_touches_no_message(chat: Chat) -> None:
    entry = make_sent(chat, state="sending").entry
    assert entry is not None
    assert not sending.mark_done(entry.pk)


@pytest.mark.parametrize(
    ("action", "capability"),
    [(POKE, "poke_send"), (REACTION, "reaction_send"), (LIKE, "profile_like"), (POKE, "")],
)
def test_a_gesture_that_is_switched_off_meanwhile_does_not_leave(
    chat: Chat, bot: Bot, action: str, capability: str
) -> None:
    entry = make_entry(chat=chat, action=action, subject="1")
    for name in ("poke", "like", "reaction", "recall", capability or "poke_receive"):
        chat.capability_settings.create(target="cap", name=name, allowed=False)
    assert claimed(bot) == ([] if capability else [action])
    sending.sweep()
    entry.refresh_from_db()
    told = ("discarded", "capability_off") if capability else ("sending", "")
    assert (entry.state, entry.reason) == told


def test_a_gesture_that_could_not_leave_in_time_is_not_made(chat: Chat, bot: Bot) -> None:
    ago = timezone.now() - timedelta(seconds=1)
    entry = make_entry(chat=chat, action=POKE, subject="1", expires_at=ago)
    assert claimed(bot) == []
    sending.sweep()
    entry.refresh_from_db()
    assert (entry.state, entry.reason) == ("discarded", "expired")


def test_what_went_wrong_with_a_gesture_is_told_once(chat: Chat) -> None:
    for action, state, reason in (
        (POKE, "failed", "refused"),
        (REACTION, "unknown", "no_answer"),
        (LIKE, "discarded", "expired"),
        (POKE, "sent", ""),
    ):
        make_entry(chat=chat, action=action, subject='"1"', state=state, reason=reason)
    entries = outcomes.untold(chat)
    assert outcomes.lines(entries).splitlines() == [
        """<outcome action="poke" target='"1"' state="failed" reason="refused"/>""",
        """<outcome action="reaction" target='"1"' state="unknown" reason="no_answer"/>""",
        """<outcome action="like" target='"1"' state="discarded" reason="expired"/>""",
    ]
    outcomes.mark_told(entries)
    assert outcomes.untold(chat) == []


def test_a_recalled_question_takes_back_the_gestures_of_its_turn(chat: Chat, bot: Bot) -> None:
    turn = make_turn(chat)
    make_item(chat, platform_message_id="55", trigger="mention", turn=turn)
    mine = make_entry(chat=chat, action=POKE, subject="1", turn=turn)
    left = make_entry(chat=chat, action=LIKE, subject="1", turn=turn, state="sending")
    others = make_entry(chat=chat, action=POKE, subject="2", turn=make_turn(chat))
    address = ChatAddress("group", PlatformId(chat.external_id))
    inbound.receive([Recalled(bot.pk, address, PlatformId("55"), False, timezone.now())])
    states = []
    for entry in (mine, left, others):
        entry.refresh_from_db()
        states.append((entry.state, entry.reason))
    assert states == [("discarded", "question_recalled"), ("sending", ""), ("pending", "")]


@pytest.mark.django_db(transaction=True)
def test_two_chats_at_once_poke_one_person_once() -> None:
    bot = make_bot(connection_number=CONNECTION)
    turns = [make_turn(make_chat(bot), state="running") for _ in range(2)]
    for turn in turns:
        make_member(turn.chat, user_id="10001")
    written, go_on = threading.Barrier(2, timeout=10), threading.Event()
    results: list[dict[str, Any]] = []

    def poke(turn: Turn, wait: Callable[[], object]) -> None:
        try:
            with transaction.atomic():
                results.append(call(turn, "poke_send", user_id="10001"))
                wait()
        finally:
            give_back()

    def first_waits() -> None:
        written.wait()
        go_on.wait(10)

    first = threading.Thread(target=poke, args=(turns[0], first_waits))
    first.start()
    written.wait()
    second = threading.Thread(target=poke, args=(turns[1], lambda: None))
    second.start()
    second.join(10)
    go_on.set()
    first.join(10)
    assert [result["ok"] for result in results] == [True, False]
    assert results[1]["error"] == "cooling_down"
