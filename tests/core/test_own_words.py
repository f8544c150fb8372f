"""Taking back and changing one's own words: every send-state against every move, races included."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from core import capabilities, evidence, inbound, outbox, sending
from core.capabilities import Ability, Platform
from core.database import give_back
from core.messages import ChatAddress, PlatformId, Recalled
from core.models import Chat, OutboxEntry, SentMessage, Turn
from core.toolcalls import ToolContext
from core.tools import execution, registry
from tests.factories import make_bot, make_chat, make_sent, make_turn

pytestmark = pytest.mark.django_db
CONNECTION = 7
LONG_AGO = timezone.now() - timedelta(hours=1)


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    host(monkeypatch, Platform({"recall": Ability(True)}, recall_seconds=120))


def host(monkeypatch: pytest.MonkeyPatch, platform: Platform) -> None:
    monkeypatch.setattr(capabilities, "_probe", lambda chat: platform)


@pytest.fixture
def chat() -> Chat:
    return make_chat(make_bot(connection_number=CONNECTION))


@pytest.fixture
def turn(chat: Chat) -> Turn:
    return make_turn(chat, state="running")


def call(turn: Turn, name: str, *, index: int = 0, **arguments: str) -> dict[str, Any]:
    """One tool call in a step's transaction, as the journal makes it."""
    chat = Chat.objects.select_related("bot").get(pk=turn.chat_id)
    context = ToolContext(chat, turn, turn.steps, index, timezone.now())
    turn.steps += 1
    tools = {tool.name: tool for tool in registry.offered(chat, capabilities.in_chat(chat))}
    with transaction.atomic():
        result = execution.execute(tools, context, name=name, arguments=json.dumps(arguments))
    return dict(result.values)


def change(turn: Turn, tool: str, handle: str = "m1") -> dict[str, Any]:
    """A call of either tool."""
    if tool == "self_recall":
        return call(turn, tool, handle=handle)
    return call(turn, tool, handle=handle, new_content="new")


def say(turn: Turn, state: str = "sent", content: str = "old", **entry: Any) -> SentMessage:
    """A message of the turn's chat in a send-state."""
    made = {"connection_number": CONNECTION, "platform_message_id": "55", **entry}
    if state in {"pending", "sending", "unknown"}:
        made["platform_message_id"] = ""
    if state == "unknown":
        made.setdefault("evidence_until", timezone.now() + timedelta(hours=1))
    return make_sent(turn.chat, content, state, handle="m1", turn=turn, entry=made)


def current(message: SentMessage) -> OutboxEntry:
    return OutboxEntry.objects.get(current_of=message)


def entries(message: SentMessage) -> list[tuple[str, str, str]]:
    """All entries of a message, oldest first: what each does, how it stands, and what it says."""
    found = OutboxEntry.objects.filter(message=message).order_by("pk")
    return [(entry.action, entry.state, entry.content) for entry in found]


def claimed(chat: Chat) -> list[tuple[str, str]]:
    """What the dispatcher gets now: the action, and the id of the message that it is about."""
    return [
        (entry.action, entry.target.value if entry.target else "")
        for entry in sending.claim(chat.bot_id, CONNECTION)
    ]


def recall_news(chat: Chat, *, by_bot: bool = False) -> Recalled:
    address = ChatAddress("group", PlatformId(chat.external_id))
    return Recalled(chat.bot_id, address, PlatformId("55"), by_bot, timezone.now())


# Each move of somebody; what it gives back is compared with the table.
def self_recall(turn: Turn, message: SentMessage) -> str:
    result = call(turn, "self_recall", handle="m1")
    return "ok" if result["ok"] else str(result["error"])


def edit(turn: Turn, message: SentMessage) -> str:
    result = call(turn, "edit", handle="m1", new_content="new")
    return "ok" if result["ok"] else str(result["error"])


def dispatcher_claim(turn: Turn, message: SentMessage) -> str:
    return "claimed" if sending.claim(turn.chat.bot_id, CONNECTION) else "nothing"


def late_answer(turn: Turn, message: SentMessage) -> str:
    return "moved" if sending.mark_sent(current(message).pk, PlatformId("55")) else "nothing"


def echo(turn: Turn, message: SentMessage) -> str:
    known = evidence.take_echo(turn.chat, message_id=PlatformId("55"), text="old")
    return "ours" if known else "foreign"


