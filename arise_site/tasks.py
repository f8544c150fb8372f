"""What beat asks the worker to do for the console itself."""

from datetime import timedelta
from importlib import import_module

from auditlog.context import disable_auditlog
from axes.models import AccessAttempt
from celery import shared_task
from django.conf import settings
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

SET_UP_KEPT = timedelta(days=1)


@shared_task
def prune() -> None:
    """Remove sessions that have expired, wrong passwords that lock nobody out any more, and second
    factors that somebody began to set up and did not."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    now = timezone.now()
    AccessAttempt.objects.filter(attempt_time__lt=now - settings.AXES_COOLOFF_TIME).delete()
    with disable_auditlog():  # nobody did it, and nothing was in force
        TOTPDevice.objects.filter(confirmed=False, created_at__lt=now - SET_UP_KEPT).delete()
