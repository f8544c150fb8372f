"""A site on which everything has happened once: the rows that the console's own pages show."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from auditlog.models import LogEntry
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from arise_site import roles
from botgateway.models import Connection
from core import chatsettings, pausing, sending
from core.media import references, store
from core.media.pictures import View
from core.models import (
    Bot,
    CapabilitySetting,
    Chat,
    InboundItem,
    ItemMedia,
    ModelCallCount,
    PersonLimit,
    Turn,
    TurnRerun,
)
from skills import store as skill_store
from skills.models import Skill, SkillReads
from stickers.models import FunnelCount, Sticker
from tests import factories
from tests.core.media.drawing import picture
from tests.stickers.making import embedded
from tests.stickers.showing import shown

LONG = "这是一句很长的话，" * 20 + "with-some-word-that-has-no-space-in-it" * 6
PEOPLE = (("30001", "Ann"), ("30002", "小明"), ("30003", "A member with quite a long name"))
Rows = Mapping[str, Model]


def make(operator: User) -> Rows:
    """Make it all; a name for each row that some page is of. `operator` did what people did."""
    bot, chat = _bots()
    rows: dict[str, Model] = {"bot": bot, "chat": chat, "user": operator}
    rows["member"], rows["item"] = _people(chat)
    rows |= _turns(chat, operator)
    rows |= _outbox(chat)
    rows |= _stickers(chat)
    rows |= _others(bot, chat, operator)
    return rows


def _bots() -> tuple[Bot, Chat]:
    """A bot that is connected, with chats of each kind, and one that is not and may not speak."""
    persona = "你是小熊，一个爱读书的助手。\nSay little, and mean it."
    bot = factories.make_bot(name="Bear 小熊", persona=persona, platform={})
    connection = factories.make_connection(
        bot, implementation="NapCat.Onebot", version="4.8.1", nickname="小熊", online=True
    )
    # A page is opened long after its connection was last looked after.
    later = timezone.now() + timedelta(hours=1)
    Connection.objects.filter(pk=connection.pk).update(kept_at=later)
    other = factories.make_bot(name="Owl", is_logged_out=True)
    factories.make_connection(other, reports_own=False, closed_at=timezone.now())
    chat = factories.make_chat(
        bot,
        title="Book club 读书会",
        sticker_learning=True,
        persona_override="Here you are a bear.",
    )
    CapabilitySetting.objects.create(chat=chat, target="cap", name="recall", allowed=False)
    CapabilitySetting.objects.create(bot=bot, target="tag", name="user", allowed=True)
    now = timezone.now()
    factories.make_chat(bot, title="Quiet room", silence_reason="muted", last_message_at=now)
    factories.make_chat(bot, title=LONG[:200], delivery_mode="review", last_message_at=now)
    factories.make_chat(other, kind="private", title="小明", delivery_mode="shadow", enabled=False)
    return bot, chat


def _people(chat: Chat) -> tuple[Model, Model]:
    """What people say and do in a chat, oldest first; a member and a message of theirs."""
    members = [
        factories.make_member(chat, user_id=number, name=name, role=role)
        for (number, name), role in zip(PEOPLE, ("owner", "admin", "member"), strict=True)
    ]
    past = timezone.now() - timedelta(hours=3)
    factories.make_item(chat, "早上好！ good morning", received_at=past)
    question = factories.make_item(
        chat, "What do we read next?", sender_id="30002", sender_name="小明"
    )
    factories.make_item(chat, LONG, sender_name=PEOPLE[2][1], reply_to=question.platform_message_id)
    view = store.put_view(View("image/png", picture(size=(200, 120), color="teal"), 200, 120))
    for kind, found in {"image": {"view": view}, "sticker": {"failure": "gone"}}.items():
        seen = factories.make_item(chat, "", parts=[{"type": kind, "data": {}}])
        ItemMedia.objects.create(item=seen, index=0, **found)
    files = [{"type": "file", "data": {"name": "notes.pdf"}}, {"type": "voice", "data": {}}]
    factories.make_item(chat, "", parts=files, sender_name="小明")
    factories.make_item(chat, "never mind", recalled_at=timezone.now())
    factories.make_item(chat, "", kind="poke", target_id=chat.bot.self_id)
    for target in (question.platform_message_id, "77777"):
        factories.make_item(chat, "", kind="reaction", emoji=["128077"], target_id=target)
    chatter = factories.make_item(chat, "not for you, bear")
    factories.make_decision([chatter], "skip")
    return members[0], question


def _turns(chat: Chat, operator: User) -> dict[str, Model]:
    """A turn that did a lot and was run again, one that was silent and one that failed."""
    item = factories.make_item(chat, "@Bear what do you think?", trigger="mention")
    view = store.put_view(View("image/png", picture(size=(120, 80), color="olive"), 120, 80))
    tool = {"type": "function", "function": {"name": "send_message", "parameters": {}}}
    turn = factories.make_turn(
        chat,
        first_item_id=item.pk,
        last_item_id=item.pk,
        messages=[
            {"role": "system", "content": "你是小熊。\nYou act through tools alone."},
            {"role": "user", "content": [{"type": "text", "text": LONG}, references.part(view)]},
        ],
        tools=[tool],
        steps=2,
        sends=2,
        prompt_tokens=3210,
        completion_tokens=123,
        started_at=timezone.now() - timedelta(seconds=9),
        runs=1,
    )
    InboundItem.objects.filter(pk=item.pk).update(turn=turn)
    factories.make_decision([item], turn=turn)
    first = factories.make_step(
        turn,
        answer={"role": "assistant", "content": "I should answer."},
        finish_reason="tool_calls",
        model_seconds=2.5,
        retries=1,
    )
    said = factories.make_sent(chat, "I would read *Dune*. 我想读《沙丘》。", turn=turn)
    factories.make_call(first, arguments='{"content": "I would read *Dune*."}')
    factories.make_call(
        first, 1, name="poke_send", result={"ok": False, "message": "Nobody of that name is here."}
    )
    factories.make_step(turn, 1, messages_added=[{"role": "user", "content": "Ann: nice!"}])
    factories.make_sent(chat, "who knows", "unknown", turn=turn, entry={"reason": "unclear_answer"})
    counts = {"prompt_tokens": 3210, "completion_tokens": 99}
    call = {"id": "1", "function": {"name": "send_message", "arguments": '{"content": "Emma"}'}}
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    again = {"answer": answer, "results": [{"ok": True, "handle": "m1"}], "seconds": 1.5, **counts}
    made = {"turn": turn, "by": operator, "ended_at": timezone.now()}
    TurnRerun.objects.create(model="other", state="failed", error="rate_limited", **made)
    TurnRerun.objects.create(
        model="test-model-2",
        persona="You are an owl.",
        state="done",
        steps=[again],
        **counts,
        **made,
    )
    silent = factories.make_item(chat, "bear, be quiet", trigger="name")
    silence = factories.make_turn(
        chat,
        state=Turn.State.SILENT,
        silence_reason="They asked me to be quiet.",
        first_item_id=silent.pk,
        last_item_id=silent.pk,
        messages=[{"role": "user", "content": "be quiet"}],
    )
    decision = factories.make_decision([silent], turn=silence, reason="name")
    factories.make_turn(
        chat, state=Turn.State.FAILED, error="rate_limited", error_detail="429 Too Many Requests"
    )
    return {"turn": turn, "decision": decision, "said": said}


def _outbox(chat: Chat) -> dict[str, Model]:
    """The bot's words in every state, and what waits to be reviewed."""
    rows: dict[str, Model] = {}
    made: dict[str, dict[str, Any]] = {
        "pending": {"held": "muted"},
        "sending": {},
        "unknown": {"reason": sending.CONNECTION_LOST, "error": "no answer within 30 s"},
        "failed": {"reason": "refused", "error": "retcode 1200: group is muted"},
        "discarded": {"reason": "shadow"},
        "recalled": {"recalled_at": timezone.now()},
    }
    for state, entry in made.items():
        message = factories.make_sent(chat, f"words that are {state}", state, entry=entry)
        rows |= {f"message {state}": message, f"entry {state}": _entry_of(message)}
    edited = factories.make_sent(chat, "after all Emma", edits=1)
    factories.make_entry(edited, action="recall", target=edited.entry, content="", state="sent")
    rows["message edited"] = edited
    poke = [{"type": "poke", "data": {"id": "30001"}}]
    factories.make_entry(chat=chat, action="poke", subject="30001", state="sent", parts=poke)
    for words in ("我觉得可以。", LONG):
        held = factories.make_sent(chat, words, "pending", entry={"held": "review"})
        rows["entry held"] = _entry_of(held)
    return rows


