"""Who is admitted, in every spelling, and what is kept of those who are not."""

import pytest

from botgateway import auth
from botgateway.auth import Admission, Handshake
from botgateway.models import Connection, RefusedConnection
from core import tokens
from core.models import Bot
from tests.factories import make_bot, make_connection, make_refusal

pytestmark = pytest.mark.django_db
TOKEN = "right"


@pytest.fixture
def bot() -> Bot:
    return make_bot("10000", token_hash=tokens.hash_token(TOKEN))


def admit(query: str = "", **headers: str) -> Admission | str:
    given = {"x-self-id": "10000", "authorization": f"Bearer {TOKEN}"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    shown = {name: value for name, value in given.items() if value != "absent"}
    return auth.admit(Handshake(shown, query, "192.0.2.1"), process="host:1")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": f"bearer {TOKEN}"},
        {"authorization": f"Token {TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": "absent", "query": f"access_token={TOKEN}"},
        {"authorization": "Bearer ", "query": f"access_token={TOKEN}"},
        {"x_client_role": "Universal"},
        {"x_client_role": "API"},
        {"x_client_role": "eVENT"},
        {"x_client_role": ""},
    ],
)
def test_tokens_and_roles_are_taken_as_implementations_send_them(
    bot: Bot, headers: dict[str, str]
) -> None:
    assert isinstance(admit(**headers), Admission)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"x_self_id": "absent"}, "no_self_id"),
        ({"x_self_id": "999"}, "unknown_bot"),
        ({"authorization": "absent"}, "no_token"),
        ({"authorization": "Bearer "}, "no_token"),
        ({"authorization": "Bearer wrong"}, "wrong_token"),
        ({"authorization": "Bearer", "query": "access_token="}, "no_token"),
        ({"x_client_role": "Admin"}, "unknown_role"),
    ],
)
def test_everybody_else_is_refused_and_kept_with_the_reason(
    bot: Bot, headers: dict[str, str], reason: str
) -> None:
    assert admit(**headers) == reason
    assert admit(**headers) == reason
    refusal = RefusedConnection.objects.get()
    assert (refusal.reason, refusal.attempts, refusal.remote_address) == (reason, 2, "192.0.2.1")
    assert not Connection.objects.exists()


def test_a_bot_without_a_token_admits_nobody() -> None:
    make_bot("10000", token_hash="")
    assert admit(authorization="Bearer ") == "no_token"
    assert admit(authorization="Bearer x") == "wrong_token"


def test_a_disabled_bot_is_told_only_to_who_has_its_token(bot: Bot) -> None:
    Bot.objects.update(enabled=False)
    assert admit() == "disabled_bot"
    assert admit(authorization="Bearer wrong") == "wrong_token"


def test_the_newest_connection_that_can_send_becomes_the_bots(bot: Bot) -> None:
    first = admit()
    assert isinstance(first, Admission)
    admit(x_client_role="Event")
    bot.refresh_from_db()
    assert bot.connection_number == first.connection_number
    second = admit(x_client_role="Api")
    assert isinstance(second, Admission)
    bot.refresh_from_db()
    assert bot.connection_number == second.connection_number > first.connection_number


def test_a_flood_of_strangers_is_bounded_and_hides_nobody_who_comes_after_it() -> None:
    for number in range(auth.MOST_REFUSALS_KEPT):
        make_refusal(self_id=f"flood-{number}")
    for self_id in ("20000", "20001"):
        assert admit(x_self_id=self_id) == "unknown_bot"
    kept = set(RefusedConnection.objects.values_list("self_id", flat=True))
    assert len(kept) == auth.MOST_REFUSALS_KEPT
    assert {"20000", "20001"} <= kept
    assert "flood-0" not in kept


def test_a_late_handshake_does_not_take_the_right_to_send_from_a_newer_connection(
    bot: Bot,
) -> None:
    Bot.objects.update(connection_number=2**40)
    admit()
    bot.refresh_from_db()
    assert bot.connection_number == 2**40


@pytest.mark.parametrize("told", [[], [True], [True, False, None]])
def test_an_admitted_bot_is_expected_to_report_as_it_was_last_known_to(
    bot: Bot, told: list[bool | None]
) -> None:
    for reports_own in told:
        make_connection(bot, reports_own=reports_own)
    make_connection(reports_own=True)
    admission = admit()
    assert isinstance(admission, Admission)
    known = [one for one in told if one is not None]
    assert admission.reported_own is (known[-1] if known else None)
