"""The gallery: who sees and does what in it, what it shows, and how pictures go out."""

import html
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core.media import store
from core.models import StoredMedia
from stickers.acts import Texts
from stickers.models import Picture, Sticker
from tests.factories import make_chat
from tests.stickers.showing import shown

pytestmark = pytest.mark.django_db

LIST = "admin:stickers_sticker_changelist"
REJECTED = ["sensitive", "vetoed", "failed", "lost", "rejected"]
ACTS = ["approve", "pin", "unpin", "promote", "reject", "take_down"]
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><script>alert(1)</script>",
    "</td></tr></table><iframe src=javascript:alert(1)>",
    "{{ 7*7 }}{% load x %}",
    "javascript:alert(1)",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202e<b>evil\u2066",
]


@pytest.fixture
def looker(client: Client) -> Client:
    """Somebody who may see stickers, and no more."""
    return log_in(client, "view_sticker")


def log_in(client: Client, *rights: str) -> Client:
    person = User.objects.create(username="person", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client.force_login(person)
    return client


def url(sticker: Sticker, name: str = "change") -> str:
    return reverse(f"admin:stickers_sticker_{name}", args=[sticker.pk])


def page(client: Client, address: str, **query: Any) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def gallery(client: Client, **query: Any) -> str:
    return page(client, reverse(LIST), **query)


def bulk(client: Client, act: str, *stickers: Sticker, **more: str) -> Any:
    data = {"action": act, "_selected_action": [sticker.pk for sticker in stickers], **more}
    return client.post(reverse(LIST), data, follow=True)


def press(client: Client, sticker: Sticker, act: str, **more: str) -> Any:
    return client.post(url(sticker, "act"), {"act": act, **more}, follow=True)


def told(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def typed(sticker: Sticker, **fields: str) -> dict[str, str]:
    """What a sticker's page posts when only `fields` were changed on it."""
    texts = Texts.of(sticker)
    moods = ", ".join(texts.moods)
    return {**texts.columns(), "moods": moods, "seen": texts.digest, **fields}


def state(sticker: Sticker) -> str:
    return Sticker.objects.get(pk=sticker.pk).state


# What is seen


def test_a_card_tells_all_of_a_sticker(admin_client: Client) -> None:
    chat = make_chat(title="Book club")
    texts = {"use_when": "after help", "avoid_when": "at funerals", "words": "谢谢"}
    sticker = shown(
        chat, "gratitude", moods=["grateful", "感激"], times_sent=7, pinned=True, **texts
    )
    shown_page = gallery(admin_client)
    for words in ("gratitude", *texts.values(), "grateful", "感激", "sent 7 times", "Book club"):
        assert words in shown_page
    assert "pinned</span>" in shown_page
    assert url(sticker, "picture") in shown_page
    assert url(sticker, "still") not in shown_page


def test_one_that_moves_is_shown_still_first(admin_client: Client) -> None:
    sticker = shown(moving=True)
    for shown_page in (gallery(admin_client), page(admin_client, url(sticker))):
        assert url(sticker, "still") in shown_page
        assert url(sticker, "picture") in shown_page
        assert 'tabindex="0"' in shown_page


@pytest.mark.parametrize("rejected", REJECTED)
def test_a_rejected_one_is_shown_with_its_reason_and_no_picture(
    admin_client: Client, rejected: str
) -> None:
    # Another chat may still hold the same picture.
    picture = shown(make_chat()).picture
    sticker = shown(make_chat(), "", state=rejected, reason="some_reason", picture=picture)
    for shown_page in (gallery(admin_client), page(admin_client, url(sticker))):
        assert "some_reason" in shown_page
        assert str(sticker.get_state_display()) in shown_page
        assert url(sticker, "picture") not in shown_page
    assert admin_client.get(url(sticker, "picture")).status_code == 404
    assert admin_client.get(url(sticker, "still")).status_code == 404


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, {"a", "b", "c", "d"}),
        ({"where": "catalogue"}, {"c"}),
        ({"where": "chats"}, {"a", "b", "d"}),
        ({"state__exact": "review"}, {"d"}),
        ({"pinned__exact": "1"}, {"b"}),
        ({"q": "sorry"}, {"b"}),
        ({"q": "开心"}, {"c"}),
        ({"q": "LOL"}, {"d"}),
    ],
)
def test_the_gallery_is_narrowed_and_searched(
    admin_client: Client, query: dict[str, str], found: set[str]
) -> None:
    chat = make_chat()
    stickers = {
        "a": shown(chat, "hello"),
        "b": shown(chat, "sorry", pinned=True),
        "c": shown(None, "joy", moods=["happy", "开心"]),
        "d": shown(make_chat(), "fun", words="lol", state="review"),
    }
    rows = admin_client.get(reverse(LIST), query).context["cl"].result_list
    assert {name for name, sticker in stickers.items() if sticker in rows} == found


