"""A sticker that waits for review is shown with its picture."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from tests import factories
from tests.stickers.making import make_sticker

pytestmark = pytest.mark.django_db


def test_a_card_shows_the_sticker_that_would_go(admin_client: Client) -> None:
    chat = factories.make_chat(delivery_mode="review")
    sticker = make_sticker(chat, "thanks <a> lot")
    part = {"type": "sticker", "data": {"ref": sticker.ref}}
    for parts in ([part], [{"type": "sticker", "data": {"ref": "gone"}}]):
        made = {"held": "review", "parts": parts}
        factories.make_sent(chat, "", "pending", kind="sticker", entry=made)
    answer = admin_client.get(reverse("admin:core_outboxentry_review"))
    shown, unknown = answer.context["cards"]
    assert reverse("admin:stickers_sticker_picture", args=[sticker.pk]) in shown.preview
    assert "thanks &lt;a&gt; lot" in shown.preview
    assert unknown.preview == ""
    assert "<textarea" not in answer.content.decode()


def test_a_sticker_that_was_sent_is_shown_in_the_conversation_and_its_spare_words_as_such(
    admin_client: Client,
) -> None:
    chat = factories.make_chat()
    sticker = make_sticker(chat, "thanks <a> lot")
    made = {"parts": [{"type": "sticker", "data": {"ref": sticker.ref}}]}
    factories.make_sent(chat, "thank you", "unknown", kind="sticker", entry=made)
    url = reverse("admin:core_chat_conversation", args=[chat.pk])
    told = admin_client.get(url, {"part": "lines"}).content.decode()
    assert reverse("admin:stickers_sticker_picture", args=[sticker.pk]) in told
    assert "thanks &lt;a&gt; lot" in told
    assert "if it can" in told


def test_the_lines_around_name_what_is_no_words(admin_client: Client) -> None:
    chat = factories.make_chat(delivery_mode="review")
    factories.make_item(chat, "", parts=[{"type": "sticker", "data": {"id": "md5:x"}}])
    made = {"parts": [{"type": "sticker", "data": {"ref": make_sticker(chat).ref}}]}
    factories.make_sent(chat, "spare", "sent", kind="sticker", entry=made)
    factories.make_sent(chat, "wait", "pending", entry={"held": "review"})
    answer = admin_client.get(reverse("admin:core_outboxentry_review"))
    (card,) = answer.context["cards"]
    assert [strip_tags(line.said) for line in card.lines] == ["[sticker]", "[sticker]"]
