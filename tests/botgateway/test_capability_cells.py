"""Each capability of each implementation, from what the model is offered to the frame that leaves,
against a scripted implementation that answers as that one does, failures included."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from botgateway import database, delivery, frames, platforms
from botgateway.actions import Response
from botgateway.calls import Calls
from botgateway.connections import LiveConnection
from botgateway.simulator.world import Frame
from core import capabilities, judging, sending
from core.models import Chat, OutboxEntry
from core.toolcalls import ToolContext
from core.tools import execution
from tests.factories import make_bot, make_chat, make_item, make_member, make_sent, make_turn
from tests.fakes.implementations import BY_COLUMN, Implementation
from tests.fakes.onebot import FakeOneBot, Received, answers, silent, timeout_not_sent

pytestmark = pytest.mark.django_db
CONNECTION = 7
PERSON, GROUP, SAID = 10002, 20001, -55
PLACES: dict[str, dict[str, Any]] = {
    "group": {"external_id": str(GROUP)},
    "private": {"kind": "private", "external_id": str(PERSON)},
    "temporary": {
        "kind": "private",
        "external_id": str(PERSON),
        "address": {"group_id": GROUP},
    },
}
ASKED: dict[str, tuple[str, dict[str, str]]] = {
    "poke_send": ("poke_send", {"user_id": str(PERSON)}),
    "reaction_send": ("reaction_send", {"message_id": str(SAID), "emoji": "👍"}),
    "profile_like": ("like_profile", {"user_id": str(PERSON)}),
    "quote": ("send_message", {"content": "hi", "quote": str(SAID)}),
    "recall": ("self_recall", {"handle": "m0"}),
}
THUMB = "128077"

_CELLS = """
group          NC   LL   LG    GC    fork  OB  SL   other
poke_send      gp   gp   gp    seg   seg   -   gp   -
reaction_send  like like code  -     emoji -   like -
profile_like   Y    Y    Y     -     -     -   Y    -
quote          Y    Y    Y     Y     Y     -   Y    Y
recall         Y    Y    Y     Y     Y     -   Y    Y

private        NC   LL   LG    GC    fork  OB  SL   other
poke_send      fp   fp   fp    -     seg   -   fp   -
reaction_send  -    -    -     -     -     -   -    -
profile_like   Y    Y    Y     -     -     -   Y    -
quote          Y    Y    Y     Y     Y     -   Y    Y
recall         Y    Y    Y     Y     Y     -   Y    Y