def test_the_gallery_is_narrowed_to_a_chat(admin_client: Client) -> None:
    chat = make_chat(title="Book club")
    shown(chat, "inside")
    shown(make_chat(), "elsewhere")
    assert "Book club" in gallery(admin_client)
    narrowed = gallery(admin_client, chat=chat.pk)
    assert "inside" in narrowed
    assert "elsewhere" not in narrowed


def test_the_gallery_is_paged_and_flat_in_queries(admin_client: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            gallery(admin_client)
        return len(seen)

    shown(make_chat())
    queries()
    few = queries()
    for _ in range(60):
        shown(make_chat(), moving=False)
    assert queries() == few
    assert gallery(admin_client).count('class="arise-card arise-sticker"') == 48


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_model_says_of_a_sticker_is_text(admin_client: Client, text: str) -> None:
    given = {"use_when": text, "avoid_when": text, "words": text, "moods": [text[:40]]}
    chat = make_chat(title=text)
    sticker = shown(chat, text, moving=True, market_face={"summary": text}, **given)
    pages = [
        admin_client.get(reverse(LIST)),
        admin_client.get(reverse(LIST), {"q": text}),
        admin_client.get(url(sticker)),
        log_in(Client(), "view_sticker").get(url(sticker)),
        admin_client.get(reverse("admin:stickers_sticker_funnel"), {"chat": chat.pk}),
        admin_client.get(reverse("admin:stickers_sticker_try"), {"chat": str(chat.pk), "q": text}),
        press(admin_client, sticker, "take_down"),
    ]
    for answer in pages:
        assert answer.status_code == 200
        body = answer.content.decode()
        for bad in ("<script>alert", "<img src=x", "<svg onload", "<iframe src", "<b>evil", "' on"):
            assert bad not in body
        assert text in html.unescape(body)


# Pictures


def test_a_picture_goes_out_as_what_it_is_and_for_nothing_else(admin_client: Client) -> None:
    sticker = shown(moving=True)
    answer = admin_client.get(url(sticker, "picture"))
    assert answer.content == store.read(sticker.picture.sha256)
    assert answer["Content-Type"] == "image/gif"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("default-src 'none'")
    assert "private" in answer["Cache-Control"]
    assert "public" not in answer["Cache-Control"]
    again = admin_client.get(url(sticker, "picture"), headers={"if-none-match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_still_of_one_that_moves_is_its_first_frame(admin_client: Client) -> None:
    sticker = shown(moving=True)
    answer = admin_client.get(url(sticker, "still"))
    assert answer["Content-Type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    assert b"acTL" not in answer.content
    assert answer["ETag"] != admin_client.get(url(sticker, "picture"))["ETag"]
    quiet = shown()
    assert admin_client.get(url(quiet, "still")).content == store.read(quiet.picture.sha256)


def test_what_was_taken_down_is_not_answered_from_the_cache(admin_client: Client) -> None:
    sticker = shown()
    tag = admin_client.get(url(sticker, "picture"))["ETag"]
    Picture.objects.update(sha256="")
    again = admin_client.get(url(sticker, "picture"), headers={"if-none-match": tag})
    assert again.status_code == 404


@pytest.mark.parametrize("kind", ["image/svg+xml", "text/html", ""])
def test_nothing_but_pictures_goes_out(admin_client: Client, kind: str) -> None:
    sticker = shown(content=b"<script>alert(1)</script>")
    StoredMedia.objects.update(media_type=kind)
    for name in ("picture", "still"):
        assert admin_client.get(url(sticker, name)).status_code == 404


def test_broken_bytes_are_no_fault(admin_client: Client) -> None:
    sticker = shown(content=b"GIF89a broken", moving=True)
    assert admin_client.get(url(sticker, "still")).status_code == 404


@pytest.mark.parametrize("name", ["picture", "still"])
def test_pictures_are_for_who_may_see_stickers(client: Client, name: str) -> None:
    sticker = shown(moving=True)
    answer = client.get(url(sticker, name))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("admin:login"))
    client.force_login(User.objects.create(username="nobody"))
    assert client.get(url(sticker, name)).status_code == 302
    assert log_in(client, "view_chat").get(url(sticker, name)).status_code == 403


def test_a_looker_sees_pictures(looker: Client) -> None:
    assert looker.get(url(shown(), "picture")).status_code == 200


# What is done


def test_a_looker_is_offered_no_act_and_can_do_none(looker: Client) -> None:
    waiting, sticker = shown(make_chat(), state="review"), shown(make_chat(), pinned=True)
    for address in (reverse(LIST), url(waiting), url(sticker)):
        body = page(looker, address)
        assert "<textarea" not in body
        assert 'name="act"' not in body
        assert 'class="action-select"' not in body
    for act in ACTS:
        for row in (waiting, sticker):
            assert press(looker, row, act, confirmed="1").status_code == 403
            assert bulk(looker, act, row, confirmed="1").status_code == 403
    assert looker.post(url(sticker), typed(sticker, meaning="x")).status_code == 403
    assert sorted(Sticker.objects.values_list("state", "meaning", "pinned")) == [
        ("review", "thanks a lot", False),
        ("stored", "thanks a lot", True),
    ]


@pytest.mark.parametrize(
    ("right", "allowed"),
    [
        ("change_sticker", {"approve", "pin", "unpin", "reject"}),
        ("add_sticker", {"promote"}),
        ("delete_sticker", {"take_down"}),
    ],
)
def test_each_act_needs_its_right(client: Client, right: str, allowed: set[str]) -> None:
    log_in(client, "view_sticker", right)
    for act in ACTS:
        sticker = shown(make_chat(), state="review", pinned=act == "unpin")
        assert (press(client, sticker, act).status_code == 200) == (act in allowed)
        assert (bulk(client, act, sticker).status_code == 200) == (act in allowed)


@pytest.mark.parametrize(
    ("act", "before", "after"),
    [
        ("approve", {"state": "review"}, {"state": "stored"}),
        ("reject", {}, {"state": "rejected", "meaning": ""}),
        ("pin", {}, {"pinned": True}),
        ("unpin", {"pinned": True}, {"pinned": False}),
        ("promote", {}, {"chat": None}),
    ],
)
@pytest.mark.parametrize("many", [True, False])
def test_acts_are_done_with_one_and_with_many(
    admin_client: Client, admin_user: User, act: str, before: Any, after: Any, many: bool
) -> None:
    stickers = [shown(make_chat(), **before) for _ in range(3 if many else 1)]
    other = shown(make_chat(), **before)
    answer = bulk(admin_client, act, *stickers) if many else press(admin_client, stickers[0], act)
    assert told(answer)[0].startswith(f"{len(stickers)} sticker")
    keys = [sticker.pk for sticker in stickers]
    assert Sticker.objects.filter(pk__in=keys, **after).count() == len(stickers)
    assert not Sticker.objects.filter(pk=other.pk, **after).exists()
    assert LogEntry.objects.filter(user=admin_user).count() == len(stickers)


def test_many_of_which_some_do_not_fit_are_told_apart(admin_client: Client) -> None:
    waiting, stored = shown(make_chat(), state="review"), shown(make_chat())
    (said,) = told(bulk(admin_client, "approve", waiting, stored))
    assert said.startswith("1 sticker was approved. 1 was left as it is")
    (said,) = told(bulk(admin_client, "approve", waiting, stored))
    assert said.startswith("2 were left as they are")


def test_what_was_learned_with_lines_is_not_promoted_unread(admin_client: Client) -> None:
    sticker = shown(make_chat(), picture={"shareable": False})
    bulk(admin_client, "promote", sticker)
    assert Sticker.objects.get().chat is not None
    assert "read it before you promote it" in page(admin_client, url(sticker))
    press(admin_client, sticker, "promote")
    assert Sticker.objects.get().chat is None


def test_taking_down_is_asked_once_more(admin_client: Client, admin_user: User) -> None:
    first, second = shown(make_chat(), "first of them"), shown(make_chat())
    shown(make_chat(), picture=first.picture)
    for answer in (bulk(admin_client, "take_down", first), press(admin_client, first, "take_down")):
        body = answer.content.decode()
        assert "first of them" in body
        assert "be undone" in body
    assert Sticker.objects.count() == 3
    press(admin_client, first, "take_down", confirmed="1")
    assert list(Sticker.objects.all()) == [second]
    bulk(admin_client, "take_down", second, confirmed="1")
    assert not Sticker.objects.exists()
    assert {picture.verdict for picture in Picture.objects.all()} == {"removed"}
    refs = LogEntry.objects.filter(user=admin_user).values_list("object_repr", flat=True)
    assert sorted(refs) == sorted([first.ref, second.ref])
    assert press(admin_client, second, "take_down", confirmed="1").status_code == 404


def test_no_row_is_deleted(admin_client: Client) -> None:
    sticker = shown()
    address = reverse("admin:stickers_sticker_delete", args=[sticker.pk])
    assert admin_client.post(address, {"post": "yes"}).status_code == 403
    assert bulk(admin_client, "delete_selected", sticker, post="yes").status_code == 403
    assert Sticker.objects.exists()


def test_acts_are_posted(admin_client: Client) -> None:
    sticker = shown(state="review")
    assert admin_client.get(url(sticker, "act"), {"act": "approve"}).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    log_in(strict, "view_sticker", "change_sticker")
    assert strict.post(url(sticker, "act"), {"act": "approve"}).status_code == 403
    assert state(sticker) == "review"


# Wording


def test_what_it_means_is_worded_anew(admin_client: Client, admin_user: User) -> None:
    sticker = shown(make_chat(), "old", moods=["sad"])
    data = typed(sticker, meaning=" new\r\nline ", moods="happy， 开心、happy", words="哈哈\x00")
    answer = admin_client.post(url(sticker), data, follow=True)
    assert told(answer) == ["Saved. Searches find it by its new meaning."]
    row = Sticker.objects.get()
    assert (row.meaning, row.moods) == ("new\nline", ["happy", "开心"])
    assert LogEntry.objects.get().user == admin_user


def test_who_comes_second_loses_no_word(admin_client: Client) -> None:
    sticker = shown(meaning="old")
    form = typed(sticker, meaning="mine")
    Sticker.objects.update(meaning="theirs")
    answer = admin_client.post(url(sticker), form)
    body = html.unescape(answer.content.decode())
    assert "Somebody else has changed this sticker" in body
    assert "mine</textarea>" in body
    assert Sticker.objects.get().meaning == "theirs"


@pytest.mark.parametrize(
    "wrong",
    [
        {"meaning": " "},
        {"meaning": "x" * 501},
        {"moods": ",".join(map(str, range(17)))},
        {"moods": "x" * 41},
        {"seen": ""},
    ],
)
def test_a_wrong_wording_changes_nothing(admin_client: Client, wrong: dict[str, str]) -> None:
    sticker = shown(meaning="old")
    answer = admin_client.post(url(sticker), typed(sticker, **{"meaning": "new"} | wrong))
    assert answer.status_code == 200
    assert Sticker.objects.get().meaning == "old"


def test_a_rejected_one_can_not_be_worded(admin_client: Client) -> None:
    sticker = shown(meaning="", state="vetoed")
    assert "<textarea" not in page(admin_client, url(sticker))
    assert admin_client.post(url(sticker), typed(sticker, meaning="x")).status_code == 403


@pytest.mark.parametrize("key", ["9", "x"])
def test_what_is_not_there_is_not_found(admin_client: Client, key: str) -> None:
    address = reverse("admin:stickers_sticker_change", args=[key])
    assert admin_client.get(address).status_code == 404


def test_the_history_of_a_sticker_is_shown(admin_client: Client) -> None:
    sticker = shown(state="review")
    press(admin_client, sticker, "approve")
    assert "Approved." in page(admin_client, url(sticker, "history"))
