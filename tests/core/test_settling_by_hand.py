"""What an operator says in the console of outcomes that nobody knows."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from core import sending
from core.admin import settling
from core.admin.outbox import OutboxEntryAdmin
from core.messages import PlatformId
from core.models import OutboxEntry, SentMessage
from tests import factories

pytestmark = pytest.mark.django_db

ID = "7001"


@pytest.fixture
def entry() -> OutboxEntry:
    """A send of unknown outcome."""
    return current(factories.make_sent(content="who knows", state="unknown", handle="m7"))


@pytest.fixture
def viewer(client: Client) -> Client:
    """Somebody who may look at the Outbox and the Sent Log, and no more."""
    return log_in(client, "view_outboxentry", "view_sentmessage")


def log_in(client: Client, *rights: str) -> Client:
    person = User.objects.create(username="person", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client.force_login(person)
    return client


def current(message: SentMessage) -> OutboxEntry:
    assert message.entry is not None
    return message.entry


def recall_of(message: SentMessage, **fields: Any) -> OutboxEntry:
    target = current(message)
    return factories.make_entry(message, action="recall", target=target, content="", **fields)


def page_of(row: OutboxEntry | SentMessage | None) -> str:
    assert row is not None
    return reverse(f"admin:core_{row._meta.model_name}_change", args=[row.pk])


def list_of(model: type[OutboxEntry | SentMessage]) -> str:
    return reverse(f"admin:core_{model._meta.model_name}_changelist")


def settle_url(entry: OutboxEntry) -> str:
    return reverse("admin:core_outboxentry_settle", args=[entry.pk])


def click(client: Client, entry: OutboxEntry, outcome: str, **fields: str) -> Any:
    """One of the two buttons; what is shown next."""
    return client.post(settle_url(entry), {"outcome": outcome, **fields}, follow=True)


def told(answer: Any) -> str:
    (message,) = answer.context["messages"]
    return str(message)


def stands(entry: OutboxEntry) -> tuple[str, str]:
    entry.refresh_from_db()
    return entry.state, entry.platform_message_id


def history() -> list[tuple[str, str]]:
    """What is kept of who did what, oldest first."""
    kept = LogEntry.objects.select_related("user").order_by("pk")
    return [(row.user.get_username(), row.get_change_message()) for row in kept]


@pytest.mark.parametrize("back", ["", "message"])
def test_it_was_sent_with_one_click(admin_client: Client, entry: OutboxEntry, back: str) -> None:
    answer = click(admin_client, entry, "done", message_id=f" {ID} ", back=back)
    assert stands(entry) == ("sent", ID)
    assert told(answer) == f"Settled by hand: it was sent, with the message id {ID}."
    page = page_of(entry.message if back else entry)
    assert answer.redirect_chain == [(page, 302)]
    assert "is not known</h2>" not in answer.content.decode()


def test_an_id_that_is_left_blank_is_not_known(admin_client: Client, entry: OutboxEntry) -> None:
    answer = click(admin_client, entry, "done", message_id="  ")
    assert stands(entry) == ("sent", "")
    assert "its message id is not known" in told(answer)


def test_it_was_not_sent_with_one_click(admin_client: Client, entry: OutboxEntry) -> None:
    assert "it was not sent" in told(click(admin_client, entry, "not_done", message_id=ID))
    assert stands(entry) == ("failed", "")
    assert entry.reason == "not_sent_says_operator"


@pytest.mark.parametrize(("outcome", "left"), [("done", "recalled"), ("not_done", "sent")])
def test_a_recall_of_unknown_outcome_is_settled_too(
    admin_client: Client, outcome: str, left: str
) -> None:
    message = factories.make_sent()
    click(admin_client, recall_of(message, state="unknown"), outcome, back="message")
    assert stands(current(message))[0] == left


def test_who_said_what_is_kept_on_both_pages(admin_client: Client, entry: OutboxEntry) -> None:
    click(admin_client, entry, "done", message_id=ID)
    said = ("admin", f"Settled by hand: it was sent, with the message id {ID}.")
    assert history() == [said, said]
    for row in (entry, entry.message):
        assert row is not None
        url = reverse(f"admin:core_{row._meta.model_name}_history", args=[row.pk])
        assert said[1] in admin_client.get(url).content.decode()


@pytest.mark.parametrize("message_id", ["7" * 129, "70 01", "70\n01", "70\x0001", "70\u300001"])
def test_what_is_no_message_id_changes_nothing(
    admin_client: Client, entry: OutboxEntry, message_id: str
) -> None:
    answer = click(admin_client, entry, "done", message_id=message_id)
    assert "no spaces and at most 128 characters" in told(answer)
    assert stands(entry) == ("unknown", "")
    assert history() == []


def test_the_longest_id_is_taken(admin_client: Client, entry: OutboxEntry) -> None:
    click(admin_client, entry, "done", message_id="7" * 128)
    assert stands(entry) == ("sent", "7" * 128)


def test_what_is_typed_as_an_id_is_text(admin_client: Client, entry: OutboxEntry) -> None:
    typed = "<script>alert(1)</script>"
    answer = click(admin_client, entry, "done", message_id=typed, back="message")
    assert stands(entry) == ("sent", typed)
    assert "<script>alert(1)" not in answer.content.decode()


def test_the_id_of_another_message_is_refused(admin_client: Client, entry: OutboxEntry) -> None:
    """A recall under it would take back what somebody else said."""
    factories.make_item(entry.chat, platform_message_id="8001")
    factories.make_sent(entry.chat, entry={"platform_message_id": "8002"})
    for message_id in ("8001", "8002"):
        answer = click(admin_client, entry, "done", message_id=message_id)
        assert "another message of this chat" in told(answer)
    assert stands(entry) == ("unknown", "")


def test_what_looked_typed_on_the_bots_account_may_be_it(
    admin_client: Client, entry: OutboxEntry
) -> None:
    factories.make_item(entry.chat, platform_message_id=ID, from_self=True)
    factories.make_item(platform_message_id=ID)
    click(admin_client, entry, "done", message_id=ID)
    assert stands(entry) == ("sent", ID)


@pytest.mark.parametrize(
    ("text", "wire"),
    [("7001", 7001), ("-7001", -7001), ("--7001", "--7001"), ("007", "007"), ("٧", "٧")],
)
def test_an_id_goes_out_as_it_was_typed(
    admin_client: Client, entry: OutboxEntry, text: str, wire: int | str
) -> None:
    click(admin_client, entry, "done", message_id=text)
    entry.refresh_from_db()
    known = PlatformId(entry.platform_message_id, entry.platform_message_id_is_number)
    assert known.wire() == wire


def test_evidence_that_came_meanwhile_stands(admin_client: Client, entry: OutboxEntry) -> None:
    sending.mark_sent(entry.pk, PlatformId(ID))
    for outcome in ("done", "not_done"):
        assert "Its outcome is known meanwhile: sent." in told(click(admin_client, entry, outcome))
    assert stands(entry) == ("sent", ID)
    assert history() == []


def test_evidence_that_comes_between_read_and_write_wins(
    admin_user: User, entry: OutboxEntry, rf: Any
) -> None:
    page = admin.site._registry[OutboxEntry]
    assert isinstance(page, OutboxEntryAdmin)
    request = rf.post("/")
    request.user = admin_user
    sending.mark_sent(entry.pk, PlatformId(ID))
    assert entry.state == "unknown"
    assert not page.settle(request, entry, was_sent=False)
    assert stands(entry) == ("sent", ID)
    assert history() == []


@pytest.mark.parametrize("state", sorted(set(OutboxEntry.State.values) - {"unknown"}))
def test_a_known_outcome_has_no_buttons_and_is_not_changed(
    admin_client: Client, state: str
) -> None:
    message = factories.make_sent(state=state)
    entry = current(message)
    for row in (entry, message):
        assert settle_url(entry) not in admin_client.get(page_of(row)).content.decode()
    before = stands(entry)
    for outcome in ("done", "not_done"):
        click(admin_client, entry, outcome)
    assert stands(entry) == before
    assert history() == []


def test_both_pages_have_the_buttons(admin_client: Client, entry: OutboxEntry) -> None:
    for row in (entry, entry.message):
        page = admin_client.get(page_of(row)).content.decode()
        assert settle_url(entry) in page
        assert "It was sent</button>" in page
        assert "It was not sent</button>" in page


def test_a_messages_page_has_the_buttons_of_its_recall(admin_client: Client) -> None:
    message = factories.make_sent()
    recall = recall_of(message, state="unknown")
    page = admin_client.get(page_of(message)).content.decode()
    assert settle_url(recall) in page
    assert 'name="message_id"' not in page


def test_whoever_may_only_look_sees_no_button(viewer: Client, entry: OutboxEntry) -> None:
    for row in (entry, entry.message):
        page = viewer.get(page_of(row)).content.decode()
        assert "Whether it was sent is not known" in page
        assert settle_url(entry) not in page
    for model in (OutboxEntry, SentMessage):
        assert 'value="was_done"' not in viewer.get(list_of(model)).content.decode()


def test_whoever_may_only_look_settles_nothing(viewer: Client, entry: OutboxEntry) -> None:
    assert click(viewer, entry, "done").status_code == 403
    for model, row in ((OutboxEntry, entry), (SentMessage, entry.message)):
        assert row is not None
        data = {"action": "was_done", "_selected_action": [row.pk]}
        assert viewer.post(list_of(model), data).status_code == 403
    assert stands(entry) == ("unknown", "")


def test_the_right_to_settle_is_enough_for_who_may_look(client: Client, entry: OutboxEntry) -> None:
    log_in(client, "settle_outboxentry", "view_sentmessage", "view_outboxentry")
    for row in (entry, entry.message):
        assert settle_url(entry) in client.get(page_of(row)).content.decode()
    assert "it was sent" in told(click(client, entry, "done"))
    assert history()[0][0] == "person"


def test_strangers_are_sent_to_the_log_in(client: Client, entry: OutboxEntry) -> None:
    answer = client.post(settle_url(entry), {"outcome": "done"})
    assert answer["Location"].startswith(reverse("admin:login"))
    assert stands(entry) == ("unknown", "")


def test_it_takes_a_post_of_the_consoles_own_page(admin_user: User, entry: OutboxEntry) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert client.post(settle_url(entry), {"outcome": "done"}).status_code == 403
    client.force_login(admin_user)
    assert client.get(settle_url(entry)).status_code == 405
    assert stands(entry) == ("unknown", "")


def test_what_no_button_says_is_a_bad_request(admin_client: Client, entry: OutboxEntry) -> None:
    assert admin_client.post(settle_url(entry), {"outcome": "maybe"}).status_code == 400
    assert admin_client.post(settle_url(entry)).status_code == 400
    gone = reverse("admin:core_outboxentry_settle", args=[10**18])
    assert admin_client.post(gone, {"outcome": "done"}).status_code == 404


@pytest.mark.parametrize(("action", "state"), [("was_done", "sent"), ("was_not_done", "failed")])
@pytest.mark.parametrize("model", [OutboxEntry, SentMessage])
def test_many_are_settled_in_a_list(
    admin_client: Client, model: type[OutboxEntry | SentMessage], action: str, state: str
) -> None:
    messages = [factories.make_sent(state="unknown") for _ in range(3)]
    messages.append(factories.make_sent(state="pending"))
    rows = [message if model is SentMessage else current(message) for message in messages]
    other = current(factories.make_sent(state="unknown"))
    data = {"action": action, "_selected_action": [row.pk for row in rows]}
    answer = admin_client.post(list_of(model), data, follow=True)
    assert "3 were settled. 1 is not of unknown outcome" in told(answer)
    assert [stands(current(message))[0] for message in messages] == [state] * 3 + ["pending"]
    assert stands(other)[0] == "unknown"
    assert len(history()) == 6


def test_more_than_are_settled_at_once_are_left_and_told(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "MOST_AT_ONCE", 2)
    entries = [current(factories.make_sent(state="unknown")) for _ in range(5)]
    data = {"action": "was_done", "_selected_action": [entry.pk for entry in entries]}
    answer = admin_client.post(list_of(OutboxEntry), data, follow=True)
    assert told(answer).startswith("2 were settled. 3 more are left for the next time")
    assert [stands(entry)[0] for entry in entries] == ["sent"] * 2 + ["unknown"] * 3


def test_nothing_to_settle_in_a_list_is_told(admin_client: Client) -> None:
    entry = current(factories.make_sent())
    data = {"action": "was_done", "_selected_action": [entry.pk]}
    answer = admin_client.post(list_of(OutboxEntry), data, follow=True)
    assert told(answer).startswith("0 were settled.")