temporary      NC   LL   LG    GC    fork  OB  SL   other
poke_send      fp   fp   fp    -     seg   -   fp   -
reaction_send  -    -    -     -     -     -   -    -
profile_like   Y    Y    Y     -     -     -   Y    -
quote          Y    Y    Y     -     -     -   Y    Y
recall         Y    Y    -     -     -     -   Y    Y
"""


@pytest.fixture(autouse=True)
def one_transaction(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """The gateway's threads would not see the rows of this test's transaction."""
    settings.ARISE_SEND_TIMEOUT_SECONDS = 0.1

    async def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await sync_to_async(function)(*args, **kwargs)

    monkeypatch.setattr(database, "run", run)


def _cells() -> list[tuple[str, str, str, str]]:
    found = []
    for table in _CELLS.strip().split("\n\n"):
        head, *lines = table.splitlines()
        place, *columns = head.split()
        for line in lines:
            name, *marks = line.split()
            found += [
                (place, column, name, mark) for column, mark in zip(columns, marks, strict=True)
            ]
    return found


CELLS = _cells()
ABLE = [cell[:3] for cell in CELLS if cell[3] != "-"]
GESTURES = [cell for cell in ABLE if cell[2] not in ("quote", "recall")]


def expected(place: str, name: str, mark: str) -> tuple[str, dict[str, Any]]:
    """The call that a cell of the table stands for."""
    group = {"group_id": GROUP} if place == "group" else {}
    send = "send_group_msg" if group else "send_private_msg"
    # A temporary session is written to through its group, and poked without.
    through = {"user_id": PERSON, "group_id": GROUP} if place == "temporary" else {}
    under = {"message_id": SAID}
    poke = {"type": "poke", "data": {"qq": str(PERSON)}}
    quote = {"type": "reply", "data": {"id": str(SAID)}}
    text = {"type": "text", "data": {"text": "hi"}}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "gp": ("group_poke", {**group, "user_id": PERSON}),
        "fp": ("friend_poke", {"user_id": PERSON}),
        "seg": (send, {**(group or {"user_id": PERSON}), "message": [poke]}),
        "like": ("set_msg_emoji_like", {**under, "emoji_id": THUMB, "set": True}),
        "code": ("set_group_reaction", {**group, **under, "code": THUMB, "is_add": True}),
        "emoji": ("set_group_reaction", {**group, **under, "emoji_id": THUMB, "is_add": True}),
        "profile_like": ("send_like", {"user_id": PERSON, "times": 1}),
        "quote": (send, {**(group or through or {"user_id": PERSON}), "message": [quote, text]}),
        "recall": ("delete_msg", {"message_id": SAID - 1}),
    }
    return calls[name if mark == "Y" else mark]


class Wired(FakeOneBot):
    """A scripted implementation at the other end of a connection with no socket between."""

    def __init__(self, implementation: Implementation) -> None:
        super().__init__("ws://nowhere", implementation=implementation)
        self.gateway = Calls(self._take)
        for message_id in (SAID, SAID - 1):
            said = self.world.keep("group:20001", self.world.self_id, [])
            said.message_id = message_id
            self.world.messages[message_id] = self.world.messages.pop(self.world.next_id - 1)

    async def _take(self, text: str) -> None:
        self._start(self._handle(json.loads(text)))

    async def send_frame(self, frame: Any) -> None:
        read = frames.decode(frame if isinstance(frame, str | bytes) else json.dumps(frame))
        if isinstance(read, Response):
            self.gateway.resolve(read)


class Rig:
    """One chat of a bot that is connected through an implementation."""

    def __init__(self, column: str, place: str) -> None:
        self.implementation = BY_COLUMN[column]
        self.bot = make_bot(connection_number=CONNECTION)
        platforms.keep(
            self.bot.pk,
            connection_number=CONNECTION,
            app_name=self.implementation.app_name,
            app_version=self.implementation.app_version,
            user_agent="",
            actions=list(self.implementation.lists),
        )
        self.bot.refresh_from_db()
        self.chat = make_chat(self.bot, **PLACES[place])
        make_member(self.chat, user_id=str(PERSON))
        make_item(self.chat, platform_message_id=str(SAID))
        make_sent(self.chat, handle="m0", entry={"platform_message_id": str(SAID - 1)})
        self.fake = Wired(self.implementation)
        self.connection = LiveConnection(
            number=CONNECTION,
            bot_id=self.bot.pk,
            self_id=self.bot.self_id,
            role="universal",
            calls=self.fake.gateway,
            close=self._never,
            dialect=self.implementation.dialect,
            version=self.implementation.app_version,
        )

    async def _never(self, code: int, reason: str) -> None:
        raise AssertionError("nobody closes it")

    def holds(self, name: str) -> capabilities.Holding:
        chat = Chat.objects.select_related("bot").get(pk=self.chat.pk)
        return capabilities.in_chat(chat).holdings[name]

    def offered(self, name: str) -> bool:
        """Whether the model sees the tool, or the argument, of a capability."""
        chat = Chat.objects.select_related("bot").get(pk=self.chat.pk)
        tools = {tool.name: tool for tool in judging.offered(chat)}
        if name != "quote":
            return ASKED[name][0] in tools
        parameters = tools["send_message"].schema()["function"]["parameters"]
        return "quote" in parameters["properties"]

    def ask(self, name: str) -> dict[str, Any]:
        """The model asks for it, in a step of its turn."""
        chat = Chat.objects.select_related("bot").get(pk=self.chat.pk)
        tools = {tool.name: tool for tool in judging.offered(chat)}
        turn = make_turn(chat)
        context = ToolContext(chat, turn, 0, 0, timezone.now())
        tool, arguments = ASKED[name]
        with transaction.atomic():
            result = execution.execute(tools, context, name=tool, arguments=json.dumps(arguments))
            chat.save(update_fields=["next_handle"])
        OutboxEntry.objects.update(due_at=timezone.now(), draft_until=None)
        return dict(result.values)

    def leave(self) -> OutboxEntry:
        """What is due is done on the platform; the entry afterwards."""

        @async_to_sync
        async def deliver() -> None:
            await delivery.deliver(self.connection, entry)
            await asyncio.gather(*self.fake._tasks)

        (entry,) = sending.claim(self.bot.pk, CONNECTION)
        deliver()
        return OutboxEntry.objects.get(pk=entry.entry_id)

    @property
    def deeds(self) -> list[Received]:
        """What the platform was asked to do."""
        return [call for call in self.fake.calls if not call.action.startswith("get_")]


@pytest.mark.parametrize(("place", "column", "name", "mark"), CELLS)
def test_a_cell_is_offered_or_not_and_goes_out_as_the_implementation_wants_it(
    place: str, column: str, name: str, mark: str
) -> None:
    rig = Rig(column, place)
    assert rig.offered(name) is (mark != "-")
    result = rig.ask(name)
    assert result["ok"] is (mark != "-")
    if mark == "-":
        assert not sending.claim(rig.bot.pk, CONNECTION)
        assert rig.holds(name).reason
        return
    entry = rig.leave()
    (call,) = rig.deeds
    assert (call.action, call.params) == expected(place, name, mark)
    assert (entry.state, entry.error) == ("sent", "")


@pytest.mark.parametrize(
    ("place", "column", "name"),
    [cell for cell in ABLE if cell[0] != "temporary" and cell[2] != "quote"],
)
def test_an_implementation_that_turns_out_to_lack_it_is_believed_until_it_connects_again(
    place: str, column: str, name: str
) -> None:
    rig = Rig(column, place)
    assert rig.ask(name)["ok"]
    made = rig.implementation
    rig.fake.implementation = None
    action = made.dialect.action(name, place)  # type: ignore[arg-type]
    is_segment = action == "segment"
    for one in ("send_group_msg", "send_private_msg") if is_segment else (action,):
        frame = made.failure({}, "x") if is_segment else made.unknown({}, one)
        rig.fake.always(one, answers(frame))
    entry = rig.leave()
    # What leaves as a message may have left although it was refused.
    assert entry.state == ("unknown" if is_segment else "failed")
    assert rig.offered(name) is is_segment
    if not is_segment:
        assert rig.holds(name).reason == f"{made.dialect.name} says that it has no {action}"
        platforms.keep(
            rig.bot.pk, connection_number=CONNECTION, **{**rig.bot.platform, "missing": []}
        )
        assert rig.offered(name)


@pytest.mark.parametrize(
    ("place", "column", "name"), [cell for cell in GESTURES if cell[0] == "group"]
)
@pytest.mark.parametrize(
    ("refusal", "state"),
    [
        ("said no", "failed"),
        ("timed out", "unknown"),
        ("said nothing", "unknown"),
    ],
)
def test_a_gesture_that_did_not_work_is_kept_as_what_it_is(
    place: str, column: str, name: str, refusal: str, state: str
) -> None:
    rig = Rig(column, place)
    assert rig.ask(name)["ok"]
    made = rig.implementation
    is_segment = made.pokes_by_segment and name == "poke_send"
    rig.fake.implementation = None
    behaviour = {
        "said no": answers(made.failure({}, "对方的设置不允许")),
        "timed out": timeout_not_sent(),
        "said nothing": silent(delivered=False),
    }[refusal]
    actions = {"send_group_msg", "send_private_msg", "group_poke", "friend_poke"}
    for action in actions | {"set_msg_emoji_like", "set_group_reaction", "send_like"}:
        rig.fake.always(action, behaviour)
    entry = rig.leave()
    assert entry.state == ("unknown" if is_segment else state)
    assert len(rig.deeds) == 1
    assert rig.offered(name)  # it has the action: another time it may work
    assert entry.reason


@pytest.mark.parametrize(
    ("column", "name", "frame", "error"),
    [
        (
            "LG",
            "profile_like",
            {"status": "user not found in the buffer", "retcode": 0, "data": None},
            "user not found in the buffer",
        ),
        ("LG", "poke_send", {"status": "failed", "retcode": -1, "data": None}, "retcode -1"),
        (
            "NC",
            "reaction_send",
            {"status": "failed", "retcode": 1200, "data": None, "message": "msg not found"},
            "msg not found",
        ),
        (
            "NC",
            "profile_like",
            {
                "status": "failed",
                "retcode": 1200,
                "data": None,
                "message": "点赞失败 今日同一好友点赞数已达上限",
            },
            "点赞失败 今日同一好友点赞数已达上限",
        ),
    ],
)
def test_a_gesture_that_was_refused_says_so_in_the_implementations_words(
    column: str, name: str, frame: Frame, error: str
) -> None:
    rig = Rig(column, "group")
    assert rig.ask(name)["ok"]
    rig.fake.always(rig.implementation.dialect.action(name), answers(frame))
    entry = rig.leave()
    assert (entry.state, entry.reason, entry.error) == ("failed", "refused", error)


@pytest.mark.parametrize(
    ("column", "place", "name", "action", "works"),
    [
        ("NC", "private", "reaction_send", "set_msg_emoji_like", True),
        ("SL", "private", "reaction_send", "set_msg_emoji_like", True),
        ("other", "group", "profile_like", "send_like", True),
        ("other", "group", "poke_send", "send_poke", False),
        ("other", "private", "poke_send", "send_poke", False),
        ("other", "group", "reaction_send", "set_msg_emoji_like", False),
        ("OB", "group", "quote", "send_group_msg", True),
        ("OB", "group", "recall", "delete_msg", True),
    ],
)
def test_what_nobody_knows_is_tried_where_the_operator_says_so(
    column: str, place: str, name: str, action: str, works: bool
) -> None:
    rig = Rig(column, place)
    assert not rig.offered(name)
    rig.chat.capability_settings.create(target="cap", name=name, allowed=True)
    assert rig.offered(name)
    assert rig.ask(name)["ok"]
    assert rig.leave().state == ("sent" if works else "failed")
    assert [call.action for call in rig.deeds] == [action]
    assert rig.offered(name) is works


@pytest.mark.parametrize(
    ("place", "column", "name"), [cell[:3] for cell in CELLS if cell[3] == "-"]
)
def test_an_operator_can_not_make_an_implementation_do_what_it_can_not(
    place: str, column: str, name: str
) -> None:
    rig = Rig(column, place)
    rig.chat.capability_settings.create(target="cap", name=name, allowed=True)
    can_not = rig.implementation.dialect.capability(name, place).state == "no"  # type: ignore[arg-type]
    assert rig.offered(name) is not can_not


@pytest.mark.parametrize("name", ["poke_send", "reaction_send", "profile_like"])
def test_a_gesture_that_another_implementation_is_to_make_meanwhile_makes_no_call(
    name: str,
) -> None:
    rig = Rig("NC", "group")
    assert rig.ask(name)["ok"]
    rig.connection.dialect = BY_COLUMN["OB"].dialect
    entry = rig.leave()
    assert (entry.state, entry.reason) == ("failed", "unsendable")
    assert entry.error.startswith("onebots has no ")
    assert rig.deeds == []


def test_a_gesture_behind_one_that_the_implementation_lacks_makes_no_call() -> None:
    rig = Rig("NC", "group")
    assert rig.ask("poke_send")["ok"]
    OutboxEntry.objects.filter(action="poke").update(subject="10009")
    assert rig.ask("poke_send")["ok"]
    rig.fake.always("group_poke", answers(rig.implementation.unknown({}, "group_poke")))
    assert rig.leave().state == "failed"
    assert not sending.claim(rig.bot.pk, CONNECTION)
    assert OutboxEntry.objects.order_by("pk").last().reason == "capability_off"  # type: ignore[union-attr]
    assert len(rig.deeds) == 1


def test_a_late_answer_to_a_gesture_changes_nothing() -> None:
    rig = Rig("NC", "group")
    assert rig.ask("poke_send")["ok"]
    rig.fake.always("group_poke", silent(delivered=True))
    entry = rig.leave()
    assert entry.state == "unknown"
    for retcode in (0, 1200, 1404):
        delivery.settle_late(rig.bot.pk, entry.pk, Response(None, not retcode, retcode))
        entry.refresh_from_db()
        assert entry.state == "unknown"


def test_a_message_that_quotes_goes_without_the_quote_where_there_are_none_any_more() -> None:
    rig = Rig("GC", "group")
    assert rig.ask("quote")["ok"]
    Chat.objects.update(kind="private", address={"group_id": GROUP})
    assert rig.leave().state == "sent"
    assert rig.deeds[0].params["message"] == [{"type": "text", "data": {"text": "hi"}}]


def test_a_message_that_quotes_goes_without_the_quote_once_that_is_switched_off() -> None:
    rig = Rig("NC", "group")
    assert rig.ask("quote")["ok"]
    rig.chat.capability_settings.create(target="cap", name="quote", allowed=False)
    assert not rig.offered("quote")
    assert rig.leave().state == "sent"
    assert rig.deeds[0].params["message"] == [{"type": "text", "data": {"text": "hi"}}]


def test_a_quote_that_lagrange_does_not_know_is_left_out() -> None:
    rig = Rig("LG", "group")
    assert rig.ask("quote")["ok"]
    del rig.fake.world.messages[SAID]
    thrown = rig.implementation.failure({}, "")
    rig.fake.script("send_group_msg", answers(thrown))
    entry = rig.leave()
    assert entry.state == "sent"
    assert entry.error.startswith("Sent without its quote")
    assert [call.action for call in rig.fake.calls] == [
        "send_group_msg",
        "get_msg",
        "send_group_msg",
    ]
    assert rig.fake.calls[1].params == {"message_id": SAID}
    assert rig.fake.calls[2].params["message"] == [{"type": "text", "data": {"text": "hi"}}]


@pytest.mark.parametrize(
    "doubt", ["it knows the message", "no answer", "no quote", "other code", "is not Lagrange"]
)
def test_a_message_that_lagrange_may_have_sent_is_not_sent_again(doubt: str) -> None:
    rig = Rig("LG", "group")
    assert rig.ask("quote")["ok"]
    if doubt != "it knows the message":
        del rig.fake.world.messages[SAID]
    if doubt == "no answer":
        rig.fake.always("get_msg", silent(delivered=False))
    if doubt == "is not Lagrange":
        rig.connection.dialect = BY_COLUMN["SL"].dialect
    if doubt == "no quote":
        rig.chat.capability_settings.create(target="cap", name="quote", allowed=False)
    thrown = {**rig.implementation.failure({}, ""), "retcode": 1 if doubt == "other code" else 200}
    rig.fake.script("send_group_msg", answers(thrown))
    assert rig.leave().state == "unknown"
    assert len(rig.deeds) == 1


def test_an_implementation_that_says_why_is_believed_about_the_quote() -> None:
    rig = Rig("NC", "group")
    assert rig.ask("quote")["ok"]
    refusal = "消息体无法解析, 请检查是否发送了不支持的消息类型"
    rig.fake.script("send_group_msg", answers(rig.implementation.failure({}, refusal)))
    assert rig.leave().state == "sent"
    assert [len(call.params["message"]) for call in rig.deeds] == [2, 1]