def admin_recall(turn: Turn, message: SentMessage) -> str:
    inbound.receive([recall_news(turn.chat)])
    return ""


BEHIND = ["recall pending ", "send pending new"]
TABLE: dict[tuple[str, Callable[[Turn, SentMessage], str]], tuple[str, list[str]]] = {
    ("pending", self_recall): ("ok", ["send discarded old"]),
    ("pending", edit): ("ok", ["send pending new"]),
    ("pending", dispatcher_claim): ("claimed", ["send sending old"]),
    ("pending", late_answer): ("nothing", ["send pending old"]),
    ("pending", echo): ("foreign", ["send pending old"]),
    ("pending", admin_recall): ("", ["send pending old"]),
    ("sending", self_recall): ("ok", ["send sending old", "recall pending "]),
    ("sending", edit): ("ok", ["send sending old", *BEHIND]),
    ("sending", dispatcher_claim): ("nothing", ["send sending old"]),
    ("sending", late_answer): ("moved", ["send sent old"]),
    ("sending", echo): ("ours", ["send sending old"]),
    ("sending", admin_recall): ("", ["send sending old"]),
    ("sent", self_recall): ("ok", ["send sent old", "recall pending "]),
    ("sent", edit): ("ok", ["send sent old", *BEHIND]),
    ("sent", dispatcher_claim): ("nothing", ["send sent old"]),
    ("sent", late_answer): ("nothing", ["send sent old"]),
    ("sent", echo): ("ours", ["send sent old"]),
    ("sent", admin_recall): ("", ["send recalled old"]),
    ("unknown", self_recall): ("outcome_unknown", ["send unknown old"]),
    ("unknown", edit): ("outcome_unknown", ["send unknown old"]),
    ("unknown", dispatcher_claim): ("nothing", ["send unknown old"]),
    ("unknown", late_answer): ("moved", ["send sent old"]),
    ("unknown", echo): ("ours", ["send sent old"]),
    ("unknown", admin_recall): ("", ["send unknown old"]),
    ("failed", self_recall): ("message_failed", ["send failed old"]),
    ("failed", edit): ("message_failed", ["send failed old"]),
    ("failed", dispatcher_claim): ("nothing", ["send failed old"]),
    ("failed", late_answer): ("nothing", ["send failed old"]),
    ("failed", echo): ("foreign", ["send failed old"]),
    ("failed", admin_recall): ("", ["send failed old"]),
    ("discarded", self_recall): ("message_discarded", ["send discarded old"]),
    ("discarded", edit): ("message_discarded", ["send discarded old"]),
    ("discarded", dispatcher_claim): ("nothing", ["send discarded old"]),
    ("discarded", late_answer): ("nothing", ["send discarded old"]),
    ("discarded", echo): ("foreign", ["send discarded old"]),
    ("discarded", admin_recall): ("", ["send discarded old"]),
    ("recalled", self_recall): ("message_recalled", ["send recalled old"]),
    ("recalled", edit): ("message_recalled", ["send recalled old"]),
    ("recalled", dispatcher_claim): ("nothing", ["send recalled old"]),
    ("recalled", late_answer): ("nothing", ["send recalled old"]),
    ("recalled", echo): ("ours", ["send recalled old"]),
    ("recalled", admin_recall): ("", ["send recalled old"]),
}


@pytest.mark.parametrize(
    ("state", "move"), TABLE, ids=lambda value: getattr(value, "__name__", value)
)
def test_every_send_state_takes_every_move_as_the_table_says(
    turn: Turn, state: str, move: Callable[[Turn, SentMessage], str]
) -> None:
    own_id = {"failed": "", "discarded": ""}
    message = say(turn, state, platform_message_id=own_id.get(state, "55"))
    result, expected = TABLE[state, move]
    assert move(turn, message) == result
    assert [" ".join(entry) for entry in entries(message)] == expected


def test_the_table_is_whole() -> None:
    moves = {move for _, move in TABLE}
    assert {state for state, _ in TABLE} == set(OutboxEntry.State.values)
    assert len(TABLE) == len(moves) * len(OutboxEntry.State.values)


