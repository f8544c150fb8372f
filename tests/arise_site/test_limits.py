"""A limited person sees and does nothing outside his bots and chats: over every page there is.

The person has every right there is, so that it is the limit alone that holds him back. A page or an
address that is in none of the tables here fails `test_everything_is_in_the_tables`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import helpers
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone

from arise_site import dashboard, figures, urls
from botgateway.models import Connection, RefusedConnection
from core import by_hand, chatsettings, tasks
from core.admin import reached
from core.media import references, store
from core.media.pictures import View
from core.models import (
    Bot,
    Chat,
    Decision,
    InboundItem,
    ItemMedia,
    Member,
    ModelCallCount,
    OutboxEntry,
    PersonLimit,
    SentMessage,
    Turn,
)
from skills.models import Skill, SkillReads
from stickers.admin.acting import ACTS
from stickers.models import FunnelCount, OpenSighting, Sticker
from tests import factories
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db

OUTSIDE, INSIDE = "outsidewords", "insidewords"
OF_CHATS = (
    LogEntry,
    Member,
    InboundItem,
    Decision,
    Turn,
    SentMessage,
    OutboxEntry,
    Chat,
    Skill,
    Sticker,
)
OF_BOTS = (Bot, Connection, RefusedConnection)
SHOWN = (*OF_CHATS, *OF_BOTS)
"""Pages on which a limited person sees something."""

OF_THE_SITE = {"auth.user", "auth.group", "core.personlimit"}
"""Pages that are for unlimited people alone."""

OF_EVERY_PAGE = {"changelist", "add", "history", "delete", "change"}
REDIRECTS = {None}
"""Django's redirect from `…/7/` to `…/7/change/`, the site's catch-all; the icon, the first address
and the probes outside of the console, which show no rows."""

WITHOUT_ROWS = {
    "login",
    "logout",
    "password_change",
    "password_change_done",
    "jsi18n",
    "view_on_site",
    "preferences",
    "second_factor",
    "second_factor_ask",
    "second_factor_set_up",
}
TOLD_APART = {"index", "overview", "app_list", "search", "autocomplete"}
"""Pages of the site that show rows or names of pages; each has a test here."""

CUSTOM = {
    "core_chat_conversation",
    "core_chat_picture",
    "core_turn_curl",
    "core_turn_picture",
    "core_turn_rerun",
    "core_chat_forget",
    "core_member_forget",
    "core_bot_pause",
    "core_bot_playground",
    "core_bot_playground_forget",
    "core_bot_playground_state",
    "core_chat_pause",
    "core_outboxentry_confirm",
    "core_outboxentry_decide",
    "core_outboxentry_edit",
    "core_outboxentry_review",
    "core_outboxentry_settle",
    "skills_skill_import",
    "skills_skill_versions",
    "stickers_sticker_act",
    "stickers_sticker_funnel",
    "stickers_sticker_picture",
    "stickers_sticker_still",
    "stickers_sticker_tray",
    "stickers_sticker_tray_still",
    "stickers_sticker_try",
    "stickers_sticker_upload",
    "auth_user_password_change",
}
"""Addresses that a page adds to Django's own; each has a test here."""


@dataclass
class Side:
    """One chat with a row of everything that belongs to it or to its bot."""

    chat: Chat
    rows: dict[type[Model], Model] = field(default_factory=dict)


