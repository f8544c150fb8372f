"""Skills in a whole turn: a model that asks for one, and what stands in its next request."""

import json
from typing import Any

import pytest
from django.utils import timezone

from core import turns
from core.llm import client
from core.models import Turn
from skills.models import Skill, SkillReads
from tests.factories import make_bot, make_chat, make_item, make_skill
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model

__all__ = ["script", "scripted_model"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def turn_of(scripted_model: ScriptedModel, script: Script, settings: Any) -> Any:
    """Run one turn of a chat that was mentioned, and give its row."""
    settings.ARISE_DEMO_MODEL = False
    settings.ARISE_MODEL_BASE_URL = scripted_model.url

    def run() -> Turn:
        chat = make_chat(make_bot(chat_model=script.model), turn_due_at=timezone.now())
        make_item(chat, "How is poker played?", trigger="mention")
        turns.run(chat.pk, "worker:1")
        return Turn.objects.get(chat=chat)

    return run


def test_the_model_reads_a_skill_and_answers_with_it(script: Script, turn_of: Any) -> None:
    make_skill("poker", "# Rules\nFirst deal.")
    script.reply(tool_calls=[("inject_skills", {"names": ["poker"], "level": "full"})])
    script.reply(tool_calls=[("send_message", {"content": "First deal."})])
    script.reply()
    turn = turn_of()
    assert (turn.state, turn.sends) == ("done", 1)
    first, second, _ = script.requests
    assert "inject_skills" in [tool["function"]["name"] for tool in first["tools"]]
    told = json.loads(second["messages"][-1]["content"])
    assert told["ok"] is True
    assert "First deal." in told["skills"][0]["content"]
    reads = SkillReads.objects.get()
    assert (reads.chat, reads.level, reads.times) == (turn.chat, "full", 1)


def test_a_chat_without_skills_is_not_offered_the_tool(script: Script, turn_of: Any) -> None:
    make_skill(enabled=False)
    script.reply(tool_calls=[("stay_silent", {"reason": "nothing"})])
    turn_of()
    offered = [tool["function"]["name"] for tool in script.requests[0]["tools"]]
    assert "inject_skills" not in offered


def test_a_skill_that_goes_away_under_a_turn_ends_no_turn(
    script: Script, turn_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_skill("poker")

    real = client.complete

    def complete(**given: Any) -> client.Answer:
        Skill.objects.update(enabled=False)
        return real(**given)

    monkeypatch.setattr(client, "complete", complete)
    script.reply(tool_calls=[("inject_skills", {"names": ["poker"], "level": "full"})])
    script.reply(tool_calls=[("stay_silent", {"reason": "nothing"})])
    assert turn_of().state == "silent"
    told = json.loads(script.requests[1]["messages"][-1]["content"])
    assert (told["ok"], told["error"]) == (False, "capability_off")


def test_the_model_is_shown_the_index_of_its_skills(script: Script, turn_of: Any) -> None:
    make_skill("poker", "SECRET-BODY", description="How poker is played.")
    script.reply(tool_calls=[("stay_silent", {"reason": "nothing"})])
    turn_of()
    system = script.requests[0]["messages"][0]["content"]
    assert "How poker is played." in system
    assert "SECRET-BODY" not in str(script.requests[0])