def test_an_edit_recalls_the_old_words_and_only_then_says_the_new_ones(
    turn: Turn, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_SEND_PACE = settings.ARISE_DRAFT_SECONDS = 0
    message = say(turn)
    assert call(turn, "edit", handle="m1", new_content="new") == {"ok": True, "handle": "m1"}
    assert claimed(chat) == [("recall", "55")]
    assert claimed(chat) == []
    recall = OutboxEntry.objects.get(action="recall")
    assert sending.confirm(recall.pk)
    assert (current(message).state, current(message).content) == ("pending", "new")
    assert claimed(chat) == [("send", "")]
    sending.mark_sent(current(message).pk, PlatformId("56"))
    assert (current(message).state, current(message).platform_message_id) == ("sent", "56")
    first = OutboxEntry.objects.get(content="old")
    assert (first.state, first.platform_message_id) == ("recalled", "55")
    assert first.settled_at
    assert first.recalled_at


@pytest.mark.parametrize("ending", ["failed", "unknown"])
def test_nothing_new_is_said_unless_the_recall_is_confirmed(
    turn: Turn, chat: Chat, ending: str
) -> None:
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    claimed(chat)
    recall = OutboxEntry.objects.get(action="recall")
    mark = {"failed": sending.mark_failed, "unknown": sending.mark_unknown}[ending]
    assert mark(recall.pk, reason="whatever")
    assert (current(message).state, current(message).content) == ("sent", "old")
    assert entries(message)[2] == ("send", "discarded", "new")
    assert claimed(chat) == []


@pytest.mark.parametrize(
    ("ending", "state"), [("failed", "failed"), ("unknown", "unknown"), ("without_id", "sent")]
)
def test_what_stands_behind_a_send_is_void_where_the_send_did_not_end_well(
    turn: Turn, chat: Chat, settings: Settings, ending: str, state: str
) -> None:
    settings.ARISE_SETTLE_SECONDS = 0
    message = say(turn, "sending")
    call(turn, "edit", handle="m1", new_content="new")
    assert claimed(chat) == []
    entry = current(message)
    if ending == "without_id":
        sending.mark_sent(entry.pk, None)
    elif ending == "failed":
        sending.mark_failed(entry.pk, reason="refused")
    else:
        sending.mark_unknown(entry.pk, reason="no_answer")
        sending.sweep()
    assert [made[:2] for made in entries(message)] == [
        ("send", state),
        ("recall", "discarded"),
        ("send", "discarded"),
    ]


def test_what_stands_behind_a_send_waits_while_its_outcome_may_still_be_known(
    turn: Turn, chat: Chat
) -> None:
    message = say(turn, "sending")
    call(turn, "self_recall", handle="m1")
    sending.mark_unknown(current(message).pk, reason="no_answer")
    sending.sweep()
    assert claimed(chat) == []
    sending.mark_sent(current(message).pk, PlatformId("55"))
    assert claimed(chat) == [("recall", "55")]


def test_a_second_edit_rewrites_the_version_that_waits_and_recalls_nothing_more(
    turn: Turn, chat: Chat
) -> None:
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    call(turn, "edit", handle="m1", new_content="newer")
    assert [made[0] for made in entries(message)] == ["send", "recall", "send"]
    assert entries(message)[2] == ("send", "pending", "newer")
    assert turn.sends == 1


def test_taking_back_a_message_under_edit_drops_the_new_version_and_keeps_the_recall(
    turn: Turn, chat: Chat
) -> None:
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    assert call(turn, "self_recall", handle="m1")["ok"]
    assert [made[:2] for made in entries(message)] == [
        ("send", "sent"),
        ("recall", "pending"),
        ("send", "discarded"),
    ]
    claimed(chat)
    sending.confirm(OutboxEntry.objects.get(action="recall").pk)
    assert current(message).state == "recalled"


@pytest.mark.parametrize("by_bot", [True, False])
def test_the_platforms_news_of_a_recall_that_is_under_way(
    turn: Turn, chat: Chat, by_bot: bool
) -> None:
    """Of the bot's own doing it confirms the recall; of an admin's it voids the new version."""
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    if by_bot:
        claimed(chat)
    inbound.receive([recall_news(chat, by_bot=by_bot)])
    states = [made[1] for made in entries(message)]
    assert states == (
        ["recalled", "sent", "pending"] if by_bot else ["recalled", "discarded", "discarded"]
    )
    assert current(message).content == ("new" if by_bot else "old")


def test_an_answer_to_a_recall_after_an_admin_was_faster_says_nothing_new(
    turn: Turn, chat: Chat
) -> None:
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    claimed(chat)
    inbound.receive([recall_news(chat)])
    sending.confirm(OutboxEntry.objects.get(action="recall").pk)
    assert [made[1] for made in entries(message)] == ["recalled", "sent", "discarded"]


def test_a_recall_does_not_wait_for_other_messages(turn: Turn, chat: Chat) -> None:
    say(turn)
    make_sent(chat, "stuck", "unknown", entry={"evidence_until": None})
    make_sent(chat, "later", "pending", entry={"due_at": timezone.now() + timedelta(hours=1)})
    call(turn, "self_recall", handle="m1")
    assert claimed(chat) == [("recall", "55")]


def test_messages_stay_in_order_around_an_edit(turn: Turn, chat: Chat, settings: Settings) -> None:
    settings.ARISE_SEND_PACE = settings.ARISE_DRAFT_SECONDS = 0
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    make_sent(chat, "later", "pending")
    assert claimed(chat) == [("recall", "55")]
    sending.confirm(OutboxEntry.objects.get(action="recall").pk)
    assert claimed(chat) == [("send", "")]
    assert current(message).state == "sending"


@pytest.mark.parametrize("tool", ["self_recall", "edit"])
@pytest.mark.parametrize(
    "handle", ["m2", "", "m1 ", "M1", "55", "m1' OR 1=1 --", "../m1", "m" + "9" * 4000, "\x00m1"]
)
def test_a_handle_that_names_nothing_here_makes_no_call(
    turn: Turn, chat: Chat, tool: str, handle: str
) -> None:
    say(turn)
    make_sent(make_chat(chat.bot), handle="m2")
    result = change(turn, tool, handle)
    assert (result["ok"], result["error"]) == (False, "unknown_handle")
    assert OutboxEntry.objects.count() == 2


def test_a_message_is_taken_back_once(turn: Turn) -> None:
    say(turn)
    assert call(turn, "self_recall", handle="m1")["ok"]
    assert call(turn, "self_recall", handle="m1")["error"] == "already_recalled"
    assert call(turn, "edit", handle="m1", new_content="x")["error"] == "already_recalled"
    assert OutboxEntry.objects.filter(action="recall").count() == 1


def test_a_message_is_edited_so_often_over_all_its_resends(
    turn: Turn, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_SEND_PACE = settings.ARISE_DRAFT_SECONDS = 0
    settings.ARISE_MAX_EDITS = 2
    message = say(turn)
    for number in range(2):
        assert call(turn, "edit", handle="m1", new_content=f"v{number}")["ok"]
        claimed(chat)
        sending.confirm(OutboxEntry.objects.get(action="recall", state="sending").pk)
        claimed(chat)
        sending.mark_sent(current(message).pk, PlatformId(f"6{number}"))
    assert call(turn, "edit", handle="m1", new_content="v3")["error"] == "too_many_edits"
    assert current(message).content == "v1"
    assert SentMessage.objects.get().edits == 2


def test_a_resending_edit_takes_from_the_turns_send_budget(turn: Turn, settings: Settings) -> None:
    settings.ARISE_MAX_SENDS_PER_TURN = 2
    say(turn)
    turn.sends = 1
    assert call(turn, "edit", handle="m1", new_content="new")["ok"]
    assert turn.sends == 2
    other = make_sent(turn.chat, handle="m9")
    result = call(turn, "edit", handle="m9", new_content="new")
    assert (result["error"], turn.sends) == ("send_budget_spent", 2)
    assert entries(other) == [("send", "sent", "hi")]


def test_an_edit_in_the_outbox_takes_nothing_from_the_budget(turn: Turn) -> None:
    say(turn, "pending")
    call(turn, "edit", handle="m1", new_content="new")
    assert turn.sends == 0


@pytest.mark.parametrize("tool", ["self_recall", "edit"])
@pytest.mark.parametrize(
    ("seconds", "age", "code"), [(120, 121, "too_late"), (120, 60, None), (None, 9000, None)]
)
def test_what_the_platform_takes_back_no_more_is_refused_at_the_call(
    turn: Turn,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    seconds: float | None,
    age: int,
    code: str | None,
) -> None:
    host(monkeypatch, Platform({"recall": Ability(True)}, recall_seconds=seconds))
    message = say(turn, sending_at=timezone.now() - timedelta(seconds=age))
    assert change(turn, tool).get("error") == code
    assert (len(entries(message)) == 1) == (code is not None)


def test_a_recall_that_could_not_leave_in_time_is_discarded_with_its_new_version(
    turn: Turn, chat: Chat
) -> None:
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    OutboxEntry.objects.filter(action="recall").update(expires_at=LONG_AGO)
    assert claimed(chat) == []
    sending.sweep()
    assert [made[1] for made in entries(message)] == ["sent", "discarded", "discarded"]


@pytest.mark.parametrize("kind", ["sticker", "voice", "file"])
def test_only_text_can_be_edited(turn: Turn, kind: str) -> None:
    message = say(turn)
    SentMessage.objects.update(kind=kind)
    assert call(turn, "edit", handle="m1", new_content="x")["error"] == "not_editable"
    assert len(entries(message)) == 1


@pytest.mark.parametrize(
    ("content", "code"), [("", "empty_message"), (" \n", "empty_message"), ("x" * 4001, "too_long")]
)
def test_an_edit_says_what_may_be_said(turn: Turn, content: str, code: str) -> None:
    say(turn)
    assert call(turn, "edit", handle="m1", new_content=content)["error"] == code


def test_what_has_no_id_on_the_platform_can_not_be_taken_back(turn: Turn) -> None:
    say(turn, platform_message_id="")
    assert call(turn, "self_recall", handle="m1")["error"] == "no_message_id"


def test_a_rewrite_keeps_its_place_and_is_held_for_the_step_after_it(
    turn: Turn, chat: Chat, settings: Settings
) -> None:
    settings.ARISE_SEND_PACE = 0.1
    settings.ARISE_DRAFT_SECONDS = 60
    first = say(turn, "pending", "one")
    later = make_sent(chat, "two", "pending")
    call(turn, "edit", handle="m1", new_content="x" * 20)
    entry = current(first)
    assert entry.pk < current(later).pk
    assert entry.step_index == turn.steps - 1
    assert entry.draft_until is not None
    assert (entry.due_at - timezone.now()).total_seconds() == pytest.approx(2, abs=1)


def test_a_platform_that_edits_is_asked_to_edit(
    turn: Turn, chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.ARISE_DRAFT_SECONDS = settings.ARISE_SEND_PACE = 0
    host(monkeypatch, Platform({"edit": Ability(True)}))
    message = say(turn)
    assert call(turn, "edit", handle="m1", new_content="new")["ok"]
    assert (turn.sends, claimed(chat)) == (0, [("edit", "55")])
    assert current(message).content == "old"
    sending.confirm(OutboxEntry.objects.get(action="edit").pk)
    entry = current(message)
    assert (entry.content, entry.state, entry.platform_message_id) == ("new", "sent", "55")


@pytest.mark.parametrize(
    ("of_bot", "of_chat", "recalls"),
    [(None, False, 0), (False, None, 0), (True, False, 0), (False, True, 1), (None, None, 1)],
)
def test_a_recall_that_is_off_by_now_is_not_sent_any_more(
    turn: Turn, chat: Chat, of_bot: bool | None, of_chat: bool | None, recalls: int
) -> None:
    message = say(turn)
    call(turn, "edit", handle="m1", new_content="new")
    for owner, allowed in ((chat.bot, of_bot), (chat, of_chat)):
        if allowed is not None:
            owner.capability_settings.create(target="cap", name="recall", allowed=allowed)
    assert len(claimed(chat)) == recalls
    ended = ["sending", "pending"] if recalls else ["discarded", "discarded"]
    assert [made[1] for made in entries(message)] == ["sent", *ended]


def test_a_recall_that_the_platform_lost_meanwhile_is_discarded_without_a_connection(
    turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = say(turn)
    call(turn, "self_recall", handle="m1")
    host(monkeypatch, Platform({"recall": Ability(False, "has no recalls")}))
    sending.sweep()
    assert [made[1] for made in entries(message)] == ["sent", "discarded"]
    assert OutboxEntry.objects.get(action="recall").reason == "capability_off"


@dataclass
class Race:
    """Two moves at once, each over a connection of its own, from one line."""

    start: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))
    errors: list[BaseException] = field(default_factory=list)

    def run(self, *moves: Callable[[], object]) -> None:
        def one(move: Callable[[], object]) -> None:
            try:
                self.start.wait(10)
                move()
            except BaseException as error:  # noqa: BLE001  (told to the test)
                self.errors.append(error)
            finally:
                give_back()

        threads = [threading.Thread(target=one, args=(move,)) for move in moves]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
        assert not self.errors


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tool", ["self_recall", "edit"])
def test_a_claim_and_a_change_at_once_end_in_one_of_two_ways(tool: str) -> None:
    """Either it was changed before it left, or it left and an entry stands behind it."""
    for _ in range(8):
        chat = make_chat(make_bot(connection_number=CONNECTION))
        turn = make_turn(chat, state="running")
        message = say(turn, "pending")
        got: list[Any] = []
        Race().run(
            lambda turn=turn: change(turn, tool),  # type: ignore[misc]
            lambda chat=chat, got=got: got.extend(sending.claim(chat.bot_id, CONNECTION)),  # type: ignore[misc]
        )
        made = [" ".join(entry) for entry in entries(message)]
        if tool == "self_recall":
            assert made in (["send discarded old"], ["send sending old", "recall pending "])
            assert bool(got) == (made[0] == "send sending old")
        else:
            assert made in (["send pending new"], ["send sending old", *BEHIND])
            assert bool(got) == (made[0] == "send sending old")


@pytest.mark.django_db(transaction=True)
def test_two_claims_of_one_message_at_once_give_it_to_one() -> None:
    for _ in range(8):
        chat = make_chat(make_bot(connection_number=CONNECTION))
        say(make_turn(chat, state="running"), "pending")
        got: list[Any] = []
        claim = lambda chat=chat, got=got: got.extend(sending.claim(chat.bot_id, CONNECTION))  # noqa: E731
        Race().run(claim, claim)
        assert len(got) == 1


@pytest.mark.django_db(transaction=True)
def test_an_answer_and_an_admins_recall_at_once_never_leave_the_new_version_pending_on_a_lost_one() -> (
    None
):
    for _ in range(8):
        chat = make_chat(make_bot(connection_number=CONNECTION))
        turn = make_turn(chat, state="running")
        message = say(turn)
        call(turn, "edit", handle="m1", new_content="new")
        claimed(chat)
        recall = OutboxEntry.objects.get(action="recall", message=message)
        Race().run(
            lambda recall=recall: sending.confirm(recall.pk),  # type: ignore[misc]
            lambda chat=chat: inbound.receive([recall_news(chat)]),  # type: ignore[misc]
        )
        states = [made[1] for made in entries(message)]
        assert states in (["recalled", "sent", "pending"], ["recalled", "sent", "discarded"])


@pytest.mark.django_db(transaction=True)
def test_an_outcome_and_its_evidence_at_once_settle_a_send_once() -> None:
    for _ in range(8):
        chat = make_chat(make_bot(connection_number=CONNECTION))
        message = say(make_turn(chat, state="running"), "unknown")
        entry = current(message)
        moved: list[bool] = []
        Race().run(
            lambda entry=entry, moved=moved: moved.append(  # type: ignore[misc]
                sending.mark_sent(entry.pk, PlatformId("55"))
            ),
            lambda entry=entry, moved=moved: moved.append(  # type: ignore[misc]
                sending.mark_failed(entry.pk, reason="not_delivered")
            ),
        )
        assert sorted(moved) == [False, True]


@pytest.mark.parametrize("change", ["rewrite", "withdraw"])
def test_what_was_claimed_meanwhile_is_neither_rewritten_nor_withdrawn(
    turn: Turn, chat: Chat, change: str
) -> None:
    """The claim comes between the look at an entry and its change."""
    message = say(turn, "pending")
    seen = outbox.pending_version(message)
    assert seen is not None
    claimed(chat)
    context = ToolContext(chat, turn, 0, 0, timezone.now())
    if change == "rewrite":
        assert not outbox.rewrite(context, seen, outbox.Words("new", []))
    else:
        assert not outbox.withdraw(context, seen)
    assert entries(message) == [("send", "sending", "old")]