def _entry_of(message: Any) -> Model:
    entry: Model = message.entry
    return entry


def _stickers(chat: Chat) -> dict[str, Model]:
    """A sticker in each state, and one of the catalogue."""
    texts = {"use_when": "when somebody helped", "words": "谢谢", "moods": ["grateful", "开心"]}
    rows: dict[str, Model] = {}
    for state in Sticker.State:
        is_rejected = state not in (*Sticker.KEPT, Sticker.State.LEARNING)
        more: dict[str, Any] = {"content": b"", "reason": "no_words"} if is_rejected else texts
        rows[f"sticker {state}"] = shown(
            chat, "" if is_rejected else "thanks a lot 谢谢你", state=state, **more
        )
    moving = shown(chat, "well done " + LONG[:60], moving=True, pinned=True, times_sent=7, **texts)
    embedded(moving)
    rows["sticker"] = moving
    embedded(shown(None, "good night 晚安", moods=["sleepy"]))
    shown(None, "taken down", picture={"verdict": "removed"}, content=b"")
    today = timezone.localdate()
    for name, times in {"seen": 120, "candidate": 60, "paid": 20, "stored": 12, "off": 9}.items():
        FunnelCount.objects.create(chat=chat, day=today, name=name, times=times)
    for purpose, calls in (("chat", 41), ("learning", 20)):
        counted = {"calls": calls, "tokens": calls * 900}
        ModelCallCount.objects.create(chat=chat, day=today, purpose=purpose, **counted)
    return rows


