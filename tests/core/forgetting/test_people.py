"""Forgetting a person leaves no trace of that one in any chat, and all that others are and said."""

import threading
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from botgateway import delivery
from botgateway.actions import Response
from core import addresses, capabilities, leases, sending, turns
from core.capabilities import Ability, Platform
from core.database import give_back
from core.errors import LeaseLost
from core.forgetting import chats, people
from core.forgetting.traces import Traces
from core.leases import Lease
from core.messages import Part, PlatformId, Recalled
from core.models import (
    Bot,
    Chat,
    InboundItem,
    ItemMedia,
    Member,
    OutboxEntry,
    SentMessage,
    ToolCall,
    Turn,
    TurnRerun,
)
from stickers.models import Picture, PictureKey, Sighting, Sticker
from tests.core.forgetting import world
from tests.core.forgetting.test_chats import learn
from tests.core.forgetting.world import answers, at, begin, chat_of, commit, item, says, store
from tests.factories import make_bot, make_skill

pytestmark = pytest.mark.django_db
ANN, BOB, CAT = ("10002", "小明 & Co"), ("100020", "Bobby"), ("10003", "Cathy")
ABLE = (
    "poke_send", "reaction_send", "recall", "edit", "quote", "poke_receive", "profile_like", "tag.user",
)  # fmt: skip
GROUP = "group:20001"
TRACES = ("10002", "小明 & Co", "小明 &amp; Co", "pineapple", "cucumber", "watermelon", "ginger")


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    able = Platform({name: Ability(True) for name in ABLE}, recall_seconds=120)
    monkeypatch.setattr(capabilities, "_probe", lambda chat: able)


@pytest.fixture
def bot() -> Bot:
    return make_bot("10000", name="Bear", connection_number=7)


def mention(account: str, name: str = "") -> Part:
    return Part("mention", {"id": account, **({"name": name} if name else {})})


def fill(place: tuple[Bot, Any], first: int) -> Chat:
    """A group in which Ann is everywhere, and others too."""
    contact = Part("other", {"type": "contact", "data": {"type": "qq", "id": 10002, "n": ANN[1]}})
    store(
        says(place, ANN, "@Bear pineapple?", number=first, mentions_bot=True),
        says(place, BOB, "look at ", mention("10002", f"@{ANN[1]}"), number=first + 1),
        says(place, BOB, "call 10002, or 100020", contact, number=first + 2, reply_to=str(first)),
        says(place, CAT, kind="poke", target_id="10002"),
        says(place, ANN, kind="poke", target_id="10003"),
        says(place, ANN, kind="reaction", target_id=str(first + 1), emoji=("76",)),
        says(place, CAT, kind="reaction", target_id=str(first), emoji=("76",)),
        says(place, ANN, "watermelon", number=first + 3),
        Recalled(place[0].pk, place[1], PlatformId(str(first + 3)), False, timezone.now()),
    )
    chat = chat_of(place)
    answers(
        chat,
        ("send_message", {"content": "pineapple is fine"}),
        ("send_message", {"content": "小明 & Co, sit", "quote": str(first)}),
        ("poke_send", {"user_id": "10002"}),
        ("like_profile", {"user_id": "10002"}),
        ("reaction_send", {"message_id": str(first), "emoji": "👍"}),
        silence="10002 has ginger",
    )
    store(says(place, BOB, "@Bear and me?", number=first + 4, mentions_bot=True))
    answers(
        chat,
        ("send_message", {"content": "you too, 100020"}),
        ("send_message", {"content": "and @user:10002"}),
        ("poke_send", {"user_id": "100020"}),
    )
    return chat


def quiet(place: tuple[Bot, Any], first: int) -> Chat:
    """A group in which Ann never was."""
    store(says(place, BOB, "@Bear plums", mention("100020"), number=first, mentions_bot=True))
    answers(chat_of(place), ("send_message", {"content": "plums for 100020"}))
    return chat_of(place)


def alone(bot: Bot, first: int) -> Chat:
    place = at(bot, "private:10002", ANN[1])
    store(says(place, ANN, "cucumber", number=first))
    answers(chat_of(place), ("send_message", {"content": "cucumber, dear"}))
    return chat_of(place)


