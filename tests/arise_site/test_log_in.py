"""Being let into the console: the throttle, the session, the second factor, the policy of the pages."""

import re
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from arise_site import log_in, second_factor

pytestmark = pytest.mark.django_db

PASSWORD = "a-password-of-the-test"
LOGIN, INDEX = "/admin/login/", "/admin/"
ASK, SET_UP = "/admin/second-factor/code/", "/admin/second-factor/set-up/"
OVERVIEW = "/admin/second-factor/"


@pytest.fixture
def ann() -> User:
    return User.objects.create_superuser("ann", password=PASSWORD)


def enter(client: Client, password: str = PASSWORD, **kwargs: Any) -> int:
    form = {"username": "ann", "password": password, "next": INDEX}
    return client.post(LOGIN, form, **kwargs).status_code


def is_in(client: Client) -> bool:
    return client.get(INDEX).status_code == 200


def code_of(device: TOTPDevice, ahead: int = 0) -> str:
    """What the app shows now, or some steps later."""
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time() + ahead * device.step
    return f"{totp.token():06d}"


# The throttle.


def test_after_too_many_wrong_passwords_the_right_one_does_not_help_for_a_while(ann: User) -> None:
    client = Client()
    assert [enter(client, "wrong") for _ in range(4)] == [200] * 4
    assert enter(client, "wrong") == 429
    assert enter(client) == 429
    page = client.post(LOGIN, {"username": "ann", "password": PASSWORD})
    assert "quarter of an hour" in page.content.decode()
    assert not is_in(client)


def test_the_lock_ends_by_itself(ann: User) -> None:
    client = Client()
    with time_machine.travel("2026-03-01 12:00", tick=False):
        for _ in range(5):
            enter(client, "wrong")
    with time_machine.travel("2026-03-01 12:14", tick=False):
        assert enter(client) == 429
    with time_machine.travel("2026-03-01 12:16", tick=False):
        assert enter(client) == 302


def test_the_lock_is_for_one_name_from_one_address(ann: User) -> None:
    for _ in range(5):
        enter(Client(), "wrong", REMOTE_ADDR="203.0.113.5")
    assert enter(Client(), REMOTE_ADDR="203.0.113.5") == 429
    assert enter(Client(), REMOTE_ADDR="203.0.113.6") == 302
    User.objects.create_superuser("bob", password=PASSWORD)
    form = {"username": "bob", "password": PASSWORD}
    assert Client().post(LOGIN, form, REMOTE_ADDR="203.0.113.5").status_code == 302


def test_a_right_password_begins_the_count_anew(ann: User) -> None:
    for _ in range(2):
        assert [enter(Client(), "wrong") for _ in range(4)] == [200] * 4
        assert enter(Client()) == 302


def test_an_owner_lets_people_in_again(ann: User) -> None:
    for _ in range(5):
        enter(Client(), "wrong")
    owner = Client()
    owner.force_login(User.objects.create_superuser("first"))
    chosen = {"action": "let_in_again", "_selected_action": [ann.pk], "index": 0}
    owner.post(reverse("admin:auth_user_changelist"), chosen)
    assert enter(Client()) == 302


def test_a_browser_can_not_choose_its_address(settings: Any) -> None:
    told = {"x-forwarded-for": "198.51.100.1, 198.51.100.2"}
    request = RequestFactory().get("/", headers=told)
    assert log_in.address(request) == "127.0.0.1"
    settings.ARISE_HTTPS = True
    assert log_in.address(request) == "198.51.100.2"


def test_a_proxy_that_tells_no_address_counts_itself(settings: Any, ann: User) -> None:
    settings.ARISE_HTTPS = True
    for told in ("garbage", "198.51.100.2:443", "::1%eth0", "1" * 5000, ""):
        request = RequestFactory().get("/", headers={"x-forwarded-for": told})
        assert log_in.address(request) == "127.0.0.1"
    assert enter(Client(), "wrong", headers={"x-forwarded-for": "garbage"}) == 200


def test_a_name_of_any_length_is_only_wrong(ann: User) -> None:
    for name in ("x" * 100_000, "x" * 255 + "y"):
        answer = Client().post(LOGIN, {"username": name, "password": PASSWORD})
        assert answer.status_code == 200


# The session.


def test_a_cookie_with_a_nul_is_a_bad_request(ann: User) -> None:
    cookie = r'arise_session="aaaaaaaaaaaa\000"'
    assert Client().get(INDEX, headers={"cookie": cookie}).status_code == 400


