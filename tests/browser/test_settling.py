"""An operator settles messages of unknown outcome in the console."""

import pytest
from django.urls import reverse

from core.models import OutboxEntry, SentMessage
from tests import factories
from tests.browser.conftest import PHONE, Browser

pytestmark = pytest.mark.browser


def page_of(message: SentMessage) -> str:
    return reverse("admin:core_sentmessage_change", args=[message.pk])


def states() -> list[str]:
    return list(OutboxEntry.objects.order_by("pk").values_list("state", flat=True))


@pytest.mark.parametrize(
    ("button", "state"), [("It was sent", "sent"), ("It was not sent", "failed")]
)
def test_one_click_settles_a_message(operator: Browser, button: str, state: str) -> None:
    message = factories.make_sent(content="who knows", state="unknown")
    operator.open(page_of(message))
    operator.button(button).click()
    assert operator.sees("Settled by hand: it was")
    assert states() == [state]
    assert "It was sent" not in operator.buttons()
    assert operator.complaints() == []


def test_the_id_is_typed_beside_the_button(operator: Browser) -> None:
    message = factories.make_sent(state="unknown")
    operator.open(page_of(message))
    operator.find("[name=message_id]").send_keys("7001")
    operator.button("It was sent").click()
    assert operator.sees("with the message id 7001")
    assert OutboxEntry.objects.get().platform_message_id == "7001"


def test_the_landing_page_leads_to_a_list_that_settles_many(operator: Browser) -> None:
    for _ in range(2):
        factories.make_sent(state="unknown")
    factories.make_sent(state="sent")
    operator.open(reverse("admin:index"))
    operator.find("a[href*='entry__state__exact=unknown']").click()
    operator.find("#action-toggle").click()
    operator.find("select[name=action] option[value=was_not_done]").click()
    operator.button("Run").click()
    assert operator.sees("2 were settled.")
    assert sorted(states()) == ["failed", "failed", "sent"]
    assert operator.complaints() == []


def test_a_messages_page_fits_a_phone(operator: Browser) -> None:
    message = factories.make_sent(content="words " * 200, state="unknown")
    factories.make_entry(message, action="recall", target=message.entry, content="")
    operator.resize(PHONE)
    operator.open(page_of(message))
    assert operator.button("It was sent").is_displayed()
    assert not operator.is_too_wide()