def make_side(bot: Bot, words: str) -> Side:
    chat = factories.make_chat(bot, title=words, turn_due_at=timezone.now())
    item = factories.make_item(chat, words, sender_name=words)
    turn = factories.make_turn(
        chat, first_item_id=item.pk, last_item_id=item.pk, error=words, state="failed"
    )
    message = factories.make_sent(
        chat, words, state="unknown", turn=turn, entry={"error": words, "reason": words}
    )
    skill = factories.make_skill(f"{words} {chat.pk}", words, description=words)
    skill.for_all_chats = False
    skill.save(update_fields=["for_all_chats"])
    skill.chats.add(chat)
    assert message.entry
    side = Side(chat)
    rows: tuple[Model, ...] = (
        bot,
        chat,
        factories.make_member(chat, name=words),
        item,
        turn,
        factories.make_decision([item], turn=turn, reason=words),
        message,
        message.entry,
        skill,
        shown(chat, words, state="review", use_when=words, words=words, moods=[words]),
        factories.make_connection(bot, nickname=words, implementation=words),
        factories.make_refusal(self_id=bot.self_id, user_agent=words, remote_address=words),
    )
    side.rows = {type(row): row for row in rows}
    return side


@dataclass
class World:
    person: User
    client: Client
    inside: Side
    outside: Side
    by: str

    def sees(self, model: type[Model]) -> bool:
        """Whether the person sees the inside row: a bot's own rows need the whole bot."""
        return self.by == "bot" or model not in OF_BOTS


@pytest.fixture(params=["bot", "chat"])
def world(request: pytest.FixtureRequest) -> World:
    """A person who is limited to a bot (the outside: another one) or to one chat of a bot (the
    outside: another chat of the same bot)."""
    bot = factories.make_bot(name=INSIDE)
    other = factories.make_bot(name=OUTSIDE) if request.param == "bot" else bot
    inside = make_side(bot, INSIDE)
    outside = make_side(other, OUTSIDE)
    LogEntry.objects.all().delete()
    for side in (inside, outside):
        chatsettings.apply(side.chat, chatsettings.Change({"patience_seconds": 77}, {}))
        side.rows[LogEntry] = LogEntry.objects.latest("pk")
    person = User.objects.create(username="limited", is_staff=True)
    person.user_permissions.set(Permission.objects.all())
    limit = PersonLimit.objects.create(person=person)
    if request.param == "bot":
        limit.bots.add(bot)
    else:
        limit.chats.add(inside.chat)
    client = Client()
    client.force_login(person)
    return World(person, client, inside, outside, request.param)


def name(model: type[Model]) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"


def list_of(model: type[Model]) -> str:
    return reverse(f"admin:{name(model)}_changelist")


def address(row: Model, act: str = "change") -> str:
    return reverse(f"admin:{name(type(row))}_{act}", args=[row.pk])


def everything() -> dict[str, list[Any]]:
    """All rows of our own apps, to see that nothing was changed."""
    kept = ("core", "skills", "botgateway", "stickers")
    models = [model for label in kept for model in apps.get_app_config(label).get_models(True)]
    return {
        model._meta.label: list(model._default_manager.order_by("pk").values()) for model in models
    }


def addresses(found: list[Any]) -> Iterator[URLPattern]:
    for each in found:
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns)
        else:
            yield each


def test_everything_is_in_the_tables() -> None:
    registered = {model._meta.label_lower for model in admin.site._registry}
    assert registered == {model._meta.label_lower for model in SHOWN} | OF_THE_SITE
    of_pages = {f"{name(model)}_{act}" for model in admin.site._registry for act in OF_EVERY_PAGE}
    known = of_pages | WITHOUT_ROWS | TOLD_APART | CUSTOM | REDIRECTS
    assert {pattern.name for pattern in addresses(urls.urlpatterns)} == known


@pytest.mark.parametrize("model", SHOWN, ids=name)
def test_a_list_has_what_is_inside_alone(world: World, model: type[Model]) -> None:
    page = world.client.get(list_of(model))
    content = page.content.decode()
    assert OUTSIDE not in content
    rows = set(page.context["cl"].queryset)
    assert rows == ({world.inside.rows[model]} if world.sees(model) else set())


