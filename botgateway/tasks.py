"""What beat asks the worker to do for the gateway."""

from celery import shared_task

from botgateway.models import Connection


@shared_task
def prune() -> None:
    """Remove connections that were over long ago."""
    Connection.objects.over_long_ago().delete()
