"""How turns are started: by hints through Celery (ids only, and every one may be lost or repeated),
and by each worker's own look at Postgres, which needs no broker."""

import functools
import logging
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from core import budgets, leases, reruns, sweep, turns
from core.database import give_back
from core.media import store
from core.models import InboundKey, ModelCallCount, OutboxEntry

logger = logging.getLogger(__name__)
KEYS_KEPT = timedelta(days=30)
PAYLOADS_KEPT = timedelta(days=1)


@shared_task
def run_turn(chat_id: int) -> None:
    """A hint that a chat is due."""
    while turns.run(chat_id, f"{socket.gethostname()}:{os.getpid()}"):
        pass


@shared_task
def run_again(rerun_id: int) -> None:
    """An operator asks a turn once more; told twice, it is asked once."""
    try:
        reruns.run(rerun_id)
    finally:
        give_back()


def start_due() -> None:
    """Run every chat that is due, as far as this worker has room; called once a second.

    What hints were lost, or could not be given, is found here. A worker that is full takes
    nothing: what it took would only wait where no other worker sees it.
    """
    if turns.stopping.is_set():
        return
    try:
        sweep.settle_outbox()
        room = settings.CELERY_WORKER_CONCURRENCY - len(leases.held())
        for chat_id in sweep.due_chats(room) if room > 0 else ():
            _threads().submit(_run_due, chat_id)
    finally:
        give_back()


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Threads of the worker's own, beside those in which Celery runs hints."""
    return ThreadPoolExecutor(settings.CELERY_WORKER_CONCURRENCY, thread_name_prefix="due")


def _run_due(chat_id: int) -> None:
    try:
        run_turn(chat_id)
    except Exception:
        logger.exception("the turn of chat %s broke off; it is taken up again", chat_id)
    finally:
        give_back()


@shared_task
def prune() -> None:
    """Forget identities so old that nothing redelivers them any more, the bytes of voices and files
    that are not sent any more, counts of days long past, and pictures that nothing refers to."""
    now = timezone.now()
    InboundKey.objects.filter(created_at__lt=now - KEYS_KEPT).delete()
    kept = OutboxEntry.objects.filter(payload__isnull=False)
    kept.filter(settled_at__lt=now - PAYLOADS_KEPT).update(payload=None)
    ModelCallCount.objects.filter(day__lt=budgets.today() - budgets.COUNTS_KEPT).delete()
    store.prune()
