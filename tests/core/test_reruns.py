"""A turn run again: the model is asked and paid, and nothing of it is done or remembered."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from core import judging, reruns, tasks, turns
from core.database import give_back
from core.models import Chat, ModelCallCount, Turn, TurnRerun
from core.tools import registry
from tests import factories
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model

__all__ = ["script", "scripted_model"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _endpoint(settings: Settings, scripted_model: ScriptedModel) -> None:
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_MODEL_RETRIES = 0


@pytest.fixture
def turn(script: Script) -> Turn:
    """A turn that said one thing, run through the real loop."""
    bot = factories.make_bot(chat_model=script.model, persona="A kind bear.")
    chat = factories.make_chat(bot, turn_due_at=timezone.now())
    factories.make_item(chat, "hello", trigger="mention")
    script.reply(tool_calls=[("send_message", {"content": "as it was said"})])
    script.reply()
    turns.run(chat.pk, "worker:1")
    script.requests.clear()
    return Turn.objects.get()


def ask(turn: Turn, script: Script, **fields: Any) -> TurnRerun:
    return TurnRerun.objects.create(turn=turn, model=script.model, **fields)


def everything() -> dict[str, list[Any]]:
    """All that is stored of our own, but for reruns and what budgets count."""
    labels = ("core", "skills", "botgateway", "stickers")
    models = [model for label in labels for model in apps.get_app_config(label).get_models(True)]
    return {
        model._meta.label: list(model._default_manager.order_by("pk").values())
        for model in models
        if model not in (TurnRerun, ModelCallCount)
    }


def test_it_asks_what_was_asked_and_nothing_is_done(turn: Turn, script: Script) -> None:
    before, calls = everything(), ModelCallCount.objects.get().calls
    script.reply(
        tool_calls=[
            ("send_message", {"content": "something else"}),
            ("poke_send", {"user_id": "30001"}),
        ]
    )
    script.reply(tool_calls=[("edit", {"handle": "m2", "new_content": "better"})])
    script.reply(tool_calls=[("stay_silent", {"reason": "enough"})])
    rerun = ask(turn, script)
    reruns.run(rerun.pk)
    rerun.refresh_from_db()
    assert (rerun.state, rerun.error) == ("done", "")
    results = [result for step in rerun.steps for result in step["results"]]
    assert results[0] == {"ok": True, "handle": "m2"}
    assert results[-1]["ok"] is True
    assert script.requests[0]["messages"] == turn.messages
    assert script.requests[0]["tools"] == turn.tools
    assert len(script.requests[2]["messages"]) == len(turn.messages) + 3 + 2
    assert (rerun.prompt_tokens, rerun.completion_tokens) == (300, 30)
    counted = ModelCallCount.objects.get()
    assert (counted.calls, counted.tokens) == (calls + 3, 330)
    assert everything() == before


def test_what_a_step_wrote_can_be_edited_by_the_next(
    turn: Turn, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds = factories.make_effective("edit", "recall")
    monkeypatch.setattr(judging, "offered", lambda chat: registry.offered(chat, holds))
    Turn.objects.update(tools=registry.schemas(registry.offered(turn.chat, holds)))
    script.reply(tool_calls=[("send_message", {"content": "one"})])
    script.reply(tool_calls=[("edit", {"handle": "m2", "new_content": "two"})])
    script.reply()
    rerun = ask(turn, script)
    before = everything()
    reruns.run(rerun.pk)
    rerun.refresh_from_db()
    assert rerun.steps[1]["results"] == [{"ok": True, "handle": "m2"}]
    assert everything() == before


def test_another_persona_stands_in_the_system_message(turn: Turn, script: Script) -> None:
    script.reply()
    reruns.run(ask(turn, script, persona="A grumpy owl.").pk)
    system, *others = script.requests[0]["messages"]
    assert "A grumpy owl." in system["content"]
    assert "A kind bear." not in system["content"]
    assert others == turn.messages[1:]
    assert Chat.objects.get().persona == "A kind bear."


def test_told_twice_it_is_paid_once(turn: Turn, script: Script) -> None:
    script.reply()
    rerun = ask(turn, script)
    tasks.run_again(rerun.pk)
    tasks.run_again(rerun.pk)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"daily_model_calls": 0}, "budget_spent"),
        ({"paused_at": timezone.now()}, "paused"),
        ({"enabled": False}, "chat_disabled"),
    ],
)
def test_what_may_not_be_paid_is_not_asked(
    turn: Turn, script: Script, fields: dict[str, Any], error: str
) -> None:
    Chat.objects.update(**fields)
    rerun = ask(turn, script)
    reruns.run(rerun.pk)
    rerun.refresh_from_db()
    assert (rerun.state, rerun.error) == ("failed", error)
    assert script.requests == []


def test_a_model_that_goes_on_for_ever_is_stopped(
    turn: Turn, script: Script, settings: Settings
) -> None:
    settings.ARISE_MAX_STEPS = 2
    for _ in range(2):
        script.reply(tool_calls=[("send_message", {"content": "more"})])
    rerun = ask(turn, script)
    reruns.run(rerun.pk)
    rerun.refresh_from_db()
    assert (rerun.error, len(rerun.steps)) == ("step_limit", 2)


def test_an_endpoint_that_fails_is_told(turn: Turn, script: Script) -> None:
    script.reply("no such model", status=404)
    rerun = ask(turn, script)
    reruns.run(rerun.pk)
    rerun.refresh_from_db()
    assert rerun.error == "refused"
    assert "no such model" in rerun.error_detail


def test_what_was_forgotten_meanwhile_stays_forgotten(turn: Turn, script: Script) -> None:
    rerun = ask(turn, script)

    def forget_first(_request: dict[str, Any]) -> Any:
        Turn.objects.all().delete()
        return script_reply

    from tests.fakes.model import assistant, says  # noqa: PLC0415

    script_reply = says(assistant("too late"))
    script.add(forget_first)
    reruns.run(rerun.pk)
    assert not TurnRerun.objects.exists()


def page_of(turn: Turn) -> str:
    return reverse("admin:core_turn_rerun", args=[turn.pk])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What workers were told to run."""
    told: list[int] = []
    monkeypatch.setattr(tasks.run_again, "delay", told.append)
    return told