def _others(bot: Bot, chat: Chat, operator: User) -> dict[str, Model]:
    """Skills, people and their limits, the audit, and whom the gateway refused."""
    skill = factories.make_skill("House rules 群规", "Be kind.\n\n- no spoilers\n- 不剧透")
    skill.body += "\n- no shouting"
    skill_store.save(skill, by=operator)
    # A skill that chats are chosen for, with who read it.
    some = factories.make_skill("Only for the club", "Read *Dune*.", for_all_chats=False)
    Skill.objects.get(pk=some.pk).chats.add(chat)
    now = timezone.now()
    for of in (skill, some):
        SkillReads.objects.create(skill=of, chat=chat, level="full", times=3, last_at=now)
    # Tests that empty the database leave no groups behind.
    roles.grant(apps)
    limited = User.objects.create(username="limited", is_staff=True, first_name="小红")
    limited.groups.add(Group.objects.get(name="operator"))
    limit = PersonLimit.objects.create(person=limited)
    limit.chats.add(chat)
    cautious = User.objects.create(username="cautious", is_staff=True, is_superuser=True)
    TOTPDevice.objects.create(user=cautious, name="app", confirmed=True)
    factories.make_refusal(user_agent="NapCat/4.8.1", attempts=12)
    refusal = factories.make_refusal(self_id="", reason="no_self_id")
    paused = factories.make_chat(bot, title="Too loud")
    pausing.pause(paused, by=operator, reason="They asked for a rest.")
    chatsettings.apply(chat, chatsettings.Change({"patience_seconds": 77}, {}), by=operator)
    return {
        "skill": skill,
        "limited": limited,
        "cautious": cautious,
        "limit": limit,
        "group": Group.objects.get(name="moderator"),
        "refusal": refusal,
        "connection": Connection.objects.latest("pk"),
        "paused": paused,
        "audit": LogEntry.objects.latest("pk"),
    }
