"""Pictures on their way into the catalogue: what is taken, what not and why, and who says what they
mean."""

import html
from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from core.media import store
from stickers import catalogue
from stickers.models import Picture, Sticker
from tests.core.media.drawing import animation, picture
from tests.fakes.model import Script, ScriptedModel
from tests.fakes.model_fixtures import script, scripted_model
from tests.stickers.showing import keep, shown

__all__ = ["script", "scripted_model"]

pytestmark = pytest.mark.django_db

UPLOAD = "admin:stickers_sticker_upload"
TOOL = "describe_sticker"


def send(client: Client, *files: tuple[str, bytes]) -> Any:
    sent = [SimpleUploadedFile(name, content) for name, content in files]
    return client.post(reverse(UPLOAD), {"files": sent})


def tray(client: Client) -> list[str]:
    return [card.sha256 for card in client.get(reverse(UPLOAD)).context["cards"]]


def typed(digest: str, **texts: str) -> dict[str, str]:
    return {"tray": "1", **{f"{digest[:16]}-{name}": text for name, text in texts.items()}}


def click(client: Client, button: str, value: str = "1", **fields: str) -> Any:
    return client.post(reverse(UPLOAD), {"tray": "1", button: value, **fields})


def told(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def sentences(answer: Any) -> dict[str, str]:
    return {file.name: file.sentence for file in answer.context["refused"]}


def test_what_can_be_taken_is_and_the_rest_is_told_file_by_file(admin_client: Client) -> None:
    large = b"\x89PNG\r\n\x1a\n" + b"x" * (8 * 1024 * 1024)
    answer = send(
        admin_client,
        ("good.png", picture()),
        ("words.txt", b"no picture"),
        ("vector.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("moves.gif", animation()),
        ("broken.png", picture()[:40]),
        ("large.png", large),
        ("again.png", picture()),
        ("empty.png", b""),
    )
    assert answer.status_code == 200
    assert told(answer) == ["2 pictures were taken."]
    assert list(sentences(answer)) == [
        "words.txt",
        "vector.svg",
        "broken.png",
        "large.png",
        "again.png",
        "empty.png",
    ]
    assert len(tray(admin_client)) == 2
    assert not Sticker.objects.exists()
    for refused in sentences(answer).values():
        assert html.escape(refused) in answer.content.decode()


def test_what_is_there_or_was_taken_down_is_not_taken(admin_client: Client) -> None:
    here, gone = picture(color="blue"), picture(color="green", size=(64, 64))
    catalogue.add(here, meaning="calm")
    removed = catalogue.add(gone, meaning="envy").picture
    Sticker.objects.filter(picture=removed).delete()
    Picture.objects.filter(pk=removed.pk).update(verdict="removed", sha256="")
    answer = send(admin_client, ("here.png", here), ("gone.png", gone))
    assert "has this picture already" in sentences(answer)["here.png"]
    assert "was taken down" in sentences(answer)["gone.png"]
    assert tray(admin_client) == []


def test_at_most_so_many_are_taken_at_once(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stickers.admin.uploading.MOST_FILES", 1)
    answer = send(admin_client, ("a.png", picture(color="red")), ("b.png", picture(color="blue")))
    assert list(sentences(answer)) == ["b.png"]
    assert len(tray(admin_client)) == 1


def test_each_goes_into_the_catalogue_with_its_meaning(
    admin_client: Client, admin_user: User
) -> None:
    send(admin_client, ("a.png", picture(color="red")), ("b.gif", animation()))
    first, second = tray(admin_client)
    texts = typed(first, meaning="anger", use_when="u", avoid_when="a", moods="a，b", words="w")
    answer = click(admin_client, "add", **texts)
    assert told(answer) == ["1 sticker is now in the catalogue."]
    sticker = Sticker.objects.get()
    assert (sticker.chat, sticker.state, sticker.meaning) == (None, "stored", "anger")
    assert (sticker.use_when, sticker.moods, sticker.words) == ("u", ["a", "b"], "w")
    assert sticker.picture.sha256 == first
    assert tray(admin_client) == [second]
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_repr) == (admin_user, sticker.ref)


def test_without_a_meaning_nothing_is_added(admin_client: Client) -> None:
    send(admin_client, ("a.png", picture()))
    (digest,) = tray(admin_client)
    assert told(click(admin_client, "add")) == ["None of them has a meaning yet."]
    answer = click(admin_client, "add", **typed(digest, moods="sad"))
    assert "This field is required." in answer.content.decode()
    assert not Sticker.objects.exists()
    assert tray(admin_client) == [digest]


def test_one_that_another_operator_took_down_meanwhile_is_told(admin_client: Client) -> None:
    send(admin_client, ("a.png", picture()))
    (digest,) = tray(admin_client)
    removed = catalogue.add(picture(), meaning="x").picture
    Sticker.objects.all().delete()
    Picture.objects.filter(pk=removed.pk).update(verdict="removed")
    answer = click(admin_client, "add", **typed(digest, meaning="m"))
    assert "was taken down" in answer.content.decode()
    assert not Sticker.objects.exists()


def test_one_can_be_left_out(admin_client: Client, django_capture_on_commit_callbacks: Any) -> None:
    send(admin_client, ("a.png", picture()))
    (digest,) = tray(admin_client)
    with django_capture_on_commit_callbacks(execute=True):
        click(admin_client, "drop", digest)
    assert tray(admin_client) == []
    assert store.read(digest) is None


def test_nobody_leaves_out_what_is_not_in_his_tray(
    admin_client: Client, django_capture_on_commit_callbacks: Any
) -> None:
    digest = keep(picture(color="pink"))  # a colleague's, to which nothing refers yet
    with django_capture_on_commit_callbacks(execute=True):
        click(admin_client, "drop", digest)
    assert store.read(digest)


def test_a_tray_is_its_persons_alone(admin_client: Client) -> None:
    send(admin_client, ("a.gif", animation()))
    (digest,) = tray(admin_client)
    colleague = log_in("view_sticker", "add_sticker")
    for name in ("tray", "tray_still"):
        address = reverse(f"admin:stickers_sticker_{name}", args=[digest])
        assert admin_client.get(address).status_code == 200
        assert colleague.get(address).status_code == 404
        assert Client().get(address).status_code == 302
    assert tray(colleague) == []
    other = shown().picture.sha256
    address = reverse("admin:stickers_sticker_tray", args=[other])
    assert admin_client.get(address).status_code == 404


def log_in(*rights: str) -> Client:
    person = User.objects.create(username=f"person{User.objects.count()}", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = Client()
    client.force_login(person)
    return client


def test_uploading_needs_its_right() -> None:
    client = log_in("view_sticker", "change_sticker", "delete_sticker")
    # The tray of somebody who has lost the right meanwhile.
    address = reverse("admin:stickers_sticker_tray", args=["a" * 64])
    assert client.get(address).status_code == 403
    assert client.get(reverse(UPLOAD)).status_code == 403
    assert send(client, ("a.png", picture())).status_code == 403
    assert "Upload" not in client.get(reverse("admin:stickers_sticker_changelist")).content.decode()


# By the model


@pytest.fixture
def seeing(script: Script, scripted_model: ScriptedModel, settings: Any) -> Script:
    """A model that takes pictures and says what a test scripted."""
    settings.ARISE_MODEL_BASE_URL = scripted_model.url
    settings.ARISE_VISION_MODEL = script.model
    return script


def ask(client: Client, seeing: Script, *told: dict[str, Any]) -> Any:
    """Send a picture and ask the model what it means."""
    send(client, ("a.png", picture()))
    seeing.reply(tool_calls=[(TOOL, each) for each in told])
    (digest,) = tray(client)
    return click(client, "ask", digest)


def test_the_model_says_what_it_means_and_a_person_decides(
    admin_client: Client, seeing: Script
) -> None:
    said = {
        "meaning": "<b>thanks</b>",
        "sensitive": False,
        "moods": ["感激", "warm"],
        "words": "ta",
    }
    answer = ask(admin_client, seeing, said)
    body = answer.content.decode()
    assert "&lt;b&gt;thanks&lt;/b&gt;</textarea>" in body
    assert "感激, warm</textarea>" in body
    assert not Sticker.objects.exists()
    assert len(tray(admin_client)) == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([{"meaning": "a face", "sensitive": True}], "finds this picture sensitive"),
        ([{"meaning": "a face"}], "did not say whether it is sensitive"),
        ([], "answered without the tool"),
    ],
)
def test_an_answer_that_is_none_fills_nothing(
    admin_client: Client, seeing: Script, said: Sequence[dict[str, Any]], words: str
) -> None:
    answer = ask(admin_client, seeing, *said)
    assert words in " ".join(told(answer))
    assert "a face" not in answer.content.decode()


def test_where_no_model_takes_stickers_none_is_asked(admin_client: Client, settings: Any) -> None:
    settings.ARISE_VISION_MODEL, settings.ARISE_CHAT_MODEL_KINDS = "", ()
    send(admin_client, ("a.png", picture()))
    (digest,) = tray(admin_client)
    assert "Ask the model" not in admin_client.get(reverse(UPLOAD)).content.decode()
    assert told(click(admin_client, "ask", digest)) == ["No model takes stickers."]
