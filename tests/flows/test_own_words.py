"""The bot's power over its own words: taking back and changing, seen from the platform's side."""

from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from core import records
from core.models import Bot, Chat, OutboxEntry, SentMessage, ToolCall
from tests.factories import make_chat, make_sent
from tests.fakes.model import Script, ToolCallSpec
from tests.fakes.onebot import (
    Behaviour,
    FakeOneBot,
    answers_id,
    late,
    pretends,
    refused,
    silent,
    timeout_not_sent,
)
from tests.flows.conftest import NAPCAT, Platform
from tests.flows.test_conversation import GROUP, SEND, answers, heard
from tests.flows.waiting import (
    ended_turns,
    entries,
    entries_become,
    eventually,
    in_database,
    introduced,
    once,
    rows,
)

THINK: ToolCallSpec = ("think_aloud", {})
"""No tool of that name: a step that changes nothing, after which drafts of the one before leave."""
DELETE = "delete_msg"


def edit(handle: str, text: str) -> ToolCallSpec:
    return ("edit", {"handle": handle, "new_content": text})


def self_recall(handle: str) -> ToolCallSpec:
    return ("self_recall", {"handle": handle})


def says_first(script: Script, *texts: str) -> None:
    """A turn begins by saying this, and thinks on when it may leave."""
    script.reply(tool_calls=[(SEND, {"content": text}) for text in texts])
    script.reply(tool_calls=[THINK])


def then(script: Script, bot: Bot, standing: str, *calls: ToolCallSpec) -> None:
    """The turn's next step is taken once this is the newest entry."""
    script.add(once(lambda: entries(bot)[-1:] == [standing], *calls))


def deeds(onebot: FakeOneBot) -> list[str]:
    """What the platform was asked to do, in order."""
    return [call.action for call in onebot.calls if not call.action.startswith("get_")]


async def told(bot: Bot) -> list[str]:
    """What each tool call of the bot was told, in order: `ok`, or the code of the refusal."""
    calls = await rows(ToolCall.objects.filter(step__turn__chat__bot=bot).order_by("pk"))
    return [call.result.get("error", "ok") for call in calls if call.name != THINK[0]]


async def heard_of(onebot: FakeOneBot, bot: Bot, chat: str = GROUP) -> Chat:
    """The chat's row, after somebody said something in it that was not meant for the bot."""
    await onebot.say(chat, 10002, "good morning")
    known = Chat.objects.filter(bot=bot, external_id=chat.partition(":")[2])
    found: list[Chat] = await eventually(lambda: rows(known))
    return found[0]


async def seeded(onebot: FakeOneBot, chat: Chat, text: str, **fields: Any) -> SentMessage:
    """A message that the bot said earlier, on the platform and in the Sent Log."""
    said = onebot.world.keep(chat.key, onebot.world.self_id, [segment(text)])
    entry = {"platform_message_id": str(said.message_id), **fields.pop("entry", {})}
    return await in_database(lambda: make_sent(chat, text, entry=entry, **fields))


def segment(text: str) -> dict[str, Any]:
    return {"type": "text", "data": {"text": text}}


