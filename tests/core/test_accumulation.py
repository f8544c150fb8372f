"""When a chat is due: a burst once, a mention never kept waiting by a busy group."""

from datetime import UTC, datetime, timedelta

from core.accumulation import Gathering, Waits, extend

START = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
WAITS = Waits(debounce=1.5, debounce_max=5, ambient=10)
NOTHING = Gathering(None, None, ())


def after(state: Gathering, seconds: float, sender: str, *, addresses_bot: bool) -> Gathering:
    now = START + timedelta(seconds=seconds)
    return extend(state, sender_id=sender, addresses_bot=addresses_bot, now=now, waits=WAITS)


def due(state: Gathering) -> float:
    assert state.due_at is not None
    return (state.due_at - START).total_seconds()


def test_an_addressed_message_is_due_after_the_debounce() -> None:
    assert due(after(NOTHING, 0, "ann", addresses_bot=True)) == 1.5


def test_further_words_of_whoever_addressed_the_bot_extend_the_wait() -> None:
    state = after(NOTHING, 0, "ann", addresses_bot=True)
    assert due(after(state, 1, "ann", addresses_bot=False)) == 2.5


def test_words_of_others_do_not_extend_the_wait() -> None:
    state = after(NOTHING, 0, "ann", addresses_bot=True)
    assert due(after(state, 1, "bob", addresses_bot=False)) == 1.5


def test_the_wait_ends_five_seconds_after_the_first_addressed_message() -> None:
    state = after(NOTHING, 0, "ann", addresses_bot=True)
    for second in range(1, 6):
        state = after(state, second, "ann", addresses_bot=True)
    assert due(state) == 5


def test_a_second_addresser_counts_from_the_first_one() -> None:
    state = after(NOTHING, 0, "ann", addresses_bot=True)
    state = after(state, 4, "bob", addresses_bot=True)
    assert due(state) == 5
    assert state.addressed_by == ("ann", "bob")


def test_words_that_address_nobody_are_judged_together_later() -> None:
    state = after(NOTHING, 0, "ann", addresses_bot=False)
    state = after(state, 3, "bob", addresses_bot=False)
    assert due(state) == 10
    assert state.addressed_at is None


def test_a_mention_brings_forward_a_chat_that_was_to_be_judged_later() -> None:
    state = after(NOTHING, 0, "ann", addresses_bot=False)
    assert due(after(state, 1, "bob", addresses_bot=True)) == 2.5
