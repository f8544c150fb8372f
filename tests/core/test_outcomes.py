"""What became of the bot's own words is told to its model once, where it does not know it."""

import pytest

from core import outcomes, sending
from core.models import Chat, OutboxEntry
from tests.factories import make_chat, make_entry, make_sent

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return make_chat()


def told(chat: Chat) -> str:
    """What the next request tells; it is told now."""
    entries = outcomes.untold(chat)
    outcomes.mark_told(entries)
    return outcomes.lines(entries)


@pytest.mark.parametrize("state", ["failed", "unknown", "discarded", "recalled"])
def test_what_ended_badly_is_told_once(chat: Chat, state: str) -> None:
    make_sent(chat, state=state, handle="m2", entry={"reason": "why"})
    assert told(chat) == f'<outcome handle="m2" state="{state}" reason="why"/>'
    assert told(chat) == ""


@pytest.mark.parametrize("state", ["pending", "sending", "sent"])
def test_what_goes_well_is_not_told(chat: Chat, state: str) -> None:
    make_sent(chat, state=state)
    assert told(chat) == ""


@pytest.mark.parametrize("settled", ["sent", "failed"])
def test_what_was_told_as_unknown_is_told_again_once_it_is_known(chat: Chat, settled: str) -> None:
    entry = make_sent(chat, state="unknown", handle="m1").entry
    assert 'state="unknown"' in told(chat)
    OutboxEntry.objects.filter(pk=entry.pk if entry else 0).update(state=settled)
    assert f'state="{settled}"' in told(chat)
    assert told(chat) == ""


def test_what_changes_while_it_is_told_is_told_again(chat: Chat) -> None:
    make_sent(chat, state="unknown")
    entries = outcomes.untold(chat)
    OutboxEntry.objects.update(state="failed")
    outcomes.mark_told(entries)
    assert 'state="failed"' in told(chat)


def test_a_recall_and_an_edit_that_failed_are_told_as_what_the_model_asked_for(chat: Chat) -> None:
    for handle in ("m1", "m2"):
        message = make_sent(chat, handle=handle)
        recall = make_entry(
            message, action="recall", target=message.entry, state="failed", reason="recall_refused"
        )
        if handle == "m2":
            make_entry(
                message, waits_for=recall, state="discarded", told_state="discarded", content="new"
            )
    assert told(chat).splitlines() == [
        '<outcome handle="m1" action="recall" state="failed" reason="recall_refused"/>',
        '<outcome handle="m2" action="edit" state="failed" reason="recall_refused"/>',
    ]


def test_an_edit_whose_recall_was_in_doubt_and_done_before_anything_was_told_tells_that_it_is_gone(
    chat: Chat,
) -> None:
    message = make_sent(chat, handle="m1")
    recall = make_entry(message, action="recall", target=message.entry, state="sending")
    make_entry(message, waits_for=recall, content="new")
    sending.mark_unknown(recall.pk, reason="no_answer")
    sending.confirm(recall.pk)
    assert told(chat) == '<outcome handle="m1" state="recalled"/>'


def test_an_edit_whose_recall_is_known_too_late_is_told_as_the_recall_that_it_became(
    chat: Chat,
) -> None:
    message = make_sent(chat, handle="m1")
    recall = make_entry(message, action="recall", target=message.entry, state="unknown")
    make_entry(message, waits_for=recall, state="discarded", told_state="discarded", content="new")
    assert told(chat) == '<outcome handle="m1" action="edit" state="unknown"/>'
    sending.confirm(recall.pk)
    assert told(chat) == '<outcome handle="m1" action="recall" state="sent"/>'


def test_one_chat_is_not_told_of_another(chat: Chat) -> None:
    make_sent(state="failed")
    assert told(chat) == ""