def test_no_trace_of_a_forgotten_person_is_left_in_the_database(bot: Bot) -> None:
    group, private = fill(at(bot, GROUP), 100), alone(bot, 200)
    quiet(at(bot, "group:20002"), 300)
    user = User.objects.create(username="operator")
    sent = SentMessage.objects.filter(chat=group)[0]
    logged: list[Any] = [private, Member.objects.get(chat=group, user_id="10002"), sent, sent.entry]
    for row in logged:
        LogEntry.objects.log_actions(user.pk, [row], CHANGE, "Settled by hand.")
    make_skill("dice").chats.add(private)
    assert world.places_of(*TRACES) >= {
        "auditlog_logentry.changes", "core_chat.external_id", "core_chat.title", "core_inbounditem.text",
        "core_inbounditem.parts", "core_inbounditem.mentions", "core_inbounditem.target_id",
        "core_member.name", "core_outboxentry.content", "core_outboxentry.parts",
        "core_outboxentry.subject", "core_toolcall.arguments", "core_turn.messages",
        "core_turn.silence_reason", "core_turnstep.answer", "django_admin_log.object_repr",
    }  # fmt: skip
    went = people.forget("10002")
    assert world.places_of(*TRACES) == set()
    assert went["chats"] == 1
    assert not Chat.objects.filter(pk=private.pk).exists()
    assert (went["turns_emptied"], went["mentions"], went["members"]) == (2, 2, 2)
    with pytest.raises(addresses.BadAddress):
        people.forget("10002")


def test_others_keep_what_they_said_and_what_was_said_to_them(bot: Bot) -> None:
    fill(at(bot, GROUP), 100)
    elsewhere = quiet(at(bot, "group:20002"), 300)
    people.forget("10002")
    said = InboundItem.objects.filter(chat__external_id="20001").order_by("pk")
    assert [one.text for one in said] == ["look at ", "call forgotten, or 100020", "@Bear and me?"]
    mentioning, quoting = item(101), item(102)
    assert mentioning.mentions == ["forgotten"]
    assert mentioning.parts[1] == {"type": "mention", "data": {"id": "forgotten"}}
    assert quoting.parts[1]["data"]["data"] == {"type": "qq", "id": "forgotten", "n": "forgotten"}
    assert quoting.reply_to == "100"
    kept = OutboxEntry.objects.filter(chat__external_id="20001").order_by("pk")
    assert [entry.content for entry in kept if entry.content] == ["you too, 100020"]
    assert [entry.subject for entry in kept if entry.subject] == ["100020"]
    assert Member.objects.filter(user_id="100020").count() == 2
    turn = Turn.objects.get(chat=elsewhere)
    assert "plums" in str(turn.messages)
    assert "plums" in ToolCall.objects.filter(step__turn=turn)[0].arguments


def test_a_chat_counts_the_items_that_are_left_of_it(bot: Bot) -> None:
    filled = fill(at(bot, GROUP), 100)
    elsewhere = quiet(at(bot, "group:20002"), 300)
    store(says(at(bot, GROUP), ANN, "ginger", number=110))
    people.forget("10002")
    for chat, count in ((filled, 3), (elsewhere, 1)):
        before = chat.messages
        chat.refresh_from_db()
        left = InboundItem.objects.filter(chat=chat).order_by("-pk")
        assert (chat.messages, chat.last_message_at) == (count, left[0].received_at)
        assert (before != count) == (chat == filled)


def test_the_numbers_of_its_turns_stay(bot: Bot) -> None:
    chat = fill(at(bot, GROUP), 100)
    people.forget("10002")
    for turn in Turn.objects.filter(chat=chat):
        assert turn.is_forgotten
        assert (turn.steps, turn.prompt_tokens, turn.state) == (2, 200, "done")
    results = ToolCall.objects.filter(step__turn__chat=chat, name="send_message")
    assert {(call.arguments, call.result["ok"]) for call in results} == {("", True)}


def test_with_one_bot_the_other_bots_chats_are_left_alone(bot: Bot) -> None:
    other = make_bot("10009", name="Bear")
    fill(at(bot, GROUP), 100)
    kept = [fill(at(other, GROUP), 500), alone(other, 600)]
    before = [list(InboundItem.objects.filter(chat=chat).values()) for chat in kept]
    people.forget("10002", within=Chat.objects.filter(bot=bot))
    assert [list(InboundItem.objects.filter(chat=chat).values()) for chat in kept] == before
    assert all(turn.messages for turn in Turn.objects.filter(chat__in=kept))
    assert not InboundItem.objects.filter(bot=bot, sender_id="10002").exists()


def test_what_was_about_to_be_sent_to_the_person_is_not_sent(bot: Bot) -> None:
    fill(at(bot, GROUP), 100)
    people.forget("10002")
    OutboxEntry.objects.filter(state="pending").update(due_at=timezone.now(), draft_until=None)
    waiting = OutboxEntry.objects.filter(state="pending").order_by("pk")
    assert [entry.content or entry.subject for entry in waiting] == ["you too, 100020", "100020"]