@pytest.mark.parametrize("model", SHOWN, ids=name)
def test_no_parameter_leads_outside(world: World, model: type[Model]) -> None:
    outside = world.outside
    for parameter, value in {
        "id__exact": outside.rows[model].pk,
        "q": OUTSIDE,
        "chat": outside.chat.pk,
        "bot__id__exact": outside.chat.bot_id,
        "chat__bot__id__exact": outside.chat.bot_id,
    }.items():
        page = world.client.get(list_of(model), {parameter: value})
        if page.status_code in {302, 400}:  # no parameter of this page
            continue
        assert page.status_code == 200
        # What was searched for stands in the field and in the links to other filters.
        content = page.content.decode()
        for echo in (f'value="{OUTSIDE}"', f"q={OUTSIDE}"):
            content = content.replace(echo, "")
        assert OUTSIDE not in content, parameter
        rows = page.context["cl"].queryset
        assert set(rows) <= {world.inside.rows[model]}, parameter


@pytest.mark.parametrize("model", SHOWN, ids=name)
def test_a_row_outside_is_not_there(world: World, model: type[Model]) -> None:
    row = world.outside.rows[model]
    if row == world.inside.rows[model] and world.sees(model):
        return
    before = everything()
    for act in ("change", "history", "delete"):
        assert world.client.get(address(row, act)).status_code == 404
        assert world.client.post(address(row, act), {"post": "yes"}).status_code == 404
    assert everything() == before


@pytest.mark.parametrize("model", SHOWN, ids=name)
def test_the_page_of_a_row_inside_tells_nothing_of_the_outside(
    world: World, model: type[Model]
) -> None:
    row = world.inside.rows[model]
    for act in ("change", "history"):
        page = world.client.get(address(row, act))
        assert page.status_code == (200 if world.sees(model) else 404)
        assert OUTSIDE not in page.content.decode()


@pytest.mark.parametrize("model", SHOWN, ids=name)
def test_no_act_reaches_the_outside(world: World, model: type[Model]) -> None:
    request = RequestFactory().get("/")
    request.user = world.person
    page = admin.site.get_model_admin(model)
    acts = [*page.get_actions(request), "delete_selected"]
    row = world.outside.rows[model]
    if row == world.inside.rows[model] and world.sees(model):
        return
    before = everything()
    for act in acts:
        chosen = {"action": act, helpers.ACTION_CHECKBOX_NAME: [row.pk], "post": "yes"}
        world.client.post(list_of(model), {**chosen, "index": 0})
        assert everything() == before, act


@pytest.mark.parametrize("model", SHOWN, ids=name)
def test_an_act_on_all_rows_is_one_on_those_inside(world: World, model: type[Model]) -> None:
    request = RequestFactory().get("/")
    request.user = world.person
    acts = list(admin.site.get_model_admin(model).get_actions(request))
    row = world.outside.rows[model]
    if row == world.inside.rows[model]:
        return
    before = model._default_manager.filter(pk=row.pk).values().get()
    for act in acts:
        chosen = {"action": act, helpers.ACTION_CHECKBOX_NAME: [row.pk], "select_across": "1"}
        world.client.post(list_of(model), {**chosen, "index": 0, "post": "yes"})
        assert model._default_manager.filter(pk=row.pk).values().get() == before, act


@pytest.mark.parametrize("model", [Bot, Chat, Skill], ids=name)
def test_no_switch_in_a_list_reaches_the_outside(world: World, model: type[Model]) -> None:
    row = world.outside.rows[model]
    if row == world.inside.rows[model] and world.sees(model):
        return
    before = everything()
    form = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": row.pk, "_save": "Save"}
    world.client.post(list_of(model), form)
    assert everything() == before


@pytest.mark.parametrize("model", SHOWN, ids=name)
def test_nothing_is_added_by_a_limited_person(world: World, model: type[Model]) -> None:
    url = reverse(f"admin:{name(model)}_add")
    assert world.client.get(url).status_code == 403
    assert world.client.post(url, {}).status_code == 403


def choosing() -> list[tuple[type[Model], str]]:
    pages = admin.site._registry.items()
    return [(model, name) for model, page in pages for name in page.autocomplete_fields]


