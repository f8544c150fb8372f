"""The second factor: a code of an authenticator app, or a backup code, asked for after the password.

Who has one sees no page before it was given (`demand`); everybody has to set one up where
ARISE_REQUIRE_SECOND_FACTOR says so.
"""

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import django_otp
import qrcode
import qrcode.image.svg
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django_otp.models import Device
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from core import audit

BACKUP_CODES = 10
_OPEN = ("admin:login", "admin:logout", "admin:jsi18n", "second_factor_ask", "second_factor_set_up")


def has_one(person: Any) -> bool:
    """Whether a person has set up a second factor."""
    return bool(TOTPDevice.objects.devices_for_user(person, confirmed=True).exists())


def demand(respond: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: who gave his password alone gets nothing but the page that asks for the rest."""

    def answer(request: HttpRequest) -> HttpResponse:
        place = _missing(request)
        if not place or request.path in {reverse(name) for name in _OPEN}:
            return respond(request)
        return redirect(f"{reverse(place)}?{urlencode({'next': request.get_full_path()})}")

    return answer


def switch_off(person: Any) -> bool:
    """Take a person's second factor and backup codes away; False where there was none."""
    had = has_one(person)
    for model in (TOTPDevice, StaticDevice):
        model.objects.filter(user=person).delete()
    return had


@sensitive_post_parameters("code")
def ask(request: HttpRequest) -> HttpResponse:
    """Ask for the code after the password."""
    if not has_one(request.user):
        return redirect("second_factor")
    if request.method == "POST":
        device, refused = _device(request)
        if device is not None:
            _let_in(request, device)
            return redirect(_next(request))
        messages.error(request, refused)
    return _page(request, "ask", {"title": _("Second factor"), "next": _next(request)})


@sensitive_post_parameters("code")
def set_up(request: HttpRequest) -> HttpResponse:
    """Show a new key and take the first code that is made with it; then show the backup codes once."""
    if has_one(request.user):
        return redirect("second_factor")
    # None that was confirmed: another tab may have set it up since it was looked for.
    own = TOTPDevice.objects.filter(user=request.user, confirmed=False)
    device: TOTPDevice | None = None
    if request.method == "POST":
        with transaction.atomic():
            device = own.select_for_update().first()
            right, refused = _fitting([device] if device else [], _code(request))
            if device is not None and right:
                device.confirmed = True
                device.save()
                _let_in(request, device)
                codes = _new_backup_codes(request.user)
                return _page(request, "codes", {"title": _("Backup codes"), "codes": codes})
        messages.error(request, refused)
    # A new key each time that the page is opened: what was shown before is worth nothing.
    if device is None:
        own.delete()
        device = TOTPDevice.objects.create(user=request.user, name="app", confirmed=False)
    context: dict[str, Any] = {
        "title": _("Set up a second factor"),
        "picture": _picture(device.config_url),
        "key": _readable_key(device),
        "is_demanded": settings.ARISE_REQUIRE_SECOND_FACTOR,
    }
    return _page(request, "set_up", context)


@sensitive_post_parameters("code")
def overview(request: HttpRequest) -> HttpResponse:
    """Whether it is on; new backup codes, and switching it off, both for a code."""
    if request.method == "POST":
        if not has_one(request.user):
            raise PermissionDenied
        device, refused = _device(request)
        if device is None:
            messages.error(request, refused)
        elif "codes" in request.POST:
            codes = _new_backup_codes(request.user)
            return _page(request, "codes", {"title": _("Backup codes"), "codes": codes})
        else:
            switch_off(request.user)
            messages.success(request, _("The second factor is switched off."))
        return redirect("second_factor")
    left = StaticToken.objects.filter(device__user=request.user).count()
    context: dict[str, Any] = {
        "title": _("Second factor"),
        "has_one": has_one(request.user),
        "left": left,
    }
    return _page(request, "overview", context)


def urls() -> list[Any]:
    """The addresses of these pages; like all of the console for people who have logged in."""
    wrap = admin.site.admin_view
    return [
        path("", wrap(overview), name="second_factor"),
        path("code/", wrap(ask), name="second_factor_ask"),
        path("set-up/", wrap(set_up), name="second_factor_set_up"),
    ]


def _missing(request: HttpRequest) -> str:
    """The page on which the person has to give or to set up his second factor; empty: none."""
    person: Any = request.user
    if not person.is_authenticated or person.is_verified():
        return ""
    if has_one(person):
        return "second_factor_ask"
    return "second_factor_set_up" if settings.ARISE_REQUIRE_SECOND_FACTOR else ""


def _device(request: HttpRequest) -> tuple[Device | None, str]:
    """What a posted code belongs to, or why it is refused. Each wrong one lengthens the wait for the
    next, in the database."""
    code = _code(request)
    model = TOTPDevice if code.isdecimal() else StaticDevice
    with transaction.atomic():
        found = model.objects.devices_for_user(request.user, confirmed=True).select_for_update()
        return _fitting(found, code)


def _fitting(devices: Iterable[Device], code: str) -> tuple[Device | None, str]:
    """The first device whose code it is, or why none is."""
    refused = (
        _("This code is not right.")
        if code.isdecimal()
        else _("This is no backup code, or it was used before.")
    )
    for device in devices:
        allowed, why = device.verify_is_allowed()
        if device.verify_token(code):
            return device, ""
        if not allowed:
            refused = _too_soon(why["locked_until"])
        elif isinstance(device, TOTPDevice) and _was_used(device, code):
            refused = _("This code was used already: wait for the next one of your app.")
    return None, refused


def _was_used(device: TOTPDevice, code: str) -> bool:
    """Whether a refused code is the app's own, of a time whose code was taken before."""
    shown = TOTP(device.bin_key, device.step, device.t0, device.digits, device.drift)
    return bool(code.isdecimal() and shown.verify(int(code), device.tolerance))


def _too_soon(until: datetime) -> str:
    seconds = max(1, math.ceil((until - timezone.now()).total_seconds()))
    told = ngettext(
        "Too many wrong codes: wait %(count)d second, then type the next one.",
        "Too many wrong codes: wait %(count)d seconds, then type the next one.",
        seconds,
    )
    return told % {"count": seconds}


def _code(request: HttpRequest) -> str:
    return "".join(request.POST.get("code", "").split()).lower()[:16].replace("\0", "")


def _let_in(request: HttpRequest, device: Device) -> None:
    request.session.cycle_key()
    django_otp.login(request, device)


def _new_backup_codes(person: Any) -> list[str]:
    with transaction.atomic():
        StaticDevice.objects.filter(user=person).delete()
        audit.keep(person, {"backup_codes": audit.CHANGED}, by=person)
        device = StaticDevice.objects.create(user=person, name="backup")
        codes = [StaticToken.random_token() for _number in range(BACKUP_CODES)]
        StaticToken.objects.bulk_create(StaticToken(device=device, token=code) for code in codes)
    return codes


def _readable_key(device: TOTPDevice) -> str:
    """The key for typing, in groups of four."""
    key: str = device.config_url.partition("secret=")[2].partition("&")[0]
    return " ".join(key[start : start + 4] for start in range(0, len(key), 4))


def _picture(text: str) -> SafeString:
    made = qrcode.make(text, image_factory=qrcode.image.svg.SvgPathImage)
    picture: str = made.to_string(encoding="unicode")
    return mark_safe(picture)  # noqa: S308  (made of black squares)


def _next(request: HttpRequest) -> str:
    asked = request.POST.get("next") or request.GET.get("next", "")
    hosts = {request.get_host()}
    is_ours = url_has_allowed_host_and_scheme(asked, hosts, require_https=request.is_secure())
    return asked if is_ours and asked.startswith("/") else reverse("admin:index")


def _page(request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    shared = admin.site.each_context(request)
    template = f"admin/second_factor/{name}.html"
    return TemplateResponse(request, template, {**shared, **context})
