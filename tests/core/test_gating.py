"""The gate: whom it answers, and the reason it gives."""

import pytest

from core import gating
from core.models import InboundItem


def item(trigger: str = "", *, is_old: bool = False) -> InboundItem:
    return InboundItem(trigger=trigger, is_old=is_old)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([item("mention")], ("answer", "mention")),
        ([item(), item("quote"), item("mention")], ("answer", "quote")),
        ([item("private")], ("answer", "private")),
        ([item(), item()], ("skip", "not_addressed")),
        ([item("mention", is_old=True)], ("skip", "replayed")),
        ([item("mention", is_old=True), item("mention")], ("answer", "mention")),
    ],
)
def test_the_gate_answers_only_what_is_meant_for_the_bot_now(
    items: list[InboundItem], expected: tuple[str, str]
) -> None:
    verdict = gating.decide(items)
    assert (verdict.verdict, verdict.reason) == expected