@pytest.mark.parametrize(("model", "chosen"), choosing(), ids=str)
def test_nothing_outside_is_offered(world: World, model: type[Model], chosen: str) -> None:
    label, model_name = model._meta.label_lower.split(".")
    asked = {"app_label": label, "model_name": model_name, "field_name": chosen, "term": ""}
    answer = world.client.get(reverse("admin:autocomplete"), asked)
    if answer.status_code == 200:
        offered = {found["id"] for found in answer.json()["results"]}
        inside = world.inside.rows
        known = [Bot] if world.by == "bot" else []
        assert offered <= {str(inside[each].pk) for each in (Chat, *known)}
    else:
        assert answer.status_code == 403


def test_a_form_takes_no_key_of_the_outside(world: World) -> None:
    request = RequestFactory().get("/")
    request.user = world.person
    page = admin.site.get_model_admin(Skill)
    chats = page.get_field_queryset(None, Skill._meta.get_field("chats"), request)
    assert list(chats or ()) == [world.inside.chat]
    bots = page.get_field_queryset(None, Skill._meta.get_field("bots"), request)
    assert list(bots if bots is not None else [0]) == (
        [world.inside.chat.bot] if world.by == "bot" else []
    )


@pytest.mark.parametrize("label", sorted(OF_THE_SITE))
def test_pages_of_the_site_are_for_unlimited_people(world: World, label: str) -> None:
    model = apps.get_model(label)
    assert world.client.get(list_of(model)).status_code == 403
    assert world.client.get(reverse(f"admin:{name(model)}_add")).status_code == 403
    row = model._default_manager.first() or world.person
    if isinstance(row, model):
        for act in ("change", "history", "delete"):
            assert world.client.get(address(row, act)).status_code in {403, 404}
            assert world.client.post(address(row, act), {"post": "yes"}).status_code in {403, 404}
        assert model._default_manager.filter(pk=row.pk).exists()


def test_a_limited_person_sets_nobody_elses_password(world: World) -> None:
    other = User.objects.create_user("other", password="before")
    url = reverse("admin:auth_user_password_change", args=[other.pk])
    form = {"password1": "Quite-another-1", "password2": "Quite-another-1"}
    assert world.client.get(url).status_code in {403, 404}
    assert world.client.post(url, form).status_code in {403, 404}
    other.refresh_from_db()
    assert other.check_password("before")


def test_pages_of_the_whole_site_name_nothing_outside(world: World) -> None:
    for url, asked in (
        (reverse("admin:index"), {}),
        (reverse("overview"), {}),
        (reverse("admin:app_list", args=["core"]), {}),
        (reverse("admin:search"), {"s": OUTSIDE}),
        (reverse("admin:search"), {"s": OUTSIDE, "extended": "1"}),
    ):
        page = world.client.get(url, asked)
        assert page.status_code == 200
        assert OUTSIDE not in page.content.decode()
        assert reverse("admin:auth_user_changelist") not in page.content.decode()


def test_the_landing_page_counts_the_inside_alone(world: World) -> None:
    request = RequestFactory().get("/")
    request.user = world.person
    shown = dashboard.overview(request, {})
    within = figures.Within(world.person)
    assert sorted(line.count for line in shown["waiting"]) == [0, 0, 0, 0, 0, 1, 1, 1]
    traffic = figures.traffic(within)
    assert (traffic.received, traffic.sent) == (1, 0)
    assert figures.failed(within) == figures.Failed({"failed": 1}, {"unknown": 1})
    (line,) = shown["bots"]
    assert line.bot == world.inside.chat.bot
    assert bool(line.url) == bool(line.implementations) == (world.by == "bot")
    inside = world.inside.rows
    assert shown["latest_turns"] == shown["failed_turns"] == [inside[Turn]]
    assert shown["failed_entries"] == [inside[OutboxEntry]]
    assert shown["refusals"] == ([inside[RefusedConnection]] if world.by == "bot" else [])