async def test_an_edit_of_a_sent_message_recalls_it_and_sends_it_anew_under_its_handle(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "old words")
    then(script, bot, "send sent old words", edit("m1", "new words"))
    script.reply()
    answers(script, "by the way")
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        old, new = await onebot.wait_for_sends(2)
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10002, "sure?", mention_bot=True)
        await onebot.wait_for_sends(3)
        await ended_turns(bot, 2)
    assert deeds(onebot)[:3] == ["send_group_msg", DELETE, "send_group_msg"]
    assert onebot.called(DELETE)[0].params == {"message_id": old.message_id}
    assert (old.recalled, new.text, new.recalled) == (True, "new words", False)
    (first, *_) = await in_database(
        lambda: list(records.sentlog(SentMessage.objects.filter(chat__bot=bot)))
    )
    shown = ("handle", "send_state", "platform_message_id", "content", "edits")
    assert [first[key] for key in shown] == ["m1", "sent", str(new.message_id), "new words", 1]
    versions = await rows(bot.outbox.filter(message__handle="m1").order_by("pk"))
    assert [
        (version.action, version.state, version.content, version.platform_message_id)
        for version in versions
    ] == [
        ("send", "recalled", "old words", str(old.message_id)),
        ("recall", "sent", "", ""),
        ("send", "sent", "new words", str(new.message_id)),
    ]
    assert all(version.settled_at for version in versions)
    assert versions[0].recalled_at == versions[1].settled_at
    assert 'handle="m1" state="sent"' in heard(script.requests[4])
    assert "new words" in heard(script.requests[4])
    assert "old words" not in heard(script.requests[4])
    assert "<outcome" not in heard(script.requests[4])


async def test_a_self_recall_of_a_sent_message_deletes_it_and_the_sent_log_says_so(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "never mind")
    then(script, bot, "send sent never mind", self_recall("m1"))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send recalled never mind", "recall sent")
        await ended_turns(bot, 1)
    (said,) = onebot.sent
    assert (deeds(onebot), said.recalled) == (["send_group_msg", DELETE], True)
    out = StringIO()
    await in_database(lambda: call_command("sentlog", bot=bot.self_id, json=True, stdout=out))
    assert '"send_state": "recalled"' in out.getvalue()
    assert f'"platform_message_id": "{said.message_id}"' in out.getvalue()


async def test_words_whose_answer_told_no_id_are_taken_back_by_the_id_of_their_echo(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "never mind")
    named = bot.outbox.exclude(platform_message_id="")
    script.add(once(named.exists, self_recall("m1")))
    script.reply()
    async with platform(**NAPCAT, report_own_messages=True) as onebot:
        onebot.script("send_group_msg", answers_id(0))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send recalled never mind", "recall sent")
        await ended_turns(bot, 1)
    (said,) = onebot.sent
    assert said.recalled
    assert not await rows(bot.items.filter(from_self=True))


async def test_drafts_are_changed_in_the_next_step_with_no_call_of_the_platform(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[(SEND, {"content": "rude"}), (SEND, {"content": "wrong"})])
    script.reply(tool_calls=[self_recall("m1"), edit("m2", "right")])
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send discarded rude", "send sent right")
        await ended_turns(bot, 1)
    assert (onebot.texts, deeds(onebot)) == (["right"], ["send_group_msg"])
    assert all(message["role"] != "user" for message in script.requests[2]["messages"][2:])


async def test_what_is_still_pending_in_the_next_turn_is_shown_and_changed_there(
    platform: Platform, script: Script, bot: Bot
) -> None:
    answers(script, "rude", "wrong")
    script.reply(tool_calls=[self_recall("m2"), edit("m3", "right")])
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await heard_of(onebot, bot)
        await in_database(lambda: in_the_way(bot))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send unknown stuck", "send pending rude", "send pending wrong")
        await onebot.say(GROUP, 10002, "well?", mention_bot=True)
        await entries_become(bot, "send unknown stuck", "send discarded rude", "send pending right")
        await in_database(lambda: bot.outbox.update(evidence_until=timezone.now()))
        await onebot.wait_for_sends(1)
        await ended_turns(bot, 2)
    assert 'handle="m2" state="pending"' in heard(script.requests[2])
    assert 'handle="m3" state="pending"' in heard(script.requests[2])
    assert (onebot.texts, deeds(onebot)) == (["right"], ["send_group_msg"])


def in_the_way(bot: Bot) -> None:
    """A message of unknown outcome for which evidence is waited for: what comes later is pending."""
    chat = Chat.objects.get(bot=bot)
    Chat.objects.filter(pk=chat.pk).update(next_handle=2)
    until = timezone.now() + timedelta(hours=1)
    entry = {"evidence_until": until, "history_asked": 99}
    make_sent(chat, "stuck", "unknown", handle="m1", entry=entry)


