"""Every page of the console, whatever app registered it."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models import Model
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise

from core.admin import facts
from core.admin.facts import CappedPaginator, FactAdmin
from core.models import (
    CapabilitySetting,
    InboundItem,
    Member,
    OutboxEntry,
    SentMessage,
    Turn,
)
from skills.models import SkillReads
from tests import factories
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\u202e"
REGISTERED = list(admin.site._registry)
FACTS = [model for model, page in admin.site._registry.items() if isinstance(page, FactAdmin)]
LANGUAGES = ["en", "zh-hans"]


def name(model: type[Model]) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"


def list_of(model: type[Model]) -> str:
    return reverse(f"admin:{name(model)}_changelist")


def page_of(row: Model) -> str:
    return reverse(f"admin:{name(type(row))}_change", args=[row.pk])


def fill(text: str = "hello") -> None:
    """One more row of everything, with `text` wherever a stranger may write."""
    bot = factories.make_bot(name=text[:90])
    chat = factories.make_chat(bot, title=text)
    CapabilitySetting.objects.create(chat=chat, target="cap", name="recall", allowed=False)
    factories.make_member(chat, name=text)
    item = factories.make_item(chat, text, sender_name=text, emoji=["76"], mentions=["1"])
    turn = factories.make_turn(
        chat,
        first_item_id=item.pk,
        last_item_id=item.pk,
        messages=[{"role": "user", "content": text}],
        tools=[{"type": "function", "function": {"name": "send_message"}}],
        silence_reason=text,
        error_detail=text,
    )
    item.turn = turn
    item.save()
    factories.make_decision([item], turn=turn)
    message = factories.make_sent(chat, text, turn=turn, handle="m1", entry={"error": text})
    step = factories.make_step(
        turn,
        answer={"role": "assistant", "content": text},
        messages_added=[{"role": "user", "content": [{"type": "text", "text": text}]}],
    )
    factories.make_call(step, arguments=text, result={"ok": True, "handle": message.handle})
    factories.make_call(step, 1, result={"ok": False, "message": text})
    factories.make_connection(bot, implementation=text[:90], nickname=text)
    factories.make_refusal(self_id=text, user_agent=text, remote_address=str(bot.pk))
    skill = factories.make_skill(f"{text[:50]} {bot.pk}", text, description=text)
    skill.chats.add(chat)
    SkillReads.objects.create(skill=skill, chat=chat, level="full", times=1, last_at=timezone.now())
    shown(chat, text, use_when=text, avoid_when=text, words=text, moods=[text[:40]])
    User.objects.create(username=f"user{User.objects.count()}")
    Group.objects.create(name=f"group{Group.objects.count()}")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_every_page_opens(admin_client: Client, model: type[Model], language: str) -> None:
    fill()
    headers = {"accept-language": language}
    page = admin_client.get(list_of(model), {"q": "1"}, headers=headers)
    assert page.status_code == 200
    assert admin_client.get(list_of(model), headers=headers).status_code == 200
    row = model._default_manager.order_by("-pk").first()
    if row is not None:
        assert admin_client.get(page_of(row), headers=headers).status_code == 200
    may_add = admin.site._registry[model].has_add_permission(page.wsgi_request)
    added = admin_client.get(reverse(f"admin:{name(model)}_add"), headers=headers)
    assert added.status_code == (200 if may_add else 403)


@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_every_column_that_a_page_shows_has_a_name_to_translate(
    rf: RequestFactory, admin_user: User, model: type[Model]
) -> None:
    page = admin.site._registry[model]
    request = rf.get("/")
    request.user = admin_user
    shown = {*flatten_fieldsets(page.get_fieldsets(request)), *page.get_list_display(request)}
    columns = [field for field in model._meta.concrete_fields if field.name in shown]
    assert [field.name for field in columns if not isinstance(field.verbose_name, Promise)] == []


@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_strangers_are_sent_to_the_log_in(client: Client, model: type[Model]) -> None:
    answer = client.get(list_of(model))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("admin:login"))


@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_lists_are_flat_in_queries(admin_client: Client, model: type[Model]) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert admin_client.get(list_of(model)).status_code == 200
        return len(seen)

    fill()
    queries()
    few = queries()
    for _ in range(19):
        fill()
    assert queries() == few


@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_what_strangers_write_is_text(admin_client: Client, model: type[Model]) -> None:
    fill(HOSTILE)
    pages = [list_of(model)]
    row = model._default_manager.order_by("-pk").first()
    pages += [page_of(row)] if row is not None else []
    for page in pages:
        assert "<script>alert(1)" not in admin_client.get(page).content.decode()


@pytest.mark.parametrize("model", FACTS, ids=name)
def test_facts_can_not_be_changed(admin_client: Client, model: type[Model]) -> None:
    fill()
    row = model._default_manager.latest("pk")
    before = list(model._default_manager.order_by("pk").values())
    data: dict[str, Any] = {field.name: "" for field in model._meta.fields}
    key = [row.pk]
    for url in (
        page_of(row),
        reverse(f"admin:{name(model)}_add"),
        reverse(f"admin:{name(model)}_delete", args=key),
    ):
        assert admin_client.post(url, {**data, "post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": key, "post": "yes"}
    admin_client.post(list_of(model), chosen)
    assert list(model._default_manager.order_by("pk").values()) == before


def test_facts_are_what_the_design_calls_facts() -> None:
    assert {name(model) for model in FACTS} == {
        "core_member",
        "core_inbounditem",
        "core_decision",
        "core_turn",
        "core_sentmessage",
        "core_outboxentry",
        "botgateway_connection",
        "botgateway_refusedconnection",
        "auditlog_logentry",
    }


def test_lists_are_counted_no_further_than_they_are_paged() -> None:
    chat = factories.make_chat()
    for _ in range(5):
        factories.make_item(chat)
    paginator = CappedPaginator(InboundItem.objects.order_by("-id"), 2)
    paginator.cap = 3
    assert paginator.count == 3
    assert paginator.num_pages == 2


def test_what_happened_is_listed_in_one_order(admin_client: Client) -> None:
    item = factories.make_item(factories.make_chat())
    assert "?o=" in admin_client.get(list_of(type(item.chat))).content.decode()
    shown = admin_client.get(list_of(InboundItem)).content.decode()
    assert item.text in shown
    assert "?o=" not in shown


@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_no_column_is_ordered_by_many_rows_of_another_table(
    rf: RequestFactory, admin_user: User, model: type[Model]
) -> None:
    """Each row would stand in the list as often as it has others: a click on the head of a column of
    bots listed each bot once for each of its chats."""
    page = admin.site._registry[model]
    request = rf.get("/")
    request.user = admin_user
    listed = page.get_changelist_instance(request)
    fields = {field.name: field for field in model._meta.get_fields()}
    for column in listed.list_display:
        ordered_by = str(listed.get_ordering_field(column) or "").lstrip("-").split("__")[0]
        of = fields.get(ordered_by)
        assert of is None or not (of.one_to_many or of.many_to_many), column


def found(client: Client, model: type[Model], **asked: Any) -> set[Any]:
    return set(client.get(list_of(model), asked).context["cl"].queryset)


def test_words_are_looked_for_in_the_newest_rows_alone(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "SEARCHED", 2)
    chat = factories.make_chat()
    old = factories.make_item(chat, "the same words")
    new = [factories.make_item(text="the same words") for _ in range(2)]
    assert found(admin_client, InboundItem, q="same") == set(new)
    assert found(admin_client, InboundItem, q="same", chat=chat.pk) == {old}
    assert "in the newest 2 rows" in admin_client.get(list_of(InboundItem)).content.decode()


def test_a_turn_is_found_by_its_number_and_a_member_by_the_account_however_old(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "SEARCHED", 1)
    turn, member = factories.make_turn(), factories.make_member(user_id="5550001")
    for _ in range(3):
        factories.make_turn()
        factories.make_member(name="5550001")
    assert found(admin_client, Turn, q=str(turn.pk)) == {turn}
    assert f">#{turn.pk}</a>" in admin_client.get(list_of(Turn)).content.decode()
    assert found(admin_client, Member, q="5550001") == {member}


@pytest.mark.parametrize("asked", ["5550001", "group:5550001", "book", "Book club"])
@pytest.mark.parametrize("model", [SentMessage, OutboxEntry])
def test_what_the_bot_said_is_found_by_its_chat_however_old(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, model: type[Model], asked: str
) -> None:
    monkeypatch.setattr(facts, "SEARCHED", 2)
    chat = factories.make_chat(external_id="5550001", title="The Book club")
    old = [factories.make_sent(chat) for _ in range(2)]
    for _ in range(2):
        factories.make_sent()
    new = factories.make_sent(content=asked)
    wanted = {*old, new} if model is SentMessage else {one.entry for one in (*old, new)}
    assert found(admin_client, model, q=asked) == wanted


def test_a_message_with_many_versions_is_found_once(admin_client: Client) -> None:
    message = factories.make_sent(content="words of it")
    factories.make_entry(message, action="edit", target=message.entry, content="words of it now")
    page = admin_client.get(list_of(SentMessage), {"q": "words"}).context["cl"]
    assert list(page.result_list) == [message]


def test_a_list_can_be_narrowed_to_a_chat(admin_client: Client) -> None:
    chat = factories.make_chat(title="Book club")
    factories.make_item(chat, "said inside")
    factories.make_item(factories.make_chat(), "said elsewhere")
    page = admin_client.get(list_of(InboundItem), {"chat": chat.pk}).content.decode()
    assert "said inside" in page
    assert "said elsewhere" not in page
    assert "Book club" in page
    assert (
        "said inside" not in admin_client.get(list_of(InboundItem), {"chat": "x"}).content.decode()
    )


@pytest.mark.parametrize("state", OutboxEntry.State.values)
def test_the_outbox_is_filtered_by_state(admin_client: Client, state: str) -> None:
    factories.make_sent(content="words of it", state=state)
    for other in OutboxEntry.State.values:
        page = admin_client.get(list_of(OutboxEntry), {"state__exact": other}).content.decode()
        assert ("words of it" in page) == (other == state)


def test_a_turns_list_does_not_load_its_context(admin_client: Client) -> None:
    fill()
    with CaptureQueriesContext(connection) as seen:
        admin_client.get(list_of(Turn))
    assert not [query for query in seen if '"core_turn"."messages"' in query["sql"]]


def test_the_demo_model_is_named_on_every_page(admin_client: Client, settings: Any) -> None:
    settings.ARISE_DEMO_MODEL = True
    assert "demo model" in admin_client.get(list_of(Turn)).content.decode()
    settings.ARISE_DEMO_MODEL = False
    assert "demo model" not in admin_client.get(list_of(Turn)).content.decode()


def test_a_person_without_rights_sees_no_links_to_facts(client: Client) -> None:
    client.force_login(User.objects.create(username="viewer", is_staff=True))
    page = client.get(reverse("admin:index")).content.decode()
    assert list_of(InboundItem) not in page


@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_an_address_asks_by_what_is_filtered_by_alone(
    admin_client: Client, model: type[Model]
) -> None:
    url = reverse(f"admin:{name(model)}_changelist")
    asked = {"id__regex": "(", "pk__range": "1,2,3"}
    filters = admin.site.get_model_admin(model).list_filter
    by = {
        each if isinstance(each, str) else getattr(each, "parameter_name", "") for each in filters
    }
    by |= {each[0] for each in filters if isinstance(each, tuple)}
    for field in model._meta.concrete_fields:
        if field.name not in {*by, "id"}:
            asked |= {field.name: "1", f"{field.name}__startswith": "1"}
        asked[f"{field.name}__regex"] = "("
    for parameter, value in asked.items():
        assert admin_client.get(url, {parameter: value}).status_code == 400, parameter
    assert admin_client.get(url, {"id__gte": "1", "pk__in": "1,2"}).status_code == 200


def test_an_odd_address_of_a_row_is_no_fault(admin_client: Client) -> None:
    member = factories.make_member()
    url = reverse("admin:core_member_change", args=[member.pk])
    assert admin_client.get(url, {"_to_field": ""}).status_code == 200
    for key in ("\u0663", "9" * 30, "9" * 5000, "_ZZ", "abc"):
        url = reverse("admin:core_member_change", args=[key])
        assert admin_client.get(url, follow=True).status_code == 404, key


@pytest.mark.parametrize("model", REGISTERED, ids=name)
def test_what_is_chosen_of_a_list_has_to_be_keys(admin_client: Client, model: type[Model]) -> None:
    act = next(iter(admin.site.get_model_admin(model).actions or ()), "delete_selected")
    for chosen in ("abc", "9" * 5000, "\u0663", "1\0"):
        posted = {"action": getattr(act, "__name__", act), "_selected_action": chosen, "index": 0}
        status = admin_client.post(list_of(model), posted).status_code
        assert status in {200, 302, 400, 403}, chosen


def test_a_nul_in_a_filter_is_a_bad_request_and_no_fault(admin_client: Client) -> None:
    for query in ("state__exact=%00", "q=a%00b"):
        assert admin_client.get(f"{list_of(OutboxEntry)}?{query}").status_code == 400