def test_an_entry_outside_is_not_settled(world: World) -> None:
    before = everything()
    url = address(world.outside.rows[OutboxEntry], "settle")
    assert world.client.post(url, {"outcome": "done"}).status_code == 404
    assert everything() == before
    url = address(world.inside.rows[OutboxEntry], "settle")
    assert world.client.post(url, {"outcome": "done"}).status_code == 302
    assert everything() != before


def test_no_sticker_outside_is_seen_or_decided(world: World) -> None:
    inside, outside = world.inside.rows[Sticker], world.outside.rows[Sticker]
    before = everything()
    for act in ACTS:
        answer = world.client.post(address(outside, "act"), {"act": act, "confirmed": "1"})
        assert answer.status_code == 404
    for name in ("picture", "still"):
        assert world.client.get(address(outside, name)).status_code == 404
        assert world.client.get(address(inside, name)).status_code == 200
    assert everything() == before
    assert world.client.post(address(inside, "act"), {"act": "approve"}).status_code == 302
    assert everything() != before


def test_what_concerns_all_chats_is_for_unlimited_people(world: World) -> None:
    inside, everybodys = world.inside.rows[Sticker], shown(None, state="review")
    before = everything()
    for row, acts in ((inside, ("promote", "take_down")), (everybodys, ACTS)):
        for act in acts:
            posted = {"act": act, "action": act, "confirmed": "1"}
            assert world.client.post(address(row, "act"), posted).status_code == 403
            chosen = {**posted, helpers.ACTION_CHECKBOX_NAME: [row.pk], "index": 0}
            world.client.post(list_of(Sticker), chosen)
    assert world.client.post(address(everybodys), {"meaning": "x"}).status_code == 403
    assert world.client.get(reverse("admin:stickers_sticker_upload")).status_code == 403
    for page in ("tray", "tray_still"):
        url = reverse(f"admin:stickers_sticker_{page}", args=["a" * 64])
        assert world.client.get(url).status_code == 403
    assert everything() == before
    assert world.client.get(address(everybodys)).status_code == 200


def test_the_funnel_and_the_trial_know_the_inside_alone(world: World) -> None:
    for side, times in ((world.inside, 41), (world.outside, 4200)):
        day = timezone.localdate()
        FunnelCount.objects.create(chat=side.chat, day=day, name="seen", times=times)
        item = side.rows[InboundItem]
        OpenSighting.objects.create(chat=side.chat, item_id=item.pk, index=0, day=day)
        ModelCallCount.objects.create(chat=side.chat, day=day, purpose="learning", tokens=times)
    for shown_page in ("funnel", "try"):
        url = reverse(f"admin:stickers_sticker_{shown_page}")
        content = world.client.get(url).content.decode()
        assert INSIDE in content
        assert OUTSIDE not in content
        assert "4241" not in content
        assert "4200" not in content
    url = reverse("admin:stickers_sticker_funnel")
    page = world.client.get(url)
    assert "<td>41<" in page.content.decode()
    (under_way,) = dict(page.context["groups"])["Not ended yet"]
    assert [cell.count for cell in under_way.cells] == [1, 1, 1]
    assert world.client.get(url, {"chat": world.outside.chat.pk}).status_code == 404
    url = reverse("admin:stickers_sticker_try")
    asked = {"chat": str(world.outside.chat.pk), "q": "words"}
    page = world.client.get(url, asked)
    assert page.context["chat"] is None


def held(side: Side, words: str) -> OutboxEntry:
    made = {"held": "review"}
    entry = factories.make_sent(side.chat, words, "pending", entry=made).entry
    assert entry
    return entry