async def test_a_handle_that_names_nothing_here_makes_no_call_of_the_platform(
    platform: Platform, script: Script, bot: Bot
) -> None:
    async with platform(**NAPCAT) as onebot:
        other = await in_database(lambda: make_chat(bot, external_id="20002"))
        await seeded(onebot, other, "elsewhere", handle="m1")
        said = await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        hostile = ["m1", "m9", "", str(said.message_id), "m1' OR '1'='1", "\x00m1", "m1\n", "Ｍ1"]
        script.reply(tool_calls=[self_recall(handle) for handle in hostile])
        script.reply(tool_calls=[edit(handle, "got you") for handle in hostile])
        script.reply()
        await ended_turns(bot, 1)
    assert await told(bot) == ["unknown_handle"] * 2 * len(hostile)
    assert deeds(onebot) == []


async def test_a_second_self_recall_is_refused_and_makes_no_call(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "oops")
    then(script, bot, "send sent oops", self_recall("m1"), self_recall("m1"))
    then(script, bot, "recall sent", self_recall("m1"), edit("m1", "words"))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
    assert await told(bot) == [
        "ok",
        "ok",
        "already_recalled",
        "already_recalled",
        "already_recalled",
    ]
    assert deeds(onebot) == ["send_group_msg", DELETE]


async def test_an_edit_too_many_over_all_resends_is_refused_and_makes_no_call(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "first")
    then(script, bot, "send sent first", edit("m1", "second"))
    script.reply(tool_calls=[THINK])
    then(script, bot, "send sent second", edit("m1", "third"))
    script.reply(tool_calls=[THINK])
    then(script, bot, "send sent third", edit("m1", "fourth"))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert await told(bot) == ["ok", "ok", "ok", "too_many_edits"]
    assert (onebot.texts, len(onebot.called(DELETE))) == (["first", "second", "third"], 2)
    assert turn.sends == 3


REFUSED_RECALLS = {
    "refused": (
        refused(1200, "Recall failed"),
        'state="failed" reason="recall_refused"',
        "recall failed",
    ),
    "never answered": (
        silent(delivered=False),
        'state="unknown" reason="no_answer"',
        "recall unknown",
    ),
}


@pytest.mark.parametrize("how", REFUSED_RECALLS)
@pytest.mark.parametrize("told_in", ["the next step", "the next turn"])
async def test_an_edit_whose_recall_is_not_confirmed_says_nothing_new_and_is_told(
    platform: Platform, script: Script, bot: Bot, how: str, told_in: str
) -> None:
    behaviour, outcome, recall = REFUSED_RECALLS[how]
    after = ["send sent old words", recall, "send discarded new words"]
    says_first(script, "old words")
    then(script, bot, "send sent old words", edit("m1", "new words"))
    if told_in == "the next step":
        script.add(once(lambda: entries(bot) == after, THINK))
    else:
        script.reply()
    script.reply()
    async with platform(**NAPCAT) as onebot:
        onebot.script(DELETE, behaviour)
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
        await entries_become(bot, *after)
        if told_in == "the next turn":
            await onebot.say(GROUP, 10002, "well?", mention_bot=True)
            await ended_turns(bot, 2)
    assert deeds(onebot) == ["send_group_msg", DELETE]
    assert [(said.text, said.recalled) for said in onebot.sent] == [("old words", False)]
    last = str(script.requests[-1]["messages"][-1]["content"])
    assert f'<outcome handle="m1" action="edit" {outcome}/>' in last
    assert last.count("<outcome") == 1
    assert ('handle="m1" state="sent"' in last) == (told_in == "the next turn")