def test_cookies_are_closed_to_scripts_and_other_sites(ann: User) -> None:
    client = Client()
    enter(client)
    cookie = client.cookies["arise_session"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert 0 < int(cookie["max-age"]) <= 168 * 3600


def test_behind_https_cookies_are_secure(settings: Any, ann: User) -> None:
    settings.SESSION_COOKIE_SECURE = True
    client = Client()
    enter(client, secure=True)
    assert client.cookies["arise_session"]["secure"]


def test_who_asked_for_nothing_else_is_led_to_the_landing_page(ann: User) -> None:
    answer = Client().post(LOGIN, {"username": "ann", "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, INDEX)


def test_logging_out_takes_a_post(ann: User) -> None:
    client = Client()
    enter(client)
    assert client.get(reverse("admin:logout")).status_code == 405
    assert is_in(client)
    client.post(reverse("admin:logout"))
    assert not is_in(client)


def test_a_new_password_ends_other_sessions(ann: User) -> None:
    here, there = Client(), Client()
    enter(here)
    enter(there)
    form = {
        "old_password": PASSWORD,
        "new_password1": "Another-1!x",
        "new_password2": "Another-1!x",
    }
    assert here.post(reverse("admin:password_change"), form).status_code == 302
    assert is_in(here)
    assert not is_in(there)


def test_forms_take_no_post_of_other_sites(ann: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert enter(client) == 403


# What browsers are told.


@pytest.mark.parametrize("address", [LOGIN, INDEX, "/healthz", "/nowhere", "/?q=%00"])
def test_no_page_may_be_framed_or_run_foreign_scripts(admin_client: Client, address: str) -> None:
    answer = admin_client.get(address)
    assert answer["X-Frame-Options"] == "DENY"
    policy = dict(
        part.strip().partition(" ")[::2] for part in answer["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert "'unsafe-inline'" not in policy["script-src"]
    assert "http" not in answer["Content-Security-Policy"]


# The second factor.


@pytest.fixture
def device(ann: User) -> TOTPDevice:
    return TOTPDevice.objects.create(user=ann, name="app", confirmed=True)


def test_the_password_alone_opens_nothing(ann: User, device: TOTPDevice) -> None:
    client = Client()
    assert enter(client) == 302
    for address in (
        INDEX,
        "/admin/core/chat/",
        OVERVIEW,
        SET_UP,
        "/healthz",
        "/admin/autocomplete/",
    ):
        answer = client.get(address)
        if address == SET_UP:  # open without a second factor; with one it leads to the rest
            assert answer["Location"] == OVERVIEW
            continue
        assert answer.status_code == 302
        assert answer["Location"].startswith(ASK)
    assert client.post("/admin/core/chat/", {"action": "disable"}).status_code == 302


def test_the_code_opens_what_was_asked_for(ann: User, device: TOTPDevice) -> None:
    client = Client()
    enter(client)
    asked = client.get("/admin/core/chat/?kind=group")
    assert parse_qs(urlsplit(asked["Location"]).query) == {"next": ["/admin/core/chat/?kind=group"]}
    assert client.get(asked["Location"]).status_code == 200
    before = client.session.session_key
    form = {"code": f" {code_of(device)} ", "next": "/admin/core/chat/?kind=group"}
    assert client.post(ASK, form)["Location"] == "/admin/core/chat/?kind=group"
    assert client.session.session_key != before
    assert is_in(client)


@pytest.mark.parametrize("asked", ["https://elsewhere.example/", "//elsewhere.example", "nowhere"])
def test_it_leads_nowhere_else(ann: User, device: TOTPDevice, asked: str) -> None:
    client = Client()
    enter(client)
    form = {"code": code_of(device), "next": asked}
    assert client.post(ASK, form)["Location"] == INDEX


def test_a_wrong_code_opens_nothing_and_makes_one_wait(ann: User, device: TOTPDevice) -> None:
    client = Client()
    enter(client)
    wrong = f"{(int(code_of(device)) + 1) % 1_000_000:06d}"
    with time_machine.travel(time.time(), tick=False):
        for code, told in (
            (wrong, "This code is not right."),
            ("", "no backup code"),
            ("x", "no backup code"),
            ("\0", "no backup code"),
            ("9" * 40, "wait 1 second,"),
            ("１２３４５６", "wait 1 second,"),
        ):
            page = client.post(ASK, {"code": code})
            assert page.status_code == 200
            assert told in page.content.decode()
        # The right one comes too soon after them.
        page = client.post(ASK, {"code": code_of(device)})
        assert "wait 1 second," in page.content.decode()
    assert not is_in(client)


def test_a_code_counts_once(ann: User, device: TOTPDevice) -> None:
    code = code_of(device)
    for expected in (302, 200):
        client = Client()
        enter(client)
        page = client.post(ASK, {"code": code})
        assert page.status_code == expected
        assert ("was used already" in page.content.decode()) == (expected == 200)


def test_a_wait_is_told_in_seconds(ann: User, device: TOTPDevice) -> None:
    client = Client()
    enter(client)
    now = timezone.now()
    TOTPDevice.objects.update(throttling_failure_timestamp=now, throttling_failure_count=4)
    with time_machine.travel(now, tick=False):
        page = client.post(ASK, {"code": code_of(device)})
    assert "wait 8 seconds" in page.content.decode()


def test_setting_it_up_shows_a_picture_and_backup_codes_once(ann: User) -> None:
    client = Client()
    enter(client)
    page = client.get(SET_UP).content.decode()
    assert "<svg" in page
    assert "style=" not in page[page.index("<svg") : page.index("</svg>")]
    assert client.post(SET_UP, {"code": "000000"}).status_code == 200
    TOTPDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    device = TOTPDevice.objects.get()
    assert not device.confirmed
    shown = client.post(SET_UP, {"code": code_of(device)})
    codes = re.findall(r"<li><code>(\w+)</code></li>", shown.content.decode())
    assert len(codes) == len(set(codes)) == 10
    assert is_in(client)
    assert codes[0] not in client.get(OVERVIEW).content.decode()

    other = Client()
    enter(other)
    assert not is_in(other)
    assert other.post(ASK, {"code": codes[0].upper()}).status_code == 302
    assert is_in(other)
    again = Client()
    enter(again)
    assert again.post(ASK, {"code": codes[0]}).status_code == 200
    assert not is_in(again)


def test_a_key_that_was_shown_before_is_worth_nothing(ann: User) -> None:
    client = Client()
    enter(client)
    client.get(SET_UP)
    old = TOTPDevice.objects.get()
    client.get(SET_UP)
    assert TOTPDevice.objects.get().key != old.key


def test_whoever_has_only_the_password_sets_up_no_other_one(ann: User, device: TOTPDevice) -> None:
    client = Client()
    enter(client)
    client.get(SET_UP)
    client.post(SET_UP, {"code": code_of(device)})
    assert TOTPDevice.objects.get() == device
    assert not is_in(client)


def test_a_page_that_was_late_leaves_what_another_tab_has_set_up(
    ann: User, device: TOTPDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    client.force_login(ann)
    monkeypatch.setattr(second_factor, "has_one", lambda _person: False)
    assert client.get(SET_UP).status_code == 200
    assert TOTPDevice.objects.filter(pk=device.pk, confirmed=True).exists()


def test_it_is_switched_off_with_a_code(ann: User, device: TOTPDevice) -> None:
    client = Client()
    enter(client)
    client.post(ASK, {"code": code_of(device)})
    client.post(OVERVIEW, {"code": "000000", "off": "1"})
    assert TOTPDevice.objects.exists()
    TOTPDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    client.post(OVERVIEW, {"code": code_of(device, ahead=1), "off": "1"})
    assert not TOTPDevice.objects.exists()
    assert is_in(client)
    assert enter(Client()) == 302


def test_new_backup_codes_end_the_old_ones(ann: User, device: TOTPDevice) -> None:
    client = Client()
    enter(client)
    client.post(ASK, {"code": code_of(device)})
    shown = client.post(OVERVIEW, {"code": code_of(device, ahead=1), "codes": "1"})
    first = set(re.findall(r"<li><code>(\w+)</code></li>", shown.content.decode()))
    assert len(first) == 10
    assert set(StaticToken.objects.values_list("token", flat=True)) == first


def test_an_owner_takes_it_away_where_a_phone_was_lost(ann: User, device: TOTPDevice) -> None:
    User.objects.filter(pk=ann.pk).update(is_superuser=False)
    owner = User.objects.create_user("owner", is_staff=True)
    owner.user_permissions.set(Permission.objects.filter(codename__endswith="_user"))
    client = Client()
    client.force_login(owner)
    chosen = {"action": "take_second_factor", "_selected_action": [ann.pk], "index": 0}
    client.post(reverse("admin:auth_user_changelist"), chosen)
    assert not TOTPDevice.objects.exists()
    again = Client()
    enter(again)
    assert is_in(again)


def test_nobody_takes_it_from_a_mightier_one(ann: User, device: TOTPDevice) -> None:
    owner = User.objects.create_user("owner", is_staff=True)
    owner.user_permissions.set(Permission.objects.filter(codename__endswith="_user"))
    client = Client()
    client.force_login(owner)
    chosen = {"action": "take_second_factor", "_selected_action": [ann.pk], "index": 0}
    client.post(reverse("admin:auth_user_changelist"), chosen)
    assert TOTPDevice.objects.exists()


def test_it_can_be_demanded_of_all(settings: Any, ann: User) -> None:
    settings.ARISE_REQUIRE_SECOND_FACTOR = True
    client = Client()
    enter(client)
    assert client.get(INDEX)["Location"].startswith(SET_UP)
    assert "Everybody who works here" in client.get(SET_UP).content.decode()
    client.post(SET_UP, {"code": code_of(TOTPDevice.objects.get())})
    assert is_in(client)


def test_keys_are_on_no_page_of_the_console(admin_client: Client, device: TOTPDevice) -> None:
    assert admin_client.get("/admin/otp_totp/totpdevice/").status_code == 404
    assert admin_client.get("/admin/otp_static/staticdevice/").status_code == 404