def test_a_private_chat_that_is_switched_off_stays_switched_off_and_empty(bot: Bot) -> None:
    chat = alone(bot, 100)
    Chat.objects.filter(pk=chat.pk).update(enabled=False)
    people.forget("10002")
    chat.refresh_from_db()
    assert (chat.enabled, chat.title, chat.messages) == (False, "", 0)
    assert world.places_of(*TRACES) == {"core_chat.external_id"}


def sticker_of(name: str, **fields: Any) -> Part:
    return Part("sticker", {"id": f"md5:{name * 32}", "url": "http://x/y.png", **fields})


def test_what_was_learned_from_what_the_person_sent_goes(bot: Bot) -> None:
    place, other = at(bot, GROUP), at(bot, "group:20002")
    store(
        says(place, ANN, "", sticker_of("1"), number=100),
        says(place, ANN, "", Part("sticker", {"url": "http://x/z.png"}), number=101),
        says(place, BOB, "", sticker_of("3"), number=102),
        says(other, BOB, "", sticker_of("2"), number=103),
    )
    # What has no id of its own is known by its bytes.
    ItemMedia.objects.create(item=item(101), index=0, sha256="2" * 64)
    chat, elsewhere = chat_of(place), chat_of(other)
    learn(chat, "1")
    shared = learn(chat, "2").picture
    of_bob = learn(chat, "3")
    kept = learn(elsewhere, "2", picture=shared)
    for name in "13":
        key = f"md5:{name * 32}"
        Sighting.objects.create(chat=chat, key=key, times=1, last_at=timezone.now())
    went = people.forget("10002")
    assert set(Sticker.objects.all()) == {of_bob, kept}
    assert set(Picture.objects.all()) == {of_bob.picture, shared}
    assert [one.key for one in Sighting.objects.all()] == ["md5:" + "3" * 32]
    assert (went["stickers"], went["pictures"], went["media"]) == (2, 1, 1)


def test_what_was_learned_and_made_room_since_goes_with_who_sent_it_and_with_its_chat(
    bot: Bot,
) -> None:
    place = at(bot, GROUP)
    store(says(place, ANN, "", sticker_of("1"), number=100), says(place, BOB, "hm", number=101))
    chat = chat_of(place)
    for name in "12":
        evicted = learn(chat, name)
        PictureKey.objects.create(picture=evicted.picture, key=f"md5:{name * 32}")
        Picture.objects.filter(pk=evicted.picture.pk).update(claimed_in=chat)
        evicted.delete()
    assert people.forget("10002")["pictures"] == 1
    assert Picture.objects.get().keys.filter(key="md5:" + "2" * 32).exists()
    assert chats.forget(chat)["pictures"] == 1
    assert not Picture.objects.exists()


def test_a_sticker_that_was_learned_with_lines_that_name_the_person_goes(bot: Bot) -> None:
    place = at(bot, GROUP)
    store(says(place, ANN, "watermelon", number=100), says(place, BOB, "plums", number=101))
    chat = chat_of(place)
    naming, kept = learn(chat, "1"), learn(chat, "2")
    Picture.objects.update(shareable=False)
    Sticker.objects.filter(pk=naming.pk).update(meaning="what 小明 & Co says")
    people.forget("10002")
    assert list(Sticker.objects.all()) == [kept]


def test_a_turn_that_read_of_the_person_commits_nothing_and_the_rest_is_judged_anew(
    bot: Bot,
) -> None:
    place = at(bot, GROUP)
    store(
        says(place, ANN, "@Bear pineapple?", number=100, mentions_bot=True),
        says(place, BOB, "@Bear and plums?", number=101, mentions_bot=True),
    )
    chat = chat_of(place)
    lease, turn = begin(chat)
    commit(lease, turn, ("send_message", {"content": "pineapple is fine"}))
    people.forget("10002")
    with pytest.raises(LeaseLost):
        commit(lease, turn, ("send_message", {"content": "pineapple"}))
    assert world.places_of(*TRACES) == set()
    again = answers(chat, ("send_message", {"content": "plums are fine"}))
    assert "plums" in str(again.messages)
    assert "pineapple" not in str(again.messages)


