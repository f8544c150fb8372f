"""A turn's page: everything in order, whatever the model and the endpoint put there."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.admin import turn_story, turn_time
from core.media import references
from core.models import Turn, TurnStep
from tests import factories

pytestmark = pytest.mark.django_db


def page(client: Client, turn: Turn) -> str:
    return client.get(reverse("admin:core_turn_change", args=[turn.pk])).content.decode()


def make_full(steps: int = 1) -> Turn:
    chat = factories.make_chat(title="Book club")
    item = factories.make_item(chat, "what woke it", trigger="mention")
    turn = factories.make_turn(
        chat,
        first_item_id=item.pk,
        last_item_id=item.pk,
        messages=[{"role": "system", "content": "the exact persona"}],
        tools=[{"type": "function", "function": {"name": "a_tool"}}],
        prompt_tokens=1234,
        completion_tokens=56,
    )
    factories.make_decision([item], turn=turn, reason="mention")
    for index in range(steps):
        said = factories.make_sent(chat, f"said {index}", turn=turn, handle=f"m{index}")
        step = factories.make_step(turn, index, retries=2, model_seconds=1.5)
        factories.make_call(
            step,
            arguments=f'{{"content": "said {index}"}}',
            result={"ok": True, "handle": said.handle},
        )
    return turn


def test_it_tells_the_turn_from_beginning_to_end(admin_client: Client) -> None:
    told = page(admin_client, make_full())
    order = [
        "Book club",
        "1234 / 56",
        "what woke it",
        "answer",
        "the exact persona",
        "a_tool",
        "2 retries",
        "send_message",
        "&quot;handle&quot;: &quot;m0&quot;",
        "How it ended",
        "said 0",
    ]
    places = [told.index(words, told.index("arise-page")) for words in order[:2]]
    at = places[-1]
    for words in order[2:]:
        at = told.index(words, at)


def test_plain_text_is_marked_as_not_sent(admin_client: Client) -> None:
    turn = factories.make_turn()
    factories.make_step(turn, answer={"role": "assistant", "content": "only thinking"})
    told = page(admin_client, turn)
    assert told.index("not sent") < told.index("only thinking")


def test_a_refused_call_tells_why(admin_client: Client) -> None:
    turn = factories.make_turn()
    result = {"ok": False, "error": "bad_arguments", "message": "not JSON"}
    factories.make_call(factories.make_step(turn), arguments='{"content": ', result=result)
    told = page(admin_client, turn)
    assert "refused" in told
    assert "bad_arguments" in told


def test_silence_and_failure_tell_their_reason(admin_client: Client) -> None:
    silent = factories.make_turn(state="silent", silence_reason="nothing to add")
    failed = factories.make_turn(state="failed", error="rate_limited", error_detail="429: quota")
    assert "nothing to add" in page(admin_client, silent)
    assert "429: quota" in page(admin_client, failed)


def test_it_needs_as_many_queries_for_eight_steps_as_for_one(admin_client: Client) -> None:
    def queries(turn: Turn) -> int:
        with CaptureQueriesContext(connection) as seen:
            page(admin_client, turn)
        return len(seen)

    short, long = make_full(1), make_full(8)
    page(admin_client, short)
    assert queries(long) == queries(short)


@pytest.mark.parametrize("odd", ["text", None, 7, [], {"role": "user"}, {"role": 1, "content": 2}])
def test_odd_messages_do_not_break_it(admin_client: Client, odd: Any) -> None:
    turn = factories.make_turn(messages=[odd], tools=[odd])
    factories.make_step(turn, messages_added=[odd], answer=odd if isinstance(odd, dict) else {})
    assert "How it ended" in page(admin_client, turn)


def test_deep_arguments_do_not_break_it(admin_client: Client) -> None:
    turn = factories.make_turn()
    factories.make_call(factories.make_step(turn), arguments="[" * 100_000)
    assert "How it ended" in page(admin_client, turn)


def test_half_a_character_in_arguments_does_not_break_it(admin_client: Client) -> None:
    turn = factories.make_turn()
    factories.make_call(factories.make_step(turn), arguments=r'{"content": "oh \ud83d"}')
    assert "oh \ufffd" in page(admin_client, turn)


def test_a_picture_is_named_not_shown() -> None:
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    text = turn_story.text_of(content)
    assert len(text) < 200
    assert "9022 characters" in text
    assert "https://example.org/a.png" in text


def test_a_stored_picture_is_told_by_its_name_and_its_reference(admin_client: Client) -> None:
    content = [
        {"type": "text", "text": "the words of the chat"},
        {"type": "text", "text": '[图片 1] in <message id="7">:'},
        references.part("a" * 64),
    ]
    told = page(admin_client, factories.make_turn(messages=[{"role": "user", "content": content}]))
    assert "the words of the chat" in told
    assert "[图片 1] in &lt;message id=&quot;7&quot;&gt;:" in told
    assert f"[image media:{'a' * 64}]" in told


def test_an_unknown_turn_is_not_found(admin_client: Client) -> None:
    for number in ("999", "x", "9" * 30):
        url = reverse("admin:core_turn_change", args=[number])
        assert admin_client.get(url).status_code == 404


def test_a_decision_to_skip_is_told_as_a_turn_is(admin_client: Client) -> None:
    item = factories.make_item(text="hello <b>you</b>")
    decision = factories.make_decision([item], "skip", reason="muted")
    url = reverse("admin:core_decision_change", args=[decision.pk])
    told = admin_client.get(url).content.decode()
    at = told.index("hello &lt;b&gt;you&lt;/b&gt;")
    for words in ("What the gate decided", "skip", "The bot was muted", "can lift it"):
        at = told.index(words, at)


def test_a_decision_to_answer_leads_to_its_turn(admin_client: Client) -> None:
    turn = make_full()
    url = reverse("admin:core_decision_change", args=[turn.decision.pk])
    told = admin_client.get(url).content.decode()
    assert f"Its turn #{turn.pk}, step by step" in told
    assert reverse("admin:core_turn_change", args=[turn.pk]) in told


def test_it_tells_where_the_time_went() -> None:
    began = timezone.now()
    chat = factories.make_chat()

    def at(seconds: float) -> datetime:
        return began + timedelta(seconds=seconds)

    first = factories.make_item(chat, trigger="mention", received_at=began)
    last = factories.make_item(chat, received_at=at(1))
    turn = factories.make_turn(
        chat, first_item_id=first.pk, last_item_id=last.pk, started_at=at(3), ended_at=at(9)
    )
    for index, start in enumerate((3, 6)):
        step = factories.make_step(turn, index, started_at=at(start), model_seconds=2)
        TurnStep.objects.filter(pk=step.pk).update(committed_at=at(start + 2.5))
    factories.make_sent(chat, turn=turn, entry={"settled_at": at(10)})
    spans = turn_story.tell(turn).spans
    told = [(span.kind, round(span.seconds, 1)) for span in spans]
    assert told == [
        ("gathering", 1),
        ("waiting", 2),
        ("between", 0),
        ("model", 2),
        ("between", 0.5),
        ("between", 0.5),
        ("model", 2),
        ("between", 0.5),
        ("sending", 1.5),
    ]
    assert all(span.width >= 0 for span in spans)
    assert sum(span.width for span in spans) <= turn_time.WIDTH


def test_what_was_held_is_a_stretch_of_its_own() -> None:
    began = timezone.now()

    def at(seconds: float) -> datetime:
        return began + timedelta(seconds=seconds)

    turn = factories.make_turn(started_at=began)
    step = factories.make_step(turn, started_at=began, model_seconds=2)
    TurnStep.objects.filter(pk=step.pk).update(committed_at=at(2))
    for entry in (
        {"approved_at": at(60), "released_at": at(90)},
        {"approved_at": at(70)},
        {"approved_at": at(2), "by_hand": True},
    ):
        fields = {"due_at": at(4), "settled_at": at(91), **entry}
        factories.make_sent(turn.chat, turn=turn, entry=fields)
    told = [(span.name, round(span.seconds)) for span in turn_story.tell(turn).spans]
    assert told[-3:] == [
        ("waiting for review", 56),
        ("held while it might not speak", 30),
        ("typing and sending", 3),
    ]


def test_a_turn_without_steps_has_no_bar() -> None:
    turn = factories.make_turn(state="failed")
    assert turn_story.tell(turn).spans == []
