"""What the environment may say, and the one line that a wrong value gets."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from arise_site import env


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "abc", "PORT: Input should be a valid integer"),
        ("PORT", "70000", "PORT: Input should be less than or equal to 65535"),
        ("ARISE_DEBOUNCE_SECONDS", "-1", "ARISE_DEBOUNCE_SECONDS: Input should be greater"),
        ("DATABASE_URL", "nonsense", "DATABASE_URL: is no postgresql:// address"),
        ("DATABASE_URL", "sqlite:///x", "DATABASE_URL: is no postgresql:// address"),
        ("REDIS_URL", "localhost", "REDIS_URL: is no redis://"),
        ("TIME_ZONE", "Mars/Foo", "TIME_ZONE: is no time zone"),
        ("TIME_ZONE", "../../etc/passwd", "TIME_ZONE: is no time zone"),
        ("ARISE_LOG_LEVEL", "blah", "ARISE_LOG_LEVEL: is none of DEBUG, INFO"),
        ("ARISE_CHAT_MODEL_KINDS", "image, smell", "ARISE_CHAT_MODEL_KINDS: takes image, sticker"),
        ("ARISE_MEDIA_ALLOWED_HOSTS", "http://nas/", "ARISE_MEDIA_ALLOWED_HOSTS: takes hosts, as"),
    ],
)
def test_a_wrong_value_gets_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as caught:
        env.read()
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_an_empty_value_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "")
    assert env.read().port == 8000


def test_levels_are_taken_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARISE_LOG_LEVEL", "debug")
    assert env.read().arise_log_level == "DEBUG"
