"""An operator looks into a turn: copies what it asked, and asks it again."""

import pytest
from django.urls import reverse

from core import tasks
from core.models import Turn, TurnRerun
from tests import factories
from tests.browser.conftest import PHONE, Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def turn() -> Turn:
    turn = factories.make_turn(messages=[{"role": "user", "content": "w" * 300}], steps=1)
    factories.make_call(factories.make_step(turn))
    return turn


def test_a_request_is_copied_or_stands_there_to_be_copied(operator: Browser, turn: Turn) -> None:
    operator.open(reverse("admin:core_turn_change", args=[turn.pk]))
    link = operator.find("[data-copy]")
    operator.chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
    link.click()
    operator.find("[data-copied]:not(:empty), [data-text]:not([hidden])")
    value = "return document.querySelector('[data-text]').value"
    assert str(operator.chrome.execute_script(value)).startswith("curl -sS ")
    assert operator.complaints() == []


def test_it_is_run_again_and_the_page_waits_for_it(
    operator: Browser, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks.run_again, "delay", lambda _key: None)
    operator.open(reverse("admin:core_turn_rerun", args=[turn.pk]))
    operator.find("[name=model]").send_keys("-2")
    operator.button("Run it again").click()
    operator.find("[data-unfinished]")
    assert TurnRerun.objects.get().model == "test-model-2"
    answer = {"role": "assistant", "content": "hoo " + "w" * 300}
    step = {"answer": answer, "results": [], "seconds": 1}
    counts = {"prompt_tokens": 1, "completion_tokens": 1}
    TurnRerun.objects.update(state="done", steps=[step | counts], ended_at=turn.ended_at)
    assert operator.sees("hoo www")
    assert operator.complaints() == []


@pytest.mark.parametrize("page", ["change", "rerun"])
def test_its_pages_fit_a_phone(operator: Browser, turn: Turn, page: str) -> None:
    operator.resize(PHONE)
    operator.open(reverse(f"admin:core_turn_{page}", args=[turn.pk]))
    operator.sees(str(turn.pk))
    assert not operator.is_too_wide()