@pytest.mark.parametrize("change", ["edit", "self_recall"])
async def test_a_change_of_what_is_being_sent_waits_behind_it(
    platform: Platform, script: Script, bot: Bot, change: str
) -> None:
    says_first(script, "old words")
    call = edit("m1", "new words") if change == "edit" else self_recall("m1")
    then(script, bot, "send sending old words", call)
    script.reply()
    expected = {
        "edit": ["send recalled old words", "recall sent", "send sent new words"],
        "self_recall": ["send recalled old words", "recall sent"],
    }
    async with platform(**NAPCAT) as onebot:
        onebot.script("send_group_msg", late(1))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, *expected[change])
        await ended_turns(bot, 1)
    sends = ["send_group_msg"] if change == "edit" else []
    assert deeds(onebot) == ["send_group_msg", DELETE, *sends]
    assert await told(bot) == ["ok", "ok"]


async def test_a_change_of_what_is_being_sent_is_void_where_the_send_fails(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "old words")
    then(script, bot, "send sending old words", edit("m1", "new words"))
    script.add(once(lambda: "send failed old words" in entries(bot), THINK))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        muted = Behaviour(delivered=False, retcode=1200, message="被禁言", after_seconds=1)
        onebot.script("send_group_msg", muted)
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
    assert await in_database(lambda: entries(bot)) == [
        "send failed old words",
        "recall discarded",
        "send discarded new words",
    ]
    assert deeds(onebot) == ["send_group_msg"]
    last = str(script.requests[-1]["messages"][-1]["content"])
    assert '<outcome handle="m1" state="failed" reason="refused"/>' in last


async def test_what_may_not_be_changed_is_refused_each_with_its_reason(
    platform: Platform, script: Script, bot: Bot
) -> None:
    old = timezone.now() - timedelta(seconds=121)
    states: dict[str, dict[str, Any]] = {
        "outcome_unknown": {"state": "unknown", "entry": {"evidence_until": timezone.now()}},
        "message_failed": {"state": "failed"},
        "message_discarded": {"state": "discarded"},
        "message_recalled": {"state": "recalled"},
        "too_late": {"entry": {"sending_at": old}},
        "no_message_id": {"entry": {"platform_message_id": ""}},
    }
    handles = [f"m{number}" for number in range(1, len(states) + 1)]
    script.reply(tool_calls=[self_recall(handle) for handle in handles])
    script.reply(tool_calls=[edit(handle, "other words") for handle in handles])
    script.reply(tool_calls=[edit("m7", "other words")])
    script.reply()
    async with platform(**NAPCAT) as onebot:
        chat = await heard_of(onebot, bot)
        for handle, fields in zip(handles, states.values(), strict=True):
            await seeded(onebot, chat, "words", handle=handle, **fields)
        await seeded(onebot, chat, "a sticker", handle="m7", kind=SentMessage.Kind.STICKER)
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
    assert await told(bot) == [*states, *states, "not_editable"]
    assert deeds(onebot) == []


async def test_an_administrator_takes_back_old_words_too(
    platform: Platform, script: Script, bot: Bot
) -> None:
    script.reply(tool_calls=[self_recall("m1")])
    script.reply()
    async with platform(**NAPCAT) as onebot:
        onebot.world.bot_role = "admin"
        chat = await heard_of(onebot, bot)
        await onebot.say(GROUP, 10003, "good morning to you")
        await eventually(lambda: rows(Chat.objects.filter(pk=chat.pk, bot_role="admin")))
        hour_ago = timezone.now() - timedelta(hours=1)
        await seeded(onebot, chat, "old words", handle="m1", entry={"sending_at": hour_ago})
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send recalled old words", "recall sent")
        await ended_turns(bot, 1)
    assert deeds(onebot) == [DELETE]


async def test_an_edit_that_would_send_with_no_send_left_is_refused(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "1", "2", "3", "4", "5")
    then(script, bot, "send sent 5", edit("m1", "one"))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "count", mention_bot=True)
        (turn,) = await ended_turns(bot, 1)
    assert (await told(bot))[-1] == "send_budget_spent"
    assert (deeds(onebot), turn.sends) == (["send_group_msg"] * 5, 5)


