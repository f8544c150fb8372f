"""Celery's doors into core: ids only, and every one may be lost or repeated."""

import logging
import os
import socket
from datetime import timedelta

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from core import sweep, turns
from core.database import give_back
from core.models import InboundKey

logger = logging.getLogger(__name__)
KEYS_KEPT = timedelta(days=30)


@shared_task
def run_turn(chat_id: int) -> None:
    """A hint that a chat is due."""
    if turns.run(chat_id, f"{socket.gethostname()}:{os.getpid()}"):
        run_turn.delay(chat_id)


def start_due() -> None:
    """Hint at every chat that is due; called once a second by each worker."""
    try:
        sweep.settle_outbox()
        for chat_id in sweep.due_chats():
            run_turn.delay(chat_id)
    except OperationalError as error:
        logger.warning("the broker takes no hints, trying again: %s", error)
    finally:
        give_back()


@shared_task
def prune() -> None:
    """Forget identities so old that nothing redelivers them any more."""
    InboundKey.objects.filter(created_at__lt=timezone.now() - KEYS_KEPT).delete()