def test_what_is_held_outside_is_neither_shown_nor_decided_about(world: World) -> None:
    inside, outside = held(world.inside, INSIDE), held(world.outside, OUTSIDE)
    queue = reverse("admin:core_outboxentry_review")
    for asked in ({}, {"chat": world.outside.chat.pk}):
        assert OUTSIDE not in world.client.get(queue, asked).content.decode()
    assert INSIDE in world.client.get(queue).content.decode()
    seen, before = by_hand.digest(outside), everything()
    decided = {"decision": "approve", "seen": seen, "text": OUTSIDE}
    assert world.client.post(address(outside, "decide"), decided).status_code == 404
    assert world.client.get(address(outside, "edit")).status_code == 404
    assert world.client.post(address(outside, "edit"), decided).status_code == 404
    for act in ("approve", "discard", "recall"):
        url = reverse("admin:core_outboxentry_confirm", args=[act])
        for asked in ({"entry": outside.pk}, {"chat": world.outside.chat.pk}):
            page = world.client.get(url, asked, follow=True)
            assert OUTSIDE not in page.content.decode()
        world.client.post(url, {"pick": f"{outside.pk}:{seen}"})
    assert everything() == before
    decided["seen"] = by_hand.digest(inside)
    assert world.client.post(address(inside, "decide"), decided).status_code == 302
    assert everything() != before


def test_nothing_outside_is_paused(world: World) -> None:
    before = everything()
    assert world.client.post(address(world.outside.chat, "pause"), PAUSE).status_code == 404
    if not world.sees(Bot) or world.outside.chat.bot_id != world.inside.chat.bot_id:
        url = address(world.outside.chat.bot, "pause")
        assert world.client.post(url, PAUSE).status_code == 404
    assert everything() == before
    assert world.client.post(address(world.inside.chat, "pause"), PAUSE).status_code == 302
    assert everything() != before


PAUSE = {"decision": "pause"}


def test_no_conversation_outside_is_read(world: World) -> None:
    for asked in ({}, {"part": "lines"}, {"before": "999999-999999-999999"}):
        url = address(world.outside.chat, "conversation")
        assert world.client.get(url, asked).status_code == 404
        page = world.client.get(address(world.inside.chat, "conversation"), asked)
        assert INSIDE in page.content.decode()
        assert OUTSIDE not in page.content.decode()
    view = store.put_view(View("image/png", b"\x89PNG", 1, 1))
    for side, status in ((world.inside, 200), (world.outside, 404)):
        item = side.rows[InboundItem]
        ItemMedia.objects.create(item_id=item.pk, index=0, view=view)
        url = reverse("admin:core_chat_picture", args=[side.chat.pk, item.pk, 0])
        assert world.client.get(url).status_code == status
    stolen = world.outside.rows[InboundItem].pk
    url = reverse("admin:core_chat_picture", args=[world.inside.chat.pk, stolen, 0])
    assert world.client.get(url).status_code == 404


def test_no_request_of_a_turn_outside_is_read(world: World) -> None:
    view = store.put_view(View("image/png", b"\x89PNG", 1, 1))
    for side, status in ((world.inside, 200), (world.outside, 404)):
        turn = side.rows[Turn]
        content = [references.part(view)]
        Turn.objects.filter(pk=turn.pk).update(messages=[{"role": "user", "content": content}])
        factories.make_step(Turn.objects.get(pk=turn.pk))
        for act, argument in (("curl", 0), ("picture", view)):
            url = reverse(f"admin:core_turn_{act}", args=[turn.pk, argument])
            assert world.client.get(url).status_code == status


def test_no_turn_outside_is_run_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(tasks.run_again, "delay", asked.append)
    Turn.objects.update(messages=[{"role": "user", "content": "x"}])
    before = everything()
    url = address(world.outside.rows[Turn], "rerun")
    assert world.client.get(url).status_code == 404
    assert world.client.post(url, {"model": "m"}).status_code == 404
    assert everything() == before
    inside = address(world.inside.rows[Turn], "rerun")
    assert world.client.post(inside, {"model": "m"}).status_code == 302
    assert OUTSIDE not in world.client.get(inside).content.decode()
    assert len(asked) == 1


