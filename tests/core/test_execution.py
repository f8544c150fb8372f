"""A tool call that fails takes back what it wrote, and the step goes on."""

from typing import Any

import pytest

from core.errors import ToolRefusal
from core.models import Member
from core.tools import execution
from core.tools.registry import Arguments, Tool, ToolContext, ToolResult
from tests.factories import make_chat, make_member, make_turn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("failure", "error"),
    [(ToolRefusal("not_now", "Later."), "not_now"), (KeyError("x"), "internal_error")],
)
def test_what_a_failed_call_wrote_is_taken_back(failure: Exception, error: str) -> None:
    def writes_and_fails(context: ToolContext, _: Any) -> ToolResult:
        make_member(context.chat)
        raise failure

    tool = Tool("odd", "An odd tool.", Arguments, writes_and_fails)
    chat = make_chat()
    place = ToolContext(chat=chat, turn=make_turn(chat), step_index=0, call_index=0)
    result = execution.execute({"odd": tool}, place, name="odd", arguments="{}")
    assert (result.values["ok"], result.values["error"]) == (False, error)
    assert not Member.objects.exists()
