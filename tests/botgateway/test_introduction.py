"""What is kept of the other side."""

import pytest

from botgateway import platforms
from tests.factories import make_bot


@pytest.mark.django_db
def test_what_an_older_connection_tells_late_is_not_kept() -> None:
    bot = make_bot(connection_number=2)
    platforms.keep(bot.pk, 2, app_name="NapCat.Onebot", app_version="4.8.100")
    platforms.keep(bot.pk, 1, app_name="onebots", app_version="1")
    bot.refresh_from_db()
    assert platforms.dialect_of(bot).name == "NapCat"
