"""The console's pages about stickers besides the gallery: a chat's and the trial of a search."""

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
from stickers import embeddings, search
from tests.factories import make_chat
from tests.stickers.making import embedded
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db

TRY = "admin:stickers_sticker_try"


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


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


# Trying a search


@pytest.mark.parametrize("name", [TRY])
def test_the_pages_are_for_who_may_see_stickers(client: Client, name: str) -> None:
    assert client.get(reverse(name)).status_code == 302
    assert looker("view_chat").get(reverse(name)).status_code == 403


@pytest.mark.parametrize("name", [TRY])
def test_a_looker_may_look(name: str) -> None:
    assert looker("view_sticker").get(reverse(name)).status_code == 200


def test_a_trial_shows_what_is_offered_and_what_the_floor_keeps(admin_client: Client) -> None:
    chat = make_chat()
    embedded(shown(chat, "对别人的帮助表示感谢"))
    embedded(shown(None, "a car is repaired by a mechanic"))
    embedded(shown(make_chat(), "感谢，别的群的"))
    told = page(admin_client, reverse(TRY), chat=chat.pk, q="谢谢你帮我")
    hits = search.preview(chat, "谢谢你帮我").hits
    assert [hit.passes for hit in hits] == [True, False]
    for hit in hits:
        assert f"{hit.score:.2f}" in told
    assert told.index("对别人的帮助表示感谢") < told.index("a car is repaired")
    assert "below the floor" in told
    assert "别的群的" not in told
    assert f"{search.FLOOR:.2f}" in told


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
    assert "could not be embedded: unreachable" in answer.content.decode()
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


@pytest.mark.parametrize("name", [TRY])
def test_the_pages_are_flat_in_queries(admin_client: Client, name: str) -> None:
    def fill() -> None:
        chat = make_chat()
        shown(chat)

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
