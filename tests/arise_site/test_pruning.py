"""What grows without end is pruned, and of every table it is told what bounds it."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from auditlog.models import LogEntry
from axes.models import AccessAttempt
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from arise_site.celery import app
from botgateway.models import Connection
from core import budgets
from core.models import ItemMedia, ModelCallCount, StoredMedia
from stickers.models import FunnelCount, Sighting
from tests import factories

pytestmark = pytest.mark.django_db
OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


def pruned() -> None:
    """Run what beat asks for to prune, by the names that it asks by."""
    asked = [str(entry["task"]) for entry in settings.CELERY_BEAT_SCHEDULE.values()]
    app.loader.import_default_modules()
    for name in asked:
        if name.endswith(".prune"):
            app.tasks[name]()


def aged(row: Model, **columns: object) -> None:
    type(row)._default_manager.filter(pk=row.pk).update(**columns)


def ago(**length: float) -> datetime:
    return timezone.now() - timedelta(**length)


def left(model: type[Model]) -> set[object]:
    return set(model._default_manager.values_list("pk", flat=True))


def test_sessions_that_have_expired_go(admin_client: Client) -> None:
    other = Client()
    other.force_login(User.objects.create(username="bea"))
    here, there = admin_client.session.session_key, other.session.session_key
    Session.objects.filter(pk=there).update(expire_date=ago(seconds=1))
    pruned()
    assert left(Session) == {here}
    assert admin_client.get(reverse("admin:index")).status_code == 200


def test_wrong_passwords_that_lock_nobody_out_any_more_go() -> None:
    for name in ("ann", "bea"):
        Client().post(reverse("admin:login"), {"username": name, "password": "wrong"})
    old = AccessAttempt.objects.get(username="ann")
    aged(old, attempt_time=ago(minutes=16))
    pruned()
    assert [attempt.username for attempt in AccessAttempt.objects.all()] == ["bea"]


def test_second_factors_that_were_not_set_up_go_without_a_word(admin_user: User) -> None:
    bea = User.objects.create(username="bea")
    begun, new, confirmed = (
        TOTPDevice.objects.create(user=user, name="app", confirmed=is_confirmed)
        for user, is_confirmed in ((bea, False), (admin_user, False), (bea, True))
    )
    for device in (begun, confirmed):
        aged(device, created_at=ago(days=2))
    LogEntry.objects.all().delete()
    pruned()
    assert left(TOTPDevice) == {new.pk, confirmed.pk}
    assert not LogEntry.objects.exists()


def test_connections_that_were_over_long_ago_go_but_for_the_last_of_a_bot() -> None:
    quiet, lively = factories.make_bot(), factories.make_bot()
    gone = [factories.make_connection(bot) for bot in (lively, lively, quiet)]
    last = factories.make_connection(quiet)
    for row in (*gone, last):
        aged(row, kept_at=ago(days=31), closed_at=ago(days=31))
    late = factories.make_connection(lively)
    aged(late, kept_at=ago(days=29), closed_at=ago(days=29))
    here = factories.make_connection(lively)
    pruned()
    assert left(Connection) == {last.pk, late.pk, here.pk}


def test_counts_of_days_long_past_go() -> None:
    chat = factories.make_chat()
    kept = set()
    for model in (FunnelCount, ModelCallCount):
        for days in (365, 367):
            day = budgets.today() - timedelta(days=days)
            named = {"name": "seen"} if model is FunnelCount else {"purpose": "chat"}
            row = model._default_manager.create(chat=chat, day=day, **named)
            if days == 365:
                kept.add((model, row.pk))
    pruned()
    assert {(model, pk) for model in (FunnelCount, ModelCallCount) for pk in left(model)} == kept


def test_sightings_of_what_was_not_seen_for_long_go() -> None:
    chat = factories.make_chat()
    late, old = (
        Sighting.objects.create(chat=chat, key=f"md5:{days}", times=1, last_at=ago(days=days))
        for days in (89, 91)
    )
    pruned()
    assert left(Sighting) == {late.pk}
    assert old.pk not in left(Sighting)


def test_pictures_made_to_be_shown_are_kept_as_long_as_their_items() -> None:
    item = factories.make_item()
    row = StoredMedia.objects.create(
        sha256="a" * 64, media_type="image/png", size=1, width=1, height=1
    )
    ItemMedia.objects.create(item=item, index=0, view=row.pk)
    aged(row, created_at=ago(days=999))
    pruned()
    assert left(StoredMedia) == {row.pk}
    item.delete()
    pruned()
    assert left(StoredMedia) == set()


def test_of_every_table_it_is_told_what_bounds_it() -> None:
    told = OPERATIONS.read_text().split("## What grows, and what bounds it")[1].split("\n## ")[0]
    labels = [model._meta.label for model in apps.get_models()]
    assert [label for label in labels if f"`{label}`" not in told] == []