def test_an_operator_asks_and_compares(
    admin_client: Client, admin_user: User, turn: Turn, script: Script, asked: list[int]
) -> None:
    assert "Run it again" in admin_client.get(page_of(turn)).content.decode()
    form = {"model": script.model, "persona": "A kind bear.\r\n"}
    told = admin_client.post(page_of(turn), form, follow=True).content.decode()
    assert "data-unfinished" in told
    rerun = TurnRerun.objects.get()
    assert asked == [rerun.pk]
    assert (rerun.by, rerun.persona) == (admin_user, "")
    admin_client.post(page_of(turn), form)
    assert asked == [rerun.pk]
    script.reply(tool_calls=[("send_message", {"content": "<b>said otherwise</b>"})])
    script.reply()
    reruns.run(rerun.pk)
    told = admin_client.get(page_of(turn)).content.decode()
    assert "data-unfinished" not in told
    assert told.index("as it was said") < told.index("&lt;b&gt;said otherwise&lt;/b&gt;")


def test_two_clicks_at_once_are_paid_once(
    admin_user: User, turn: Turn, script: Script, asked: list[int]
) -> None:
    barrier = threading.Barrier(4)

    def click(_number: int) -> None:
        client = Client()
        client.force_login(admin_user)
        barrier.wait()
        try:
            assert client.post(page_of(turn), {"model": script.model}).status_code == 302
        finally:
            give_back()

    for _round in range(3):
        with ThreadPoolExecutor(4) as people:
            list(people.map(click, range(4)))
        assert TurnRerun.objects.count() == 1
        TurnRerun.objects.all().delete()
    assert len(asked) == 3


def test_one_whose_worker_died_is_shown_as_lost_and_can_be_asked_again(
    admin_client: Client, turn: Turn, script: Script, asked: list[int]
) -> None:
    rerun = ask(turn, script, state="running")
    past = timezone.now() - reruns.longest() - timedelta(seconds=1)
    TurnRerun.objects.update(created_at=past)
    told = admin_client.get(page_of(turn)).content.decode()
    assert "Its worker died in it" in told
    assert "data-unfinished" not in told
    admin_client.post(page_of(turn), {"model": script.model})
    assert asked == [rerun.pk + 1]


def test_who_may_not_change_chats_only_looks(client: Client, turn: Turn, asked: list[int]) -> None:
    person = User.objects.create(username="viewer", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client.force_login(person)
    assert client.get(page_of(turn)).status_code == 200
    assert client.post(page_of(turn), {"model": "x"}).status_code == 403
    assert asked == []


def test_a_broker_that_is_gone_is_told(
    admin_client: Client, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_key: int) -> None:
        raise OSError("no broker")

    monkeypatch.setattr(tasks.run_again, "delay", gone)
    told = admin_client.post(page_of(turn), {"model": "x"}, follow=True).content.decode()
    assert "No worker could be told of it." in told
    assert TurnRerun.objects.get().state == "failed"
