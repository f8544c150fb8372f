"""The console's pages about stickers besides the gallery: a chat's, the trial of a search, the funnel."""

import html
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.errors import ModelFailure
from core.models import Chat, ModelCallCount
from stickers import embeddings, funnel, search
from stickers.models import FunnelCount
from tests.factories import make_chat
from tests.stickers.making import embedded
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db

TRY = "admin:stickers_sticker_try"
FUNNEL = "admin:stickers_sticker_funnel"


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def count(chat: Chat, days_ago: int = 0, **times: int) -> None:
    day = timezone.localdate() - timedelta(days=days_ago)
    for name, number in times.items():
        FunnelCount.objects.create(chat=chat, day=day, name=name, times=number)


def spend(
    chat: Chat, calls: int, tokens: int, days_ago: int = 0, purpose: str = "learning"
) -> None:
    day = timezone.localdate() - timedelta(days=days_ago)
    ModelCallCount.objects.create(chat=chat, day=day, purpose=purpose, calls=calls, tokens=tokens)


def looker(*rights: str) -> Client:
    person = User.objects.create(username="person", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = Client()
    client.force_login(person)
    return client


# A chat


def test_a_chats_page_leads_to_its_stickers_and_says_what_they_took(admin_client: Client) -> None:
    chat = make_chat(sticker_daily_calls=7, sticker_daily_tokens=900)
    shown(chat, state="review")
    shown(chat)
    shown(make_chat(), state="vetoed")
    spend(chat, 3, 450)
    spend(chat, 99, 0, purpose="chat")
    told = page(admin_client, reverse("admin:core_chat_change", args=[chat.pk]))
    assert "3 of 7 calls, 450 of 900 tokens" in told
    assert "waits for review: 1" in told
    assert "vetoed" not in told
    gallery = f"{reverse('admin:stickers_sticker_changelist')}?chat={chat.pk}"
    assert gallery in told
    assert f"{gallery}&state__exact=review" in told
    assert f"{reverse(FUNNEL)}?chat={chat.pk}" in told


# Trying a search


@pytest.mark.parametrize("name", [TRY, FUNNEL])
def test_the_pages_are_for_who_may_see_stickers(client: Client, name: str) -> None:
    assert client.get(reverse(name)).status_code == 302
    assert looker("view_chat").get(reverse(name)).status_code == 403


@pytest.mark.parametrize("name", [TRY, FUNNEL])
def test_a_looker_may_look(name: str) -> None:
    assert looker("view_sticker").get(reverse(name)).status_code == 200


def test_a_trial_shows_what_is_offered_and_what_the_floor_keeps(admin_client: Client) -> None:
    chat = make_chat()
    embedded(shown(chat, "对别人的帮助表示感谢"))
    embedded(shown(None, "a car is repaired by a mechanic"))
    embedded(shown(make_chat(), "感谢，别的群的"))
    told = page(admin_client, reverse(TRY), chat=chat.pk, q="谢谢你帮我")
    found = search.preview(chat, "谢谢你帮我")
    assert [hit.passes for hit in found.hits] == [True, False]
    for hit in found.hits:
        assert f"{hit.score:.2f}" in told
    assert told.index("对别人的帮助表示感谢") < told.index("a car is repaired")
    assert "below the floor" in told
    assert "别的群的" not in told
    assert f"{found.floor:.2f}" in told


def test_a_trial_names_who_embeds(admin_client: Client, settings: Any) -> None:
    make_chat()
    assert embeddings.BUILT_IN.model in page(admin_client, reverse(TRY))
    assert "offline" in page(admin_client, reverse(TRY))
    settings.ARISE_EMBEDDING_MODEL = "some-embedder"
    assert "some-embedder" in page(admin_client, reverse(TRY))


def test_a_trial_tells_of_stickers_without_a_vector(admin_client: Client) -> None:
    shown(make_chat())
    assert "1 sticker has no vector of it yet." in page(admin_client, reverse(TRY))


def test_an_endpoint_that_is_away_is_told(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any) -> Any:
        raise ModelFailure("unreachable", "<b>nobody there</b>")

    monkeypatch.setattr(search, "preview", away)
    chat = make_chat()
    answer = admin_client.get(reverse(TRY), {"chat": str(chat.pk), "q": "x"})
    assert "could not be embedded. The model" in answer.content.decode()
    assert "<b>nobody" not in answer.content.decode()


@pytest.mark.parametrize(
    "query", [{}, {"chat": "x", "q": "a"}, {"chat": "9" * 30, "q": "a"}, {"chat": "0", "q": "a"}]
)
def test_a_trial_in_no_chat_searches_nothing(admin_client: Client, query: dict[str, str]) -> None:
    assert "found" not in admin_client.get(reverse(TRY), query).context


def test_a_chat_without_stickers_can_be_chosen(admin_client: Client) -> None:
    shown(make_chat(title="Has some"))
    other = make_chat(title="Has none")
    told = page(admin_client, reverse(TRY), chat=other.pk)
    assert "Has some" in told
    assert "Has none" in told


# The funnel


def figures(told: Any) -> dict[str, list[int]]:
    """What the table has, row by row."""
    rows = [row for _heading, rows in told.context["groups"] for row in rows]
    rows += told.context["spent"]
    return {str(row.name): [cell.count for cell in row.cells] for row in rows}


def test_the_funnel_counts_by_period_and_chat(admin_client: Client) -> None:
    chat, other = make_chat(title="Book club"), make_chat()
    count(chat, seen=10, not_a_sticker=4, known=3, paid=2, stored=1)
    count(chat, 6, seen=100, download_timeout=5)
    count(chat, 29, seen=1000, vetoed=2)
    count(chat, 30, seen=9999)
    count(other, seen=7, sent=1)
    spend(chat, 2, 800)
    spend(chat, 1, 90, 29)
    spend(other, 5, 0)
    spend(chat, 500, 0, purpose="chat")
    everywhere = figures(admin_client.get(reverse(FUNNEL)))
    assert everywhere["seen"] == [17, 117, 1117]
    assert everywhere["model calls"] == [7, 7, 8]
    told = admin_client.get(reverse(FUNNEL), {"chat": chat.pk})
    here = figures(told)
    assert here["seen"] == [10, 110, 1110]
    assert here[str(funnel.label("not_a_sticker"))] == [4, 4, 4]
    assert here[str(funnel.label("download_timeout"))] == [0, 5, 5]
    assert here["vetoed"] == [0, 0, 2]
    assert here["sent"] == [0, 0, 0]
    assert (here["model calls"], here["tokens"]) == ([2, 2, 3], [800, 800, 890])
    assert "Book club" in told.content.decode()


def test_the_funnel_tells_every_stage_and_only_reasons_that_occurred(admin_client: Client) -> None:
    count(make_chat(), seen=1, rate=1)
    here = figures(admin_client.get(reverse(FUNNEL)))
    for stage in funnel.STAGES:
        assert str(funnel.label(stage)) in here
    assert str(funnel.label("rate")) in here
    assert str(funnel.label("budget")) not in here


def test_the_funnel_ranks_chats_by_what_was_seen(admin_client: Client) -> None:
    quiet, lively, silent = make_chat(), make_chat(), make_chat()
    count(quiet, seen=1)
    count(lively, 3, seen=50, stored=2, reused=3)
    count(silent, sent=1)
    spend(lively, 4, 40, 3)
    rows = admin_client.get(reverse(FUNNEL)).context["chats"]
    assert [row.chat for row in rows] == [lively, quiet]
    assert (rows[0].stored, rows[0].calls, rows[0].tokens) == (5, 4, 40)


@pytest.mark.parametrize("chat", ["x", "0", "9" * 30])
def test_the_funnel_of_no_chat_is_not_found(admin_client: Client, chat: str) -> None:
    assert admin_client.get(reverse(FUNNEL), {"chat": chat}).status_code == 404


@pytest.mark.parametrize("name", [TRY, FUNNEL])
def test_the_pages_are_flat_in_queries(admin_client: Client, name: str) -> None:
    def fill() -> None:
        chat = make_chat()
        shown(chat)
        count(chat, seen=1, paid=1)
        spend(chat, 1, 1)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            page(admin_client, reverse(name))
        return len(seen)

    fill()
    queries()
    few = queries()
    for _ in range(9):
        fill()
    assert queries() == few