async def test_a_platform_that_edits_is_asked_to_edit(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "old words")
    then(script, bot, "send sent old words", edit("m1", "new words"))
    script.reply()
    async with platform(app_name="of its own kind") as onebot:
        onebot.always("get_supported_actions", pretends(["edit_msg", "send_group_msg"]))
        onebot.always("edit_msg", pretends())
        await onebot.connect()
        await introduced(bot)
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
    (said,) = onebot.sent
    (call,) = onebot.called("edit_msg")
    assert call.params == {"message_id": said.message_id, "message": [segment("new words")]}
    assert deeds(onebot) == ["send_group_msg", "edit_msg"]
    (message,) = await rows(SentMessage.objects.filter(chat__bot=bot).select_related("entry"))
    assert (message.entry.content, message.entry.platform_message_id) == (
        "new words",
        str(said.message_id),
    )


def tools(request: dict[str, Any]) -> list[str]:
    """The tools that the model was given."""
    return [tool["function"]["name"] for tool in request["tools"]]


def set_chat(bot: Bot, *pairs: str) -> str:
    """Flips switches of the chat as an operator does; what the command printed."""
    out = StringIO()
    call_command("chatset", bot.self_id, GROUP, *pairs, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("pair", "offered"),
    [
        ("cap.recall=inherit", ["self_recall", "edit"]),
        ("cap.recall=off", []),
        ("cap.edit=off", ["self_recall"]),
    ],
)
async def test_the_tools_are_offered_where_the_chats_operator_leaves_them_on(
    platform: Platform, script: Script, bot: Bot, pair: str, offered: list[str]
) -> None:
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await in_database(lambda: set_chat(bot, pair))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
    own_words = [name for name in tools(script.requests[0]) if name in ("self_recall", "edit")]
    assert own_words == offered


async def test_what_is_switched_off_while_the_model_thinks_is_not_done(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "words")
    then(script, bot, "send sent words", THINK)
    script.add(once(lambda: set_chat(bot, "cap.recall=off"), self_recall("m1"), edit("m1", "new")))
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1)
    assert await told(bot) == ["ok", "capability_off", "capability_off"]
    assert deeds(onebot) == ["send_group_msg"]


async def test_an_implementation_that_has_no_recall_is_not_asked_again_until_it_reconnects(
    platform: Platform, script: Script, bot: Bot
) -> None:
    says_first(script, "words")
    then(script, bot, "send sent words", self_recall("m1"))
    script.reply()
    script.reply()
    script.reply()
    async with platform(**NAPCAT) as onebot:
        onebot.script(DELETE, refused(1404, "不支持的Api delete_msg"))
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await entries_become(bot, "send sent words", "recall failed")
        await ended_turns(bot, 1)
        await onebot.say(GROUP, 10002, "still there?", mention_bot=True)
        await ended_turns(bot, 2)
        await onebot.connect()
        await introduced(bot)
        await onebot.say(GROUP, 10002, "and now?", mention_bot=True)
        await ended_turns(bot, 3)
    assert ["self_recall" in tools(request) for request in script.requests[3:]] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("change", ["edit", "self_recall"])
async def test_words_that_an_admin_took_back_are_recalled_and_can_not_be_changed(
    platform: Platform, script: Script, bot: Bot, change: str
) -> None:
    answers(script, "too frank")
    call = edit("m1", "new words") if change == "edit" else self_recall("m1")
    script.reply(tool_calls=[call])
    script.reply()
    async with platform(**NAPCAT) as onebot:
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        (said,) = await onebot.wait_for_sends(1)
        await ended_turns(bot, 1)
        await onebot.recall(said, 10003)
        await entries_become(bot, "send recalled too frank")
        await onebot.say(GROUP, 10002, "well?", mention_bot=True)
        await ended_turns(bot, 2)
    context = heard(script.requests[2])
    assert '<outcome handle="m1" state="recalled" reason="recalled_by_admin"/>' in context
    assert (await told(bot))[-1] == "message_recalled"
    assert deeds(onebot) == ["send_group_msg"]
    (entry,) = await rows(OutboxEntry.objects.filter(bot=bot))
    assert entry.recalled_at is not None


