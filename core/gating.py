"""The gate: whether what a chat gathered deserves a turn. Pure, and decided before money is spent."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.models import Decision, InboundItem

ANSWER = Decision.Verdict.ANSWER
SKIP = Decision.Verdict.SKIP


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is the trigger where the verdict is to answer, else why not."""

    verdict: str
    reason: str


def decide(items: Sequence[InboundItem]) -> Verdict:
    """Judge gathered items by what they are; whether an answer may be paid is asked after this."""
    asked = [item for item in items if item.trigger]
    standing = [item for item in asked if item.recalled_at is None]
    addressed = [item for item in standing if not item.is_old]
    if addressed:
        return Verdict(ANSWER, addressed[0].trigger)
    if standing:
        return Verdict(SKIP, "replayed")
    if asked:
        return Verdict(SKIP, "recalled")
    return Verdict(SKIP, "not_addressed")