def test_skills_are_read_and_never_written_by_limited_people(world: World) -> None:
    inside, outside = world.inside.rows[Skill], world.outside.rows[Skill]
    before = everything()
    assert world.client.get(address(outside, "versions")).status_code == 404
    assert world.client.post(address(outside, "versions"), {"number": 1}).status_code == 404
    assert world.client.get(address(inside, "versions")).status_code == 200
    assert world.client.post(address(inside, "versions"), {"number": 1}).status_code == 403
    assert world.client.post(address(inside), {"name": "mine"}).status_code == 403
    assert world.client.get(reverse("admin:skills_skill_import")).status_code == 403
    assert world.client.post(reverse("admin:skills_skill_import")).status_code == 403
    assert everything() == before


def test_skills_for_all_chats_are_read_by_everybody(world: World) -> None:
    skill = factories.make_skill("for all")
    assert world.client.get(address(skill)).status_code == 200


def test_a_skills_page_counts_the_reads_inside_alone(world: World) -> None:
    everywhere = factories.make_skill("everywhere")
    everywhere.chats.add(world.inside.chat, world.outside.chat)
    for side, times in ((world.inside, 41), (world.outside, 4200)):
        SkillReads.objects.create(
            skill=everywhere, chat=side.chat, level="full", times=times, last_at=timezone.now()
        )
    page = world.client.get(address(everywhere)).content.decode()
    assert "41 / 0" in page
    assert "4241" not in page
    assert INSIDE in page
    assert OUTSIDE not in page


def test_who_is_limited_to_nothing_sees_nothing(world: World) -> None:
    PersonLimit.objects.get().bots.clear()
    PersonLimit.objects.get().chats.clear()
    for model in SHOWN:
        assert not world.client.get(list_of(model)).context["cl"].queryset.exists()


def test_a_limit_ends_with_its_row(world: World) -> None:
    PersonLimit.objects.all().delete()
    assert OUTSIDE in world.client.get(list_of(Chat)).content.decode()


def test_superusers_are_never_limited(world: World) -> None:
    User.objects.update(is_superuser=True)
    assert OUTSIDE in world.client.get(list_of(Chat)).content.decode()


def test_a_page_that_does_not_say_to_what_its_rows_belong_is_found_at_the_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = admin.site.get_model_admin(Chat)
    monkeypatch.setattr(type(page), "belongs", None)
    (error,) = reached.every_page_says_what_its_rows_belong_to(None)
    assert error.id == "core.E001"
    assert error.obj is Chat
    with pytest.raises(ImproperlyConfigured):
        world.client.get(list_of(Chat))


@pytest.mark.parametrize("model", [Chat, Member], ids=name)
def test_nothing_outside_is_forgotten(world: World, model: type[Model]) -> None:
    before = everything()
    address_outside = address(world.outside.rows[model], "forget")
    assert world.client.get(address_outside).status_code == 404
    assert world.client.post(address_outside).status_code == 404
    assert everything() == before
    shown = world.client.get(address(world.inside.rows[model], "forget"))
    assert shown.status_code == 200
    assert OUTSIDE not in shown.content.decode()


def test_a_limit_is_not_widened_by_a_playground(world: World) -> None:
    pages = [reverse(f"admin:core_bot_playground{end}") for end in ("_state", "_forget", "")]
    state, forget, page = pages
    assert world.client.post(page).status_code == 302
    own = Bot.objects.get(is_playground=True)
    chat = factories.make_chat(own, title=OUTSIDE)
    before = everything()
    assert world.client.get(state).status_code == 404
    assert world.client.post(forget).status_code == 404
    shown = world.client.get(page)
    assert shown.context["config"] is None
    assert OUTSIDE not in shown.content.decode()
    assert world.client.get(address(own)).status_code == 404
    assert everything() == before
    PersonLimit.objects.get().bots.add(own)
    assert world.client.get(page).context["config"]
    assert list(world.client.get(state).json()["chats"]) == [f"group:{chat.external_id}"]