@dataclass(frozen=True)
class Doubt:
    """A recall that is not simply believed: its answer, what becomes of it, and the answer to
    get_msg (None: the platform's own), where that is asked."""

    change: str
    answer: Behaviour
    became: tuple[str, str]
    looked_up: Behaviour | None = None
    is_asked: bool = True


DONE, NOT_DONE = Behaviour(told=False), pretends()
TIMEOUT = timeout_not_sent().message
SENT, NOT_KNOWN = ("sent", ""), ("unknown", "unclear_answer")
DELETED = {"status": "deleted", "message": [segment("words")]}
DOUBTS = {
    "still there": Doubt("edit", NOT_DONE, ("failed", "not_recalled")),
    "without its words": Doubt("edit", DONE, SENT, pretends({"message": []})),
    "told as deleted": Doubt("edit", DONE, SENT, pretends(DELETED)),
    "not to be found": Doubt("edit", DONE, SENT),
    "not to be known": Doubt("edit", NOT_DONE, NOT_KNOWN, silent(delivered=False)),
    "in trouble": Doubt("self_recall", NOT_DONE, NOT_KNOWN, refused(1200, "internal error")),
    "told of": Doubt("self_recall", Behaviour(), SENT, is_asked=False),
    "timed out and told of": Doubt(
        "self_recall", Behaviour(retcode=1200, message=TIMEOUT), SENT, is_asked=False
    ),
    "timed out and still there": Doubt(
        "self_recall", timeout_not_sent(), ("failed", "not_recalled")
    ),
    "timed out and not to be found": Doubt(
        "self_recall", Behaviour(told=False, retcode=1200, message=TIMEOUT), NOT_KNOWN
    ),
}


async def test_a_recall_in_doubt_is_looked_for_before_anything_new_is_said(
    platform: Platform, script: Script, bot: Bot
) -> None:
    # One turn for all of them, since each waits five seconds for its notice.
    changes = {"edit": lambda handle: edit(handle, f"new {handle}"), "self_recall": self_recall}
    handles = {f"m{number}": doubt for number, doubt in enumerate(DOUBTS.values(), 1)}
    script.reply(tool_calls=[changes[doubt.change](handle) for handle, doubt in handles.items()])
    script.reply()
    async with platform(app_name="NapCat.Onebot", app_version="3.6.3") as onebot:
        chat = await heard_of(onebot, bot)
        ids = []
        for handle, doubt in handles.items():
            message = await seeded(onebot, chat, f"old {handle}", handle=handle)
            assert message.entry is not None
            ids.append(int(message.entry.platform_message_id))
            onebot.script(DELETE, doubt.answer, about=ids[-1])
            if doubt.looked_up is not None:
                onebot.script("get_msg", doubt.looked_up, about=ids[-1])
        await onebot.say(GROUP, 10002, "hi", mention_bot=True)
        await ended_turns(bot, 1, timeout=25)
    recalls = await rows(bot.outbox.filter(action="recall").order_by("pk"))
    asked = [call.params["message_id"] for call in onebot.called("get_msg")]
    assert {
        name: ((recall.state, recall.reason), message_id in asked)
        for name, recall, message_id in zip(DOUBTS, recalls, ids, strict=True)
    } == {name: (doubt.became, doubt.is_asked) for name, doubt in DOUBTS.items()}
    assert onebot.texts[len(handles) :] == ["new m2", "new m3", "new m4"]
    assert len(onebot.called(DELETE)) == len(handles)
