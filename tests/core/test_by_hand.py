"""Review and acts by hand: what is held leaves once somebody approved it, as it was seen, and once."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from core import by_hand, capabilities, chatsettings, outcomes, pausing, sending
from core.by_hand import NotDone
from core.capabilities import Ability, Platform
from core.database import give_back
from core.messages import PlatformId
from core.models import Chat, OutboxEntry, Turn
from core.toolcalls import ToolContext
from core.tools import execution, registry
from tests.factories import make_bot, make_chat, make_entry, make_sent, make_turn

pytestmark = pytest.mark.django_db
CONNECTION = 7
CAN = {name: Ability(True) for name in ("recall", "poke_send", "quote")}


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform(CAN, recall_seconds=120))


def edits_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    can = {**CAN, "edit": Ability(True)}
    monkeypatch.setattr(capabilities, "_probe", lambda chat: Platform(can, recall_seconds=120))


@pytest.fixture
def chat() -> Chat:
    bot = make_bot(connection_number=CONNECTION)
    return make_chat(bot, delivery_mode="review", patience_seconds=60)


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


@pytest.fixture
def ann() -> User:
    return User.objects.create(username="ann")


@pytest.fixture
def ben() -> User:
    return User.objects.create(username="ben")


def call(turn: Turn, name: str, **arguments: str) -> dict[str, Any]:
    chat = Chat.objects.select_related("bot").get(pk=turn.chat_id)
    place = ToolContext(chat, turn, turn.steps, 0, timezone.now())
    turn.steps += 1
    tools = {tool.name: tool for tool in registry.offered(chat, capabilities.in_chat(chat))}
    with transaction.atomic():
        result = execution.execute(tools, place, name=name, arguments=json.dumps(arguments))
        chat.save(update_fields=["next_handle"])
    # Its next step: nothing is a draft any more, and typing takes no time here.
    OutboxEntry.objects.update(draft_until=None, due_at=timezone.now())
    return dict(result.values)


def say(turn: Turn, content: str = "words") -> OutboxEntry:
    """Something that the model wrote in a chat in review."""
    assert call(turn, "send_message", content=content)["ok"]
    return newest()


def newest() -> OutboxEntry:
    return OutboxEntry.objects.select_related("message").latest("pk")


def again(entry: OutboxEntry) -> OutboxEntry:
    return OutboxEntry.objects.get(pk=entry.pk)


def leaves(chat: Chat) -> list[tuple[str, str]]:
    """What the dispatcher gets now: action and words."""
    sending.sweep()
    claimed = sending.claim(chat.bot_id, CONNECTION)
    said = ["".join(part["data"].get("text", "") for part in one.parts) for one in claimed]
    return list(zip([one.action for one in claimed], said, strict=True))


def sent(chat: Chat, message_id: str = "55") -> None:
    """What is due leaves, and arrives."""
    for claimed in sending.claim(chat.bot_id, CONNECTION):
        sending.mark_sent(claimed.entry_id, PlatformId(message_id))


def switch(chat: Chat, mode: str) -> None:
    chatsettings.apply(Chat.objects.get(pk=chat.pk), chatsettings.parse([f"delivery_mode={mode}"]))


def entries() -> list[str]:
    found = OutboxEntry.objects.order_by("pk")
    return [f"{one.action} {one.state} {one.reason}".strip() for one in found]


def told(chat: Chat) -> str:
    return outcomes.lines(outcomes.untold(chat))


# What is held, and for how long.
@pytest.mark.parametrize("kind", ["text", "voice", "file", "sticker"])
def test_every_kind_of_message_waits_for_review(chat: Chat, kind: str) -> None:
    make_sent(chat, state="pending", kind=kind)
    if kind != "text":
        chat.capability_settings.create(target="cap", name=kind, allowed=True)
    assert sending.claim(chat.bot_id, CONNECTION) == []


def test_a_message_waits_and_leaves_once_it_was_approved(chat: Chat, turn: Turn, ann: User) -> None:
    entry = say(turn)
    assert (entry.state, entry.held) == ("pending", "review")
    assert leaves(chat) == []
    by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann)
    assert again(entry).decided_by == ann
    assert leaves(chat) == [("send", "words")]


def test_a_gesture_waits_too(chat: Chat, turn: Turn, ann: User) -> None:
    chat.members.create(user_id="30001")
    assert call(turn, "poke_send", user_id="30001")["ok"]
    assert leaves(chat) == []
    by_hand.approve(newest().pk, seen=by_hand.digest(newest()), by=ann)
    assert leaves(chat) == [("poke", "")]


def test_its_patience_counts_from_the_release(chat: Chat, turn: Turn, ann: User) -> None:
    entry = say(turn)
    OutboxEntry.objects.update(expires_at=timezone.now() - timedelta(days=2))
    assert leaves(chat) == []
    assert again(entry).state == "pending"
    by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann)
    left = (again(entry).expires_at - timezone.now()).total_seconds()
    assert left == pytest.approx(60, abs=20)


def test_the_order_stays_and_who_is_discarded_lets_the_next_go(
    chat: Chat, turn: Turn, ann: User
) -> None:
    first, second = say(turn, "one"), say(turn, "two")
    by_hand.approve(second.pk, seen=by_hand.digest(second), by=ann)
    assert leaves(chat) == []
    by_hand.discard(first.pk, seen=by_hand.digest(first), by=ann)
    assert leaves(chat) == [("send", "two")]


def test_the_model_is_told_what_was_discarded(chat: Chat, turn: Turn, ann: User) -> None:
    entry = say(turn)
    by_hand.discard(entry.pk, seen=by_hand.digest(entry), by=ann)
    line = '<outcome handle="m1" state="discarded" reason="discarded_by_operator"/>'
    assert told(chat) == line


def test_what_was_changed_leaves_so_and_is_what_was_said(chat: Chat, turn: Turn, ann: User) -> None:
    entry = say(turn, "rude words")
    by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann, text="kind\r\nwords")
    assert again(entry).content == "kind\nwords"
    assert leaves(chat) == [("send", "kind\nwords")]


def test_a_quote_stays_when_the_words_are_changed(chat: Chat, ann: User) -> None:
    quote = {"type": "reply", "data": {"id": "7"}}
    words = {"type": "text", "data": {"text": "old"}}
    made = {"held": "review", "parts": [quote, words]}
    entry = make_sent(chat, "old", "pending", entry=made).entry
    assert entry is not None
    by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann, text="new")
    assert again(entry).parts == [quote, {"type": "text", "data": {"text": "new"}}]


@pytest.mark.parametrize("text", ["", "  ", "x" * 4001])
def test_what_can_not_be_said_is_not_approved(chat: Chat, turn: Turn, ann: User, text: str) -> None:
    entry = say(turn)
    with pytest.raises(NotDone):
        by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann, text=text)
    assert leaves(chat) == []


# The model meanwhile.
def test_the_model_withdraws_what_is_held(chat: Chat, turn: Turn, ann: User) -> None:
    entry = say(turn)
    assert call(turn, "self_recall", handle="m1")["ok"]
    with pytest.raises(NotDone):
        by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann)
    assert (again(entry).state, told(chat)) == ("discarded", "")


def test_an_approval_fails_where_the_model_changed_what_was_seen(
    chat: Chat, turn: Turn, ann: User
) -> None:
    entry = say(turn)
    seen = by_hand.digest(entry)
    assert call(turn, "edit", handle="m1", new_content="worse")["ok"]
    with pytest.raises(NotDone, match="something else"):
        by_hand.approve(entry.pk, seen=seen, by=ann)
    assert leaves(chat) == []


@pytest.mark.parametrize("mode", ["review", "live"])
def test_what_the_model_changes_after_the_approval_waits_again(
    chat: Chat, turn: Turn, ann: User, mode: str
) -> None:
    entry = say(turn)
    by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann)
    switch(chat, mode)
    assert call(turn, "edit", handle="m1", new_content="worse")["ok"]
    assert leaves(chat) == []
    assert (again(entry).held, again(entry).approved_at) == ("review", None)


def test_a_recall_of_the_models_needs_no_approval(chat: Chat, turn: Turn) -> None:
    make_sent(chat, handle="m1")
    assert call(turn, "self_recall", handle="m1")["ok"]
    assert leaves(chat) == [("recall", "")]


def test_an_edit_by_a_new_message_keeps_the_old_one_until_it_is_approved(
    chat: Chat, turn: Turn, ann: User
) -> None:
    make_sent(chat, "old", handle="m1")
    assert call(turn, "edit", handle="m1", new_content="new")["ok"]
    assert leaves(chat) == []
    assert [one.held for one in OutboxEntry.objects.order_by("pk")] == ["", "review", "review"]
    by_hand.approve(newest().pk, seen=by_hand.digest(newest()), by=ann)
    assert [one.held for one in OutboxEntry.objects.order_by("pk")] == ["", "", ""]
    assert leaves(chat) == [("recall", "")]


def test_an_edit_that_is_discarded_leaves_the_old_words_and_is_told_once(
    chat: Chat, turn: Turn, ann: User
) -> None:
    make_sent(chat, "old", handle="m1")
    call(turn, "edit", handle="m1", new_content="new")
    by_hand.discard(newest().pk, seen=by_hand.digest(newest()), by=ann)
    ended = "discarded discarded_by_operator"
    assert entries() == ["send sent", f"recall {ended}", f"send {ended}"]
    assert told(chat).count("<outcome") == 1
    assert 'action="edit"' in told(chat)
    assert leaves(chat) == []


def test_an_edit_that_the_model_takes_back_lets_the_recall_go(chat: Chat, turn: Turn) -> None:
    make_sent(chat, "old", handle="m1")
    call(turn, "edit", handle="m1", new_content="new")
    call(turn, "self_recall", handle="m1")
    assert leaves(chat) == [("recall", "")]


def test_an_edit_in_place_waits_too(
    chat: Chat, turn: Turn, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits_in_place(monkeypatch)
    make_sent(chat, "old", handle="m1")
    assert call(turn, "edit", handle="m1", new_content="new")["ok"]
    assert leaves(chat) == []
    by_hand.approve(newest().pk, seen=by_hand.digest(newest()), by=ann, text="newer")
    assert leaves(chat) == [("edit", "newer")]


# The switch.
def test_what_was_written_live_is_held_from_the_switch_on(chat: Chat) -> None:
    switch(chat, "live")
    entry = make_sent(chat, state="pending").entry
    assert entry is not None
    Chat.objects.update(delivery_mode="review")
    assert sending.claim(chat.bot_id, CONNECTION) == []
    switch(chat, "review")
    assert again(entry).held == "review"


def test_what_is_held_stays_held_in_a_chat_that_is_live_again(
    chat: Chat, turn: Turn, ann: User
) -> None:
    entry = say(turn, "held")
    switch(chat, "live")
    say(turn, "behind it")
    assert leaves(chat) == []
    by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann)
    sent(chat)
    assert leaves(chat) == [("send", "behind it")]


def test_what_is_approved_waits_for_the_end_of_a_pause(chat: Chat, turn: Turn, ann: User) -> None:
    entry = say(turn)
    pausing.pause(chat)
    by_hand.approve(entry.pk, seen=by_hand.digest(entry), by=ann)
    assert leaves(chat) == []
    assert again(entry).held == "paused"
    pausing.resume(chat)
    assert leaves(chat) == [("send", "words")]


# Several at once.
Act = Callable[[OutboxEntry, str, User], object]


def approves(entry: OutboxEntry, seen: str, by: User) -> object:
    return by_hand.approve(entry.pk, seen=seen, by=by)


def changes(entry: OutboxEntry, seen: str, by: User) -> object:
    return by_hand.approve(entry.pk, seen=seen, by=by, text="changed")


def discards(entry: OutboxEntry, seen: str, by: User) -> object:
    return by_hand.discard(entry.pk, seen=seen, by=by)


ACTS = [approves, changes, discards]


@pytest.mark.parametrize("second", ACTS)
@pytest.mark.parametrize(
    ("first", "said"), [(approves, "approved"), (changes, "approved"), (discards, "discarded")]
)
def test_a_second_decision_is_refused_and_told_whose_came_first(
    chat: Chat, turn: Turn, ann: User, ben: User, first: Act, second: Act, said: str
) -> None:
    entry = say(turn)
    seen = by_hand.digest(entry)
    first(entry, seen, ann)
    before = OutboxEntry.objects.values().get()
    with pytest.raises(NotDone, match=f"ann has {said} it already"):
        second(entry, seen, ben)
    assert OutboxEntry.objects.values().get() == before


def test_who_decides_after_it_left_is_told_so(chat: Chat, ann: User) -> None:
    switch(chat, "live")
    entry = make_sent(chat, state="pending").entry
    assert entry is not None
    sent(chat)
    with pytest.raises(NotDone, match="It has left meanwhile"):
        by_hand.discard(entry.pk, seen=by_hand.digest(entry), by=ann)


def race(*acts: Callable[[], object]) -> list[object]:
    """All of them at once, each on a connection of its own; what came of each."""
    outcomes_: list[object] = [None] * len(acts)
    barrier = threading.Barrier(len(acts))

    def run(index: int, act: Callable[[], object]) -> None:
        barrier.wait()
        try:
            outcomes_[index] = act()
        except NotDone as refusal:
            outcomes_[index] = refusal
        finally:
            give_back()

    threads = [threading.Thread(target=run, args=(index, act)) for index, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes_


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("second", ACTS)
@pytest.mark.parametrize("first", ACTS)
def test_of_two_who_decide_at_once_one_wins(first: Act, second: Act) -> None:
    chat = make_chat(make_bot(connection_number=CONNECTION), delivery_mode="review")
    people = [User.objects.create(username=name) for name in ("ann", "ben")]
    entry = make_sent(chat, "as seen", "pending", entry={"held": "review"}).entry
    assert entry is not None
    seen = by_hand.digest(entry)
    came = race(
        lambda: first(entry, seen, people[0]),
        lambda: second(entry, seen, people[1]),
        lambda: sending.claim(chat.bot_id, CONNECTION),
    )
    assert sum(isinstance(one, NotDone) for one in came[:2]) == 1
    winner = first if isinstance(came[1], NotDone) else second
    left = list(came[2]) if isinstance(came[2], list) else []
    left += sending.claim(chat.bot_id, CONNECTION)
    said = [one.parts[0]["data"]["text"] for one in left]
    said_by: dict[Act, list[str]] = {approves: ["as seen"], changes: ["changed"], discards: []}
    assert said == said_by[winner]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_again", range(4))
def test_a_change_by_the_model_and_an_approval_at_once_let_nothing_unseen_go(_again: int) -> None:
    chat = make_chat(make_bot(connection_number=CONNECTION), delivery_mode="review")
    turn = make_turn(chat, state="running")
    entry = say(turn, "as seen")
    seen = by_hand.digest(entry)
    race(
        lambda: by_hand.approve(entry.pk, seen=seen, by=None),
        lambda: call(turn, "edit", handle="m1", new_content="unseen"),
    )
    assert sending.claim(chat.bot_id, CONNECTION) == []
    assert again(entry).content == "unseen"


# Taking back and changing by hand.
def test_what_was_said_is_taken_back_and_the_model_is_told(chat: Chat, ann: User) -> None:
    message = make_sent(chat, handle="m1")
    assert message.entry is not None
    by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)
    recall = newest()
    assert (recall.action, recall.by_hand, recall.decided_by) == ("recall", True, ann)
    assert leaves(chat) == [("recall", "")]
    sending.confirm(recall.pk)
    line = '<outcome handle="m1" state="recalled" reason="recalled_by_operator"/>'
    assert told(chat) == line


def test_what_failed_for_the_operator_is_no_news_for_the_model(chat: Chat, ann: User) -> None:
    message = make_sent(chat)
    assert message.entry is not None
    by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)
    leaves(chat)
    sending.mark_failed(newest().pk, reason="refused")
    assert told(chat) == ""
    by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)


def test_it_is_taken_back_once_at_a_time(chat: Chat, ann: User) -> None:
    message = make_sent(chat)
    assert message.entry is not None
    by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)
    with pytest.raises(NotDone, match="being taken back already"):
        by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)


def test_what_is_taken_back_takes_a_change_that_waits_with_it(
    chat: Chat, turn: Turn, ann: User
) -> None:
    message = make_sent(chat, "old", handle="m1")
    call(turn, "edit", handle="m1", new_content="new")
    assert message.entry is not None
    by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)
    assert entries() == ["send sent", "recall pending", "send discarded discarded_by_operator"]
    assert leaves(chat) == [("recall", "")]
    sending.confirm(OutboxEntry.objects.get(action="recall").pk)
    assert 'handle="m1" state="recalled"' in told(chat)


@pytest.mark.parametrize("is_paused", [True, False])
def test_an_operator_takes_back_also_while_it_is_paused(
    chat: Chat, ann: User, is_paused: bool
) -> None:
    message = make_sent(chat)
    assert message.entry is not None
    if is_paused:
        pausing.pause(chat)
    by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)
    assert leaves(chat) == [("recall", "")]


def test_what_was_said_is_changed_by_a_recall_and_a_new_message(chat: Chat, ann: User) -> None:
    message = make_sent(chat, "old")
    assert message.entry is not None
    by_hand.edit(message.pk, seen=by_hand.digest(message.entry), by=ann, text="new")
    assert leaves(chat) == [("recall", "")]
    sending.confirm(OutboxEntry.objects.get(action="recall").pk)
    OutboxEntry.objects.update(draft_until=None, due_at=timezone.now())
    assert leaves(chat) == [("send", "new")]
    assert told(chat) == ""
    message.refresh_from_db()
    assert (message.edits, message.entry_id) == (1, newest().pk)


def test_a_change_by_hand_waits_for_the_end_of_a_pause(chat: Chat, ann: User) -> None:
    message = make_sent(chat, "old")
    assert message.entry is not None
    pausing.pause(chat)
    by_hand.edit(message.pk, seen=by_hand.digest(message.entry), by=ann, text="new")
    assert leaves(chat) == []


def test_what_was_said_is_changed_in_place(
    chat: Chat, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits_in_place(monkeypatch)
    message = make_sent(chat, "old")
    assert message.entry is not None
    by_hand.edit(message.pk, seen=by_hand.digest(message.entry), by=ann, text="new")
    OutboxEntry.objects.update(draft_until=None, due_at=timezone.now())
    assert leaves(chat) == [("edit", "new")]


REFUSED = {
    "unknown": "settle that first",
    "failed": "did not arrive",
    "discarded": "discarded before it left",
    "recalled": "taken back already",
}


@pytest.mark.parametrize("act", ["recall", "edit"])
@pytest.mark.parametrize("state", list(REFUSED))
def test_what_is_not_there_is_neither_taken_back_nor_changed(
    chat: Chat, ann: User, state: str, act: str
) -> None:
    message = make_sent(chat, state=state)
    assert message.entry is not None
    seen = by_hand.digest(message.entry)
    acts: dict[str, Callable[[], object]] = {
        "recall": lambda: by_hand.recall(message.pk, seen=seen, by=ann),
        "edit": lambda: by_hand.edit(message.pk, seen=seen, by=ann, text="new"),
    }
    with pytest.raises(NotDone, match=REFUSED[state]):
        acts[act]()
    assert OutboxEntry.objects.count() == 1


def test_too_late_is_said(chat: Chat, ann: User) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    message = make_sent(chat, entry={"sending_at": long_ago})
    assert message.entry is not None
    with pytest.raises(NotDone, match="only within 120 s"):
        by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)


@pytest.mark.parametrize(
    ("of_bot", "by_ann", "where"),
    [
        (False, True, "for this chat by ann on"),
        (False, False, "for this chat on"),
        (True, True, "for all chats of the bot by ann on"),
        (True, False, "for all chats of the bot on"),
    ],
)
def test_what_is_switched_off_is_not_done_by_hand_either(
    chat: Chat, ann: User, of_bot: bool, by_ann: bool, where: str
) -> None:
    owner = chat.bot if of_bot else chat
    owner.capability_settings.create(
        target="cap", name="recall", allowed=False, set_by=ann if by_ann else None
    )
    message = make_sent(chat)
    assert message.entry is not None
    seen, day = by_hand.digest(message.entry), timezone.localdate()
    told = f"Recall was switched off {where} {day}."
    with pytest.raises(NotDone, match=f"^{told}$"):
        by_hand.recall(message.pk, seen=seen, by=ann)
    # Here a change is a recall and a new message.
    with pytest.raises(NotDone, match=f"^{told}$"):
        by_hand.edit(message.pk, seen=seen, by=ann, text="new")


def test_editing_that_is_switched_off_is_told_as_that(chat: Chat, ann: User) -> None:
    chat.capability_settings.create(target="cap", name="edit", allowed=False)
    message = make_sent(chat)
    assert message.entry is not None
    with pytest.raises(NotDone, match=r"^Editing was switched off for this chat on"):
        by_hand.edit(message.pk, seen=by_hand.digest(message.entry), by=ann, text="new")


@pytest.mark.parametrize(
    ("can", "told"),
    [
        (False, "The platform can't take messages back here: too old."),
        (None, "Whether the platform takes messages back is not known: too old."),
    ],
)
def test_what_the_platform_can_not_is_told_with_its_reason(
    chat: Chat, ann: User, monkeypatch: pytest.MonkeyPatch, can: bool | None, told: str
) -> None:
    platform = Platform({"recall": Ability(can, "too old")})
    monkeypatch.setattr(capabilities, "_probe", lambda chat: platform)
    message = make_sent(chat)
    assert message.entry is not None
    with pytest.raises(NotDone, match=f"^{told}$"):
        by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)


def test_what_was_really_said_can_not_be_taken_back_in_shadow(chat: Chat, ann: User) -> None:
    switch(chat, "shadow")
    message = make_sent(chat)
    assert message.entry is not None
    with pytest.raises(NotDone, match="in shadow"):
        by_hand.recall(message.pk, seen=by_hand.digest(message.entry), by=ann)


def test_what_waits_live_is_changed_before_it_leaves(chat: Chat, ann: User) -> None:
    switch(chat, "live")
    entry = make_sent(chat, "old", "pending").entry
    assert entry is not None
    by_hand.reword(entry.pk, seen=by_hand.digest(entry), by=ann, text="new")
    assert leaves(chat) == [("send", "new")]


def test_a_recall_that_waits_is_discarded_with_the_message_that_waits_for_it(
    chat: Chat, turn: Turn, ann: User
) -> None:
    switch(chat, "live")
    make_sent(chat, "old", handle="m1")
    call(turn, "edit", handle="m1", new_content="new")
    recall = OutboxEntry.objects.get(action="recall")
    by_hand.discard(recall.pk, seen=by_hand.digest(recall), by=ann)
    assert entries()[1:] == [
        "recall discarded discarded_by_operator",
        "send discarded recall_discarded",
    ]
    assert told(chat).count("<outcome") == 1


def test_what_stands_behind_a_discarded_message_is_void(chat: Chat, ann: User) -> None:
    message = make_sent(chat, state="pending")
    entry = message.entry
    assert entry is not None
    make_entry(message, action="recall", target=entry, content="")
    by_hand.discard(entry.pk, seen=by_hand.digest(entry), by=ann)
    assert entries()[1] == "recall discarded message_gone"


def test_what_a_message_says_no_more_is_neither_changed_nor_taken_back(chat: Chat) -> None:
    message = make_sent(chat, "what it says now")
    assert message.entry
    former = make_entry(message, content="what it said", state="recalled")
    assert by_hand.recall_refusal(message.entry) == ""
    for refusal in (by_hand.recall_refusal, by_hand.edit_refusal):
        assert refusal(former) == "It is not what the message says now."
