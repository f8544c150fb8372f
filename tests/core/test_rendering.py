"""What the text of a message becomes in a chat: text, and what the host made of the tags allowed."""

import pytest

from core import rendering
from core.models import Chat
from tests.factories import make_chat, make_effective, make_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    chat = make_chat()
    make_member(chat, user_id="10002", name="Ann")
    return chat


def parts(chat: Chat, text: str, *holds: str) -> list[tuple[str, object]]:
    """The parts of a message where these tags hold: type, and the text or the id."""
    renderers = rendering.renderers(chat, make_effective(*holds))
    made = rendering.parts(text, renderers)
    return [(part["type"], part["data"].get("text", part["data"].get("id"))) for part in made]


def test_tags_that_hold_become_parts_where_they_stand(chat: Chat) -> None:
    text = "大家好@all，@user:10002你好@face:76!"
    assert parts(chat, text, "tag.all", "tag.user", "tag.face") == [
        ("text", "大家好"),
        ("mention", "all"),
        ("text", "，"),
        ("mention", "10002"),
        ("text", "你好"),
        ("face", "76"),
        ("text", "!"),
    ]


def test_tags_that_do_not_hold_are_cut_and_nothing_else(chat: Chat) -> None:
    assert parts(chat, "大家好 @all ，@user:10002 (｡･ω･｡)") == [("text", "大家好  ， (｡･ω･｡)")]


@pytest.mark.parametrize(
    "tag", ["@all:1", "@user", "@user:10009", "@face", "@face:x", "@face:12345", "@user:-"]
)
def test_a_parameter_that_does_not_fit_is_cut(chat: Chat, tag: str) -> None:
    assert parts(chat, f"a {tag} b", "tag.all", "tag.user", "tag.face") == [("text", "a  b")]


def test_who_has_left_is_not_mentioned(chat: Chat) -> None:
    gone = make_member(chat, user_id="10003")
    gone.left_at = gone.last_seen_at
    gone.save()
    assert parts(chat, "hi @user:10003", "tag.user") == [("text", "hi ")]


def test_somebody_of_another_chat_is_not_mentioned(chat: Chat) -> None:
    make_member(make_chat(chat.bot), user_id="10004")
    assert parts(chat, "hi @user:10004", "tag.user") == [("text", "hi ")]


@pytest.mark.parametrize("text", ["@all", " @user:1 \n", "@face:76"])
def test_of_a_message_that_is_empty_after_cutting_nothing_is_left(chat: Chat, text: str) -> None:
    assert parts(chat, text) == []


def test_a_message_of_a_tag_alone_says_something(chat: Chat) -> None:
    assert parts(chat, "@face:76", "tag.face") == [("face", "76")]