def test_no_turn_begins_while_a_person_is_half_forgotten(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear pineapple?", number=100, mentions_bot=True))
    chat = chat_of(place)
    begin(chat)
    claimed: list[object] = []
    empty = people._empty_turns

    def looks(lease: Lease, traces: Traces, found: set[int]) -> int:
        Chat.objects.filter(pk=chat.pk).update(turn_due_at=timezone.now())
        claimed.append(leases.claim(chat.pk, "worker:1"))
        return empty(lease, traces, found)

    monkeypatch.setattr(people, "_empty_turns", looks)
    people.forget("10002")
    assert claimed == [None]


def test_a_turn_that_knows_nothing_of_the_person_goes_on(bot: Bot) -> None:
    place = at(bot, GROUP)
    store(says(place, BOB, "@Bear plums?", number=100, mentions_bot=True))
    chat = chat_of(place)
    lease, turn = begin(chat)
    commit(lease, turn, ("send_message", {"content": "plums"}))
    store(says(place, ANN, "pineapple", number=101))
    people.forget("10002")
    with pytest.raises(LeaseLost):
        commit(lease, turn, ("send_message", {"content": "more plums"}))
    lease, same = begin(chat)
    assert (same.pk, same.steps) == (turn.pk, 1)
    commit(lease, same, ("stay_silent", {"reason": "done"}))
    assert OutboxEntry.objects.get().content == "plums"


def test_who_alone_addressed_the_bot_is_not_answered(bot: Bot) -> None:
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear pineapple?", number=100, mentions_bot=True))
    people.forget("10002")
    chat = chat_of(place)
    assert (chat.addressed_by, chat.addressed_at) == ([], None)
    Chat.objects.update(turn_due_at=timezone.now())
    assert turns.run(chat.pk, "worker:1") is False
    assert not Turn.objects.exists()


def test_what_broke_off_is_finished_by_the_next_time(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(at(bot, GROUP), 100)
    for name in ("_empty_words", "_clear_mentions", "_forget_items", "_leave"):

        def breaks(*_: object, **__: object) -> int:
            raise RuntimeError

        with monkeypatch.context() as patched:
            patched.setattr(people, name, breaks)
            with pytest.raises(RuntimeError):
                people.forget("10002")
    people.forget("10002")
    assert world.places_of(*TRACES) == set()


@pytest.mark.django_db(transaction=True)
def test_a_message_that_is_being_sent_settles_by_its_answer_and_keeps_no_words() -> None:
    bot = make_bot("10000", name="Bear", connection_number=7)
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear pineapple?", number=100, mentions_bot=True))
    chat = chat_of(place)
    answers(chat, ("send_message", {"content": "pineapple, 小明 & Co"}))
    OutboxEntry.objects.update(due_at=timezone.now(), draft_until=None)
    (claimed,) = sending.claim(bot.pk, 7)
    people.forget("10002")
    sending.keep_parts(claimed.entry_id, claimed.parts)  # sent a second time without its quote
    assert not sending.hand_back(claimed.entry_id, 7)
    entry = OutboxEntry.objects.get()
    assert (entry.state, entry.reason, entry.parts) == ("unknown", "forgotten", [])
    answer = Response(echo="send-1-1", ok=True, retcode=0, data={"message_id": 5})
    delivery.settle(claimed.entry_id, claimed.action, answer)
    entry.refresh_from_db()
    assert (entry.state, entry.platform_message_id) == ("sent", "5")
    assert world.places_of(*TRACES) == set()


@pytest.mark.django_db(transaction=True)
def test_a_person_is_forgotten_beside_a_step_that_is_being_written() -> None:
    bot = make_bot("10000", name="Bear", connection_number=7)
    place = at(bot, GROUP)
    store(says(place, ANN, "@Bear pineapple?", number=100, mentions_bot=True))
    lease, turn = begin(chat_of(place))
    is_in_step = threading.Event()

    def works() -> None:
        try:
            with transaction.atomic():
                commit(lease, turn, ("send_message", {"content": "pineapple, 小明 & Co"}))
                is_in_step.set()
                world.wait_until_somebody_waits()
        finally:
            give_back()

    worker = threading.Thread(target=works)
    worker.start()
    assert is_in_step.wait(10)
    people.forget("10002")
    worker.join(10)
    assert world.places_of(*TRACES) == set()
    assert OutboxEntry.objects.get().state == "discarded"


def test_what_was_asked_again_of_turns_that_knew_the_person_goes(bot: Bot) -> None:
    chat, other = fill(at(bot, GROUP), 1), quiet(at(bot, "group:20002"), 50)
    knew = Turn.objects.filter(chat=chat).earliest("pk")
    stays = Turn.objects.get(chat=other)
    TurnRerun.objects.create(turn=knew, model="m")
    TurnRerun.objects.create(turn=stays, model="m", steps=[{"answer": {"content": "plums"}}])
    store(says(at(bot, "group:20002"), ANN, "watermelon", number=60))
    TurnRerun.objects.create(turn=stays, model="m", persona="A friend of 10002.")
    people.forget("10002")
    assert [rerun.steps for rerun in TurnRerun.objects.all()] == [
        [{"answer": {"content": "plums"}}]
    ]
    Turn.objects.filter(chat=other).delete()
    assert not TurnRerun.objects.exists()
